"""Something that answers as a Docker engine does which has some images, and can do nothing else."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingUnixStreamServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class QuietEngine:
    """Its `images` are by each name that they have; `asked` is what was asked of it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.images: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []

    def tag(self, name: str, content: str, *, digest: str | None = None, platform: str = "linux/amd64") -> None:
        """Have `name` be the image of a content; with a digest it came from a registry."""
        system, architecture, variant = (*platform.split("/"), "")[:3]
        layer = content.encode().hex().ljust(64, "0")
        image: dict[str, Any] = {
            "Id": f"sha256:{layer[::-1]}",
            "Os": system,
            "Architecture": architecture,
            "Variant": variant,
            "Config": {"Env": ["PATH=/bin"]},
            "RootFS": {"Layers": [f"sha256:{layer}"]},
            "RepoDigests": [f"{name.rpartition(':')[0]}@{digest}"] if digest else [],
        }
        self.images[name] = self.images[image["Id"]] = image


@contextmanager
def quiet_engine(directory: Path) -> Iterator[QuietEngine]:
    """One that answers at a socket in `directory` for as long as the block runs."""
    path = directory / "engine.sock"
    engine = QuietEngine(f"unix://{path}")

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            engine.asked.append(self.path)
            what = unquote(self.path)
            what = what[what.find("/", 1) :] if what.startswith("/v1.") else what
            image = engine.images.get(what.removeprefix("/images/").removesuffix("/json"))
            if what == "/version":
                self._say(200, {"ApiVersion": "1.41", "Os": "linux", "Arch": "amd64"})
            elif image is not None:
                self._say(200, image)
            else:
                self._say(404, {"message": f"No such image: {what}"})

        def do_POST(self) -> None:
            engine.asked.append(self.path)
            self._say(500, {"message": "this engine is quiet"})

        def _say(self, status: int, value: object) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def address_string(self) -> str:
            return "a client"

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name there
            pass

    with ThreadingUnixStreamServer(str(path), Answer) as server:
        server.daemon_threads = True
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            yield engine
        finally:
            server.shutdown()
            serving.join()
