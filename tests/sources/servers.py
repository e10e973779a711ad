"""Git servers on loopback: git's own daemon, git's own HTTP backend, and servers that misbehave."""

from __future__ import annotations

import base64
import http.server
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ClassVar

import pytest

from tests.sources.repository import ISOLATED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def git_daemon(root: Path) -> Iterator[str]:
    """Serves every repository under `root`; gives the URL that stands for `root`."""
    port = _free_port()
    command = ["git", "daemon", f"--base-path={root}", "--export-all", "--listen=127.0.0.1", f"--port={port}"]
    with subprocess.Popen(command, env=ISOLATED, start_new_session=True, stderr=subprocess.DEVNULL) as daemon:
        try:
            _wait_for(port)
            yield f"git://127.0.0.1:{port}"
        finally:
            # `git` runs the daemon as a child of its own, which would stay.
            os.killpg(daemon.pid, signal.SIGKILL)


class GitOverHttp(http.server.ThreadingHTTPServer):
    """Serves the repositories under `root` through `git http-backend`.

    `/private/...` wants the password `password`; `/moved/...` sends callers to `/private/...` under another host
    name; `/status/NUMBER` answers with that status. `seen` has the credentials that came, by host; `before_each` is
    called before a request is answered that asks what the references are.
    """

    daemon_threads = True

    def __init__(self, root: Path, password: str, tls: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scheme = "http" if tls is None else "https"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.root = root
        self.password = password
        self.requests: list[str] = []
        self.seen: list[tuple[str, str]] = []
        self.before_each: Callable[[], object] = lambda: None

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Callers that hang up are part of the tests."""


@contextmanager
def git_over_http(root: Path, password: str = "", tls: ssl.SSLContext | None = None) -> Iterator[GitOverHttp]:
    server = GitOverHttp(root, password, tls)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: GitOverHttp
    protocol_version = "HTTP/1.1"
    _ENVIRONMENT: ClassVar = {"GIT_HTTP_EXPORT_ALL": "1", "REMOTE_ADDR": "127.0.0.1"}

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server gives it
        self.server.requests.append(format % args)

    def _serve(self) -> None:
        body = self._body()
        path, _, query = self.path.partition("?")
        if path.endswith("/info/refs"):
            self.server.before_each()
        if path.startswith("/status/"):
            self._answer(int(path.split("/")[2]), {}, b"no")
        elif path.startswith("/moved/"):
            there = f"http://localhost:{self.server.server_port}{self.path.replace('/moved/', '/private/')}"
            self._answer(302, {"Location": there}, b"")
        elif path.startswith("/private/") and not self._is_allowed():
            self._answer(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"no")
        else:
            self._ask_git(path.removeprefix("/private"), query, body)

    def _is_allowed(self) -> bool:
        kind, _, value = self.headers.get("Authorization", "").partition(" ")
        given = base64.b64decode(value).decode() if kind == "Basic" else ""
        if given:
            self.server.seen.append((self.headers["Host"], given))
        return given.partition(":")[2] == self.server.password

    def _ask_git(self, path: str, query: str, body: bytes) -> None:
        environment = (
            ISOLATED
            | self._ENVIRONMENT
            | {
                "GIT_PROJECT_ROOT": str(self.server.root),
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
            }
        )
        command = ["git", "http-backend"]
        said = subprocess.run(command, input=body, env=environment, capture_output=True, check=False).stdout
        head, _, data = said.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self._answer(int(headers.pop("Status", "200 OK").split()[0]), headers, data)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def make_certificate(directory: Path) -> Path:
    """A certificate for loopback, with its key, that nobody has signed."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    path, key = directory / "certificate.pem", directory / "key.pem"
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    options = "req -x509 -nodes -newkey rsa:2048 -days 2 -subj /CN=localhost -addext"
    command = ["openssl", *options.split(), names, "-keyout", str(key), "-out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + key.read_bytes())
    return path


def tls_with(certificate: Path) -> ssl.SSLContext:
    """What a server needs to prove that it is the one of this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


class SshServer:
    """An SSH server for whoever runs the tests, and the keys around it."""

    def __init__(self, directory: Path) -> None:
        self.port = _free_port()
        self.host_key = directory / "host"
        self.client_key = directory / "client"
        self.other_key = directory / "other"
        for key in (self.host_key, self.client_key, self.other_key):
            subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", key], check=True)

    def trust_host(self, home: Path) -> None:
        """Write the server's key where clients look for it."""
        public = self.host_key.with_suffix(".pub").read_text()
        (home / ".ssh/known_hosts").write_text(f"[127.0.0.1]:{self.port} {public}")


@contextmanager
def ssh_server(sshd: str, directory: Path) -> Iterator[SshServer]:
    """An SSH server that takes one key."""
    server = SshServer(directory)
    configuration = directory / "sshd_config"
    configuration.write_text(
        f"ListenAddress 127.0.0.1:{server.port}\n"
        f"HostKey {server.host_key}\n"
        f"AuthorizedKeysFile {server.client_key.with_suffix('.pub')}\n"
        "PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n"
    )
    with subprocess.Popen([sshd, "-D", "-e", "-f", configuration], stderr=subprocess.DEVNULL) as daemon:
        try:
            _wait_for(server.port)
            yield server
        finally:
            daemon.kill()


@contextmanager
def silent_server() -> Iterator[int]:
    """Takes connections and never says anything; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


class StallingProxy:
    """Passes on what a server says, but of each new connection no more than `limit` bytes."""

    def __init__(self, upstream: int) -> None:
        self.limit: float = float("inf")
        self.stalled = threading.Event()
        self._upstream = upstream
        self._server = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._server]
        self._threads: list[threading.Thread] = []
        self._start(self._serve)

    @property
    def url(self) -> str:
        return f"git://127.0.0.1:{self._server.getsockname()[1]}"

    def close(self) -> None:
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in self._sockets:
            one.close()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments))
        self._threads[-1].start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                upstream = socket.create_connection(("127.0.0.1", self._upstream))
                self._sockets += client, upstream
                self._start(self._pass_on, client, upstream, float("inf"))
                self._start(self._pass_on, upstream, client, self.limit)

    def _pass_on(self, source: socket.socket, target: socket.socket, limit: float) -> None:
        passed = 0
        with suppress(OSError):
            while data := source.recv(4096):
                passed += len(data)
                if passed > limit:
                    self.stalled.set()
                    return
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@contextmanager
def stalling_proxy(upstream: str) -> Iterator[StallingProxy]:
    """A proxy in front of a `git://` server."""
    proxy = StallingProxy(int(upstream.rpartition(":")[2]))
    try:
        yield proxy
    finally:
        proxy.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _wait_for(port: int) -> None:
    until = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.02)
        else:
            return
