"""A base image with Node.js and npm, for the few tests that need it: made when one asks for it, then kept."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import tempfile
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.support.engine import cache, pip_settings, rootfs
from tests.support.engine.needs import EngineError

if TYPE_CHECKING:
    import docker

IMAGE: Final = "reeval-build-test/debian-node:1"
# Debian's npm brings 400 packages, webpack among them; this one is 10 MB and runs with Debian's Node.js.
_NPM: Final = "npm@10.9.2"
_MAKING_S: Final = 600.0
_FILE: Final = "debian-node.tar"


def provide(client: docker.DockerClient) -> str:
    """Have an engine have the image, and give its name; make it if this machine has none."""
    kept = cache.images_directory(_ingredients())
    with cache.locked("node-image", timeout_s=_MAKING_S):
        if not kept.exists():
            _make(kept)
        cache.mark_used(kept)
    if not client.images.list(IMAGE):
        repository, _, tag = IMAGE.rpartition(":")
        client.api.import_image_from_file(str(kept / _FILE), repository=repository, tag=tag)
    return IMAGE


@once
def _ingredients() -> str:
    parts = [Path(__file__).read_bytes(), Path(rootfs.__file__).read_bytes(), platform.machine().encode()]
    parts += [pip_settings.certificates(), _registry().encode()]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:32]


def _make(kept: Path) -> None:
    with tempfile.TemporaryDirectory(dir=kept.parent) as name:
        root, draft = Path(name) / "root", Path(name) / "complete"
        draft.mkdir()
        rootfs.debootstrap(root, ["nodejs", "ca-certificates"])
        place = root / "usr/local/lib/node_modules"
        place.mkdir(parents=True)
        _npm("pack", "--ignore-scripts", f"--pack-destination={name}", _NPM)
        (archive,) = Path(name).glob("*.tgz")
        rootfs.run("tar", "--extract", "--file", archive, "--directory", place, "--no-same-owner")
        (place / "package").rename(place / "npm")
        (place / "npm/npmrc").write_text(
            f"registry={_registry()}\ncafile=/etc/ssl/certs/ca-certificates.crt\nprefix=/usr/local\n"
        )
        (root / "usr/local/bin/npm").symlink_to("../lib/node_modules/npm/bin/npm-cli.js")
        rootfs.pack(root, draft / _FILE)
        draft.rename(kept)


@once
def _registry() -> str:
    """The registry that this machine's npm asks."""
    return _npm("config", "get", "registry").strip()


def _npm(*arguments: str) -> str:
    program = shutil.which("npm")
    if program is None:
        raise EngineError("npm is missing: install the Debian package npm")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(f"`npm {' '.join(arguments)}` failed: {done.stderr.strip()}")
    return done.stdout
