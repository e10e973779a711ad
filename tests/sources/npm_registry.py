"""A registry of npm packages on loopback, which can also misbehave."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import attrs

from tests.sources.tars import package

if TYPE_CHECKING:
    from collections.abc import Iterator

PRIVATE: Final = "private"
TOKEN: Final = "s3cret-t0ken"


def sha512(data: bytes) -> str:
    return f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"


@attrs.define
class Release:
    """A version: its archive, and what the registry says of it."""

    archive: bytes
    dist: dict[str, str]


@attrs.define
class Package:
    """`fault` is a status, or "hang", "html" or "cut", with which the registry answers for it."""

    releases: dict[str, Release] = attrs.field(factory=dict)
    tags: dict[str, str] = attrs.field(factory=dict)
    fault: int | str | None = None


class NpmRegistry(http.server.ThreadingHTTPServer):
    """Serves packages at `url`/SPACE/; who asks for those of the space `private` must have the token."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.packages: dict[tuple[str, str], Package] = {}
        self.requests: list[str] = []
        self.seen: set[tuple[str, str]] = set()
        self.hung_up = threading.Event()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def publish(
        self,
        name: str,
        version: str = "1.0.0",
        archive: bytes | None = None,
        *,
        tag: str = "latest",
        space: str = "public",
        dist: dict[str, str] | None = None,
    ) -> bytes:
        """Publish a version, in place of one that is there, and give its archive. `dist` is what is said of it."""
        archive = package(name, version, files={"a": version.encode()}) if archive is None else archive
        said = {"integrity": sha512(archive)} if dist is None else dist
        found = self.package(name, space)
        found.releases[version] = Release(archive, said)
        found.tags[tag] = version
        return archive

    def package(self, name: str, space: str = "public") -> Package:
        return self.packages.setdefault((space, name), Package())

    def handle_error(self, request: object, client_address: object) -> None:
        """Callers that hang up are part of the tests."""


@contextmanager
def npm_registry() -> Iterator[NpmRegistry]:
    server = NpmRegistry()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: NpmRegistry
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        space, _, path = unquote(self.path).removeprefix("/").partition("/")
        self.server.seen.add((space, self.headers.get("Authorization", "")))
        name, _, file = path.partition("/-/")
        found = self.server.packages.get((space, name))
        if space == PRIVATE and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._answer(401, b'{"error": "who are you?"}')
        elif found is None:
            self._answer(404, b'{"error": "not found"}')
        elif found.fault is not None and (file or found.fault != "cut"):
            self._misbehave(found, found.fault)
        elif file:
            self._answer(200, found.releases[_version(name, file)].archive)
        else:
            self._answer(200, json.dumps(self._document(space, name, found)).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server gives it
        self.server.requests.append(format % args)

    def _document(self, space: str, name: str, found: Package) -> dict[str, object]:
        base = name.rpartition("/")[2]
        return {
            "name": name,
            "dist-tags": found.tags,
            "versions": {
                version: {
                    "name": name,
                    "version": version,
                    "dist": {**release.dist, "tarball": f"{self.server.url}/{space}/{name}/-/{base}-{version}.tgz"},
                }
                for version, release in found.releases.items()
            },
        }

    def _misbehave(self, found: Package, fault: int | str) -> None:
        if fault == "hang":
            self.rfile.read(1)
            self.server.hung_up.set()
        elif fault == "html":
            self._answer(200, b"<html>Log in to the network of this hotel</html>")
        elif fault == "cut":
            archive = next(iter(found.releases.values())).archive
            self.close_connection = True
            self._answer(200, archive[: len(archive) // 2], length=len(archive))
        else:
            self._answer(int(fault), b'{"error": "no"}')

    def _answer(self, status: int, data: bytes, *, length: int | None = None) -> None:
        self.send_response(status)
        # As the public registry does, so that npm keeps what it heard, and one answer a way of asking.
        self.send_header("Cache-Control", "public, max-age=300")
        self.send_header("Vary", "Accept")
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)


def _version(name: str, file: str) -> str:
    return file.removeprefix(f"{name.rpartition('/')[2]}-").removesuffix(".tgz")
