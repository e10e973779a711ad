"""What a command changed in a workspace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reeval_build.paths import display
from reeval_build.tree.directory import Kind

if TYPE_CHECKING:
    from reeval_build.execute.attempt import Attempt
    from reeval_build.model.cells import Cell
    from reeval_build.tree.compare import Change
    from reeval_build.tree.directory import Entry


def changes_text(cell: Cell, done: Attempt) -> str:
    """A line a changed path, or a sentence that there is none."""
    if not done.changes:
        return f"{cell.name}: nothing changed since the snapshot"
    lines = [f"  {change.kind.value:<8} {_path(change)}" for change in done.changes]
    return "\n".join([f"{cell.name}: {len(lines)} changed since the snapshot", *lines])


def changes_json(cell: Cell, done: Attempt) -> str:
    """One object: the cell, the command, its exit code, the changes. The shape is in `docs/reference/json.md`."""
    changes = [
        {
            "path": _path(change),
            "change": change.kind.value,
            "before": _entry(change.before, done),
            "after": _entry(change.after, done),
        }
        for change in done.changes
    ]
    value = {
        "cell": cell.name,
        "command": list(done.command),
        "exit_code": done.exit_code,
        "killed_for_memory": done.was_killed_for_memory,
        "changes": changes,
    }
    return json.dumps(value, indent=2)


def _path(change: Change) -> str:
    """The path as text, no two alike: a backslash is escaped, too."""
    return display(b"/".join(change.parts).replace(b"\\", b"\\\\"))


def _entry(entry: Entry | None, done: Attempt) -> dict[str, object] | None:
    if entry is None:
        return None
    if entry.kind is Kind.SYMLINK:
        return {"type": "symlink", "target": display(entry.target or b"")}
    return {
        "type": "file",
        "executable": entry.kind is Kind.EXECUTABLE,
        "size": entry.size,
        "digest": None if entry.content in done.telling else entry.content.hex,
    }
