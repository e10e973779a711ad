"""Shows trees of a store, and writes them to disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from reeval_build.digest import BLOB, TREE, Digest
from reeval_build.tree.directory import Kind, decode, walk

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.ports.objects import Objects

Shown: TypeAlias = "dict[bytes, tuple[Kind, bytes | None]]"


def show(objects: Objects, root: Digest) -> Shown:
    """Every path of a tree, with the bytes of files and the targets of links."""
    shown: Shown = {}
    for parts, entry in walk(root, lambda digest: decode(objects.read(TREE, digest))):
        is_file = entry.kind in {Kind.FILE, Kind.EXECUTABLE}
        data = objects.read(BLOB, entry.content) if is_file else entry.target
        assert entry.size == len(data or b"")
        shown[b"/".join(parts)] = entry.kind, data
    return shown


def write_out(objects: Objects, root: Digest, directory: Path) -> Path:
    """Place a tree in a new directory."""
    directory.mkdir()
    for name, (kind, data) in show(objects, root).items():
        path = directory / os.fsdecode(name)
        if kind is Kind.DIRECTORY:
            path.mkdir()
        elif kind is Kind.SYMLINK:
            path.symlink_to(os.fsdecode(data or b""))
        else:
            path.write_bytes(data or b"")
            path.chmod(0o755 if kind is Kind.EXECUTABLE else 0o644)
    return directory
