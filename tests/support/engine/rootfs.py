"""The base images' file systems, made from what this machine and Debian's packages offer."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.support.engine import pip_settings
from tests.support.engine.needs import EngineError, environment

if TYPE_CHECKING:
    from collections.abc import Iterable

_SUITE: Final = "bookworm"
_PACKAGES: Final = ("git", "python3", "python3-venv", "ca-certificates")
# What no test reads, and a third of all files: an image with fewer is quicker to load, pull and save.
_NOT_NEEDED: Final = ("usr/share/doc/*", "usr/share/info/*", "usr/share/locale/*", "usr/share/man/*")
_DOWNLOADED: Final = ("var/cache/apt/archives/*.deb", "var/lib/apt/lists/*_*")
_DEBOOTSTRAP_S: Final = 900.0


@cache
def ingredients() -> str:
    """A digest of all that decides what the images are: this recipe, and what it takes from the machine."""
    parts = [Path(__file__).read_bytes(), platform.machine().encode(), _busybox().read_bytes()]
    parts += [pip_settings.certificates(), pip_settings.for_containers().encode()]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:32]


def busybox(tar: Path) -> None:
    """Write a file system of about 2 MB: a static busybox with its applets and the few files programs look for."""
    with tempfile.TemporaryDirectory(dir=tar.parent) as name:
        root = Path(name)
        for directory in ("bin", "sbin", "usr/bin", "usr/sbin", "etc", "root", "tmp", "var/tmp"):
            (root / directory).mkdir(parents=True)
        shutil.copy2(_busybox(), root / "bin/busybox")
        try:
            run("chroot", root, "/bin/busybox", "--install", "-s")
        except EngineError as error:
            raise EngineError("busybox is not static: install the Debian package busybox-static") from error
        (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
        (root / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
        for directory in ("tmp", "var/tmp"):
            (root / directory).chmod(0o1777)
        pack(root, tar)


def debian_python(tar: Path) -> None:
    """Write a minimal Debian with git, Python and pip, which reaches the package index as this machine does."""
    with tempfile.TemporaryDirectory(dir=tar.parent) as name:
        root = Path(name) / "root"
        debootstrap(root, _PACKAGES)
        (root / "etc/pip.conf").write_text(pip_settings.for_containers())
        pack(root, tar)


def debootstrap(root: Path, packages: Iterable[str]) -> None:
    """Make a minimal Debian with these packages, and the certificates that this machine trusts."""
    run("debootstrap", "--variant=minbase", f"--include={','.join(packages)}", _SUITE, root)
    if certificates := pip_settings.certificates():
        (root / "etc/ssl/certs/ca-certificates.crt").write_bytes(certificates)
    for pattern in (*_NOT_NEEDED, *_DOWNLOADED):
        for path in root.glob(pattern):
            _remove(path)


def _busybox() -> Path:
    found = shutil.which("busybox", path=environment()["PATH"])
    if found is None:
        raise EngineError("busybox is missing: install the Debian package busybox-static")
    return Path(found)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def pack(root: Path, tar: Path) -> None:
    """Write a file system as a tar."""
    root.chmod(0o755)
    run("tar", "--create", "--file", tar, "--directory", root, "--numeric-owner", "--sort=name", ".")


def run(*command: str | Path) -> None:
    """Run a system program to its end. Raises EngineError with what it says when it fails."""
    done = subprocess.run(
        command,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_DEBOOTSTRAP_S,
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()[-5:]
        raise EngineError("\n".join([f"`{' '.join(map(str, command))}` failed:", *said]))
