"""Sandboxes as containers of an engine that speaks Docker's API."""

from __future__ import annotations

from reeval_build.engines.docker.engine import DockerEngine

__all__ = ["DockerEngine"]
