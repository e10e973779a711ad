"""A private container engine, registry and base images for tests (and by hand: `python -m tests.support.engine`)."""

from __future__ import annotations

from tests.support.engine.engine import PrivateEngine, restore_base_images, running
from tests.support.engine.needs import EngineError, obstacle

__all__ = ["EngineError", "PrivateEngine", "obstacle", "restore_base_images", "running"]
