"""An engine to work with by hand, which runs from `start` until `stop`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.engine import cache, processes
from tests.support.engine.engine import PrivateEngine, remove_containers
from tests.support.engine.engine import start as start_engine


def start() -> PrivateEngine:
    """Start the engine unless it runs already."""
    with cache.locked("kept", timeout_s=900):
        engine = current()
        if engine is None:
            started, engine = start_engine(outlives_us=True)
            note = {"run": str(started.run), "url": engine.url, "registry": engine.registry}
            _note().write_text(json.dumps(note))
        return engine


def current() -> PrivateEngine | None:
    """The engine that `start` started, if it runs."""
    try:
        note = json.loads(_note().read_text())
    except FileNotFoundError:
        return None
    return PrivateEngine(url=note["url"], registry=note["registry"]) if cache.is_alive(Path(note["run"])) else None


def stop() -> bool:
    """Stop the engine and everything in it; say whether there was one."""
    with cache.locked("kept", timeout_s=900):
        engine = current()
        if engine is not None:
            remove_containers(engine)
            processes.kill(Path(json.loads(_note().read_text())["run"]))
        _note().unlink(missing_ok=True)
        return engine is not None


def _note() -> Path:
    return cache.root() / "kept.json"
