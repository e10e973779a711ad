"""What tests of a store in a directory do again and again."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from reeval_build.digest import BLOB, Digest
from reeval_build.plan.outputs import TreeOutput
from reeval_build.ports.records import Record

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.stores.local import LocalStore

SMALL: Final = b"small"
LARGE: Final = b"large " * 100_000
MEGABYTE: Final = 1024 * 1024


def noise(size: int) -> bytes:
    """Bytes that do not compress, the same each time."""
    return random.Random(size).randbytes(size)  # noqa: S311 - no secret


def words(size: int) -> bytes:
    """Bytes that compress, though not to nothing."""
    numbers = random.Random(size)  # noqa: S311 - no secret
    return b"".join(b"%d " % numbers.randrange(10**6) for _ in range(size // 8 + 1)).ljust(size)[:size]


def keep(store: LocalStore, *contents: bytes) -> list[Digest]:
    """The digests of contents that are kept in one batch."""
    with store.objects.batch() as batch:
        return [batch.add(BLOB, content) for content in contents]


def record(name: bytes) -> Record:
    """A record, by its name."""
    thing = BLOB.digest(name)
    return Record(key=thing, phase="files", output=TreeOutput(), material=b"", seconds=0.0)


def files_below(directory: Path) -> list[Path]:
    """Every file below a directory."""
    return [path for path in directory.rglob("*") if path.is_file()]
