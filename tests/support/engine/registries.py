"""Registries beside the one that a private engine has, and what is in them, by hand."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.client
import io
import json
import subprocess
import tarfile
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from tests.support.engine import network
from tests.support.engine.needs import EngineError, environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.engine.engine import PrivateEngine

USER: Final = "reader"
PASSWORD: Final = "the-password-of-a-registry"
# Made with `htpasswd -nbB`; the registry takes nothing but bcrypt.
_HTPASSWD: Final = f"{USER}:$2y$05$abcdefghijklmnopqrstuujY9DyCXQ6EKI5FuZxu6IeqL0gzJZoVq\n"
_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"
_INDEX: Final = "application/vnd.docker.distribution.manifest.list.v2+json"
_CONFIG: Final = "application/vnd.docker.container.image.v1+json"
_LAYER: Final = "application/vnd.docker.image.rootfs.diff.tar.gzip"
_ANSWER_S: Final = 60.0

_SETTINGS: Final = """\
version: 0.1
log: {{level: warn, accesslog: {{disabled: true}}}}
storage:
  filesystem: {{rootdirectory: {storage}}}
http: {{addr: ":{port}"}}
auth: {{htpasswd: {{realm: tests, path: {passwords}}}}}
"""


@attrs.frozen(kw_only=True)
class Registry:
    """What can be put into a registry, and seen in it, without an engine."""

    address: str
    has_password: bool = False

    def tag(self, repository: str, tag: str, manifest: Mapping[str, Any]) -> str:
        """Have a tag be a manifest or an index; its digest."""
        data = json.dumps(manifest).encode()
        self._ask("PUT", f"/v2/{repository}/manifests/{tag}", data, {"Content-Type": manifest["mediaType"]})
        return _digest(data)

    def manifest(self, repository: str, tag: str) -> dict[str, Any]:
        """What a tag is."""
        accept = {"Accept": f"{_MANIFEST}, {_INDEX}"}
        manifest: dict[str, Any] = json.loads(self._ask("GET", f"/v2/{repository}/manifests/{tag}", b"", accept))
        return manifest

    def put_image_on(self, repository: str, below: str, *, architecture: str, files: Mapping[str, bytes]) -> str:
        """Put an image with one layer more than the tag `below` has; the digest of its manifest."""
        manifest = self.manifest(repository, below)
        config = json.loads(self._ask("GET", f"/v2/{repository}/blobs/{manifest['config']['digest']}"))
        tar = _tar(files)
        layer = gzip.compress(tar, mtime=0)
        config |= {"architecture": architecture}
        config["rootfs"]["diff_ids"].append(_digest(tar))
        config["history"] = []
        data = json.dumps(config).encode()
        return self.tag(
            repository,
            f"part-{architecture}-{_digest(layer)[7:15]}",
            manifest
            | {
                "config": {"mediaType": _CONFIG, "size": len(data), "digest": self._put_blob(repository, data)},
                "layers": [
                    *manifest["layers"],
                    {"mediaType": _LAYER, "size": len(layer), "digest": self._put_blob(repository, layer)},
                ],
            },
        )

    def put_index(self, repository: str, tag: str, images: Mapping[str, str]) -> str:
        """Have a tag be an index of manifests by architecture; its digest."""
        entries = []
        for architecture, digest in images.items():
            data = self._ask("GET", f"/v2/{repository}/manifests/{digest}", b"", {"Accept": _MANIFEST})
            platform = {"os": "linux", "architecture": architecture}
            entries.append({"mediaType": _MANIFEST, "size": len(data), "digest": digest, "platform": platform})
        return self.tag(repository, tag, {"schemaVersion": 2, "mediaType": _INDEX, "manifests": entries})

    def answers(self) -> bool:
        """Whether it is there."""
        try:
            self._ask("GET", "/v2/")
        except (OSError, http.client.HTTPException):
            return False
        return True

    def _put_blob(self, repository: str, data: bytes) -> str:
        digest = _digest(data)
        where = self._send("POST", f"/v2/{repository}/blobs/uploads/", b"", {}).headers["Location"]
        path = "/" + where.split("/", 3)[3]
        self._ask("PUT", f"{path}&digest={digest}", data, {"Content-Type": "application/octet-stream"})
        return digest

    def _ask(self, method: str, path: str, data: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
        return self._send(method, path, data, headers or {}).read()

    def _send(self, method: str, path: str, data: bytes, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        allowed = {"Authorization": f"Basic {credentials(PASSWORD)}"} if self.has_password else {}
        with closing(http.client.HTTPConnection(self.address, timeout=_ANSWER_S)) as client:
            client.request(method, path, data, {**headers, **allowed})
            response = client.getresponse()
            if response.status >= http.HTTPStatus.BAD_REQUEST:
                raise EngineError(f"{method} {path}: {response.status} {response.read()!r}")
            body = response.read()
        response.read = lambda *_: body  # type: ignore[method-assign]
        return response


@contextmanager
def registry_with_password(engine: PrivateEngine, directory: Path) -> Iterator[Registry]:
    """A registry in the network of `engine` that lets in `USER` with `PASSWORD`, for as long as the block runs."""
    run = Path(engine.url.removeprefix("unix://")).parent
    port = network.forward_a_port(run)
    passwords, settings = directory / "htpasswd", directory / "registry.yml"
    passwords.write_text(_HTPASSWD)
    settings.write_text(_SETTINGS.format(storage=directory / "registry", port=port, passwords=passwords))
    serving = subprocess.Popen(
        ["nsenter", "--net", "--target", (run / "first.pid").read_text(), "docker-registry", "serve", settings],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        made = Registry(address=f"127.0.0.1:{port}", has_password=True)
        end = time.monotonic() + _ANSWER_S
        while not made.answers():
            if serving.poll() is not None or time.monotonic() > end:
                raise EngineError("the registry with a password did not come up")
            time.sleep(0.05)
        yield made
    finally:
        serving.kill()
        serving.wait()


def credentials(password: str) -> str:
    """As Docker's configuration has them."""
    return base64.b64encode(f"{USER}:{password}".encode()).decode()


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
