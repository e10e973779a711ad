"""A store in one directory, shared by many processes without a daemon."""

from __future__ import annotations

from reeval_build.stores.local.store import LocalStore

__all__ = ["LocalStore"]
