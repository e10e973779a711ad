"""What a person sees on standard error while a build goes on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import click

from reeval_build.errors import printable
from reeval_build.model.sizes import size_short
from reeval_build.paths import display_apart
from reeval_build.ports.events import (
    BudgetExceeded,
    CellNotRecorded,
    LockNotWritten,
    NamesAlike,
    NodeFinished,
    NodeWaiting,
    ObjectLost,
    SecretLeft,
    StoreWaiting,
)
from reeval_build.render.lists import some
from reeval_build.render.warnings import warn

if TYPE_CHECKING:
    from reeval_build.digest import Digest
    from reeval_build.plan.graph import Graph
    from reeval_build.ports.events import Event


_MANY: Final = 5


class Progress:
    """Prints one line a node as it finishes. Is a `ports.events.Listener`."""

    def __init__(self, graph: Graph) -> None:
        self._cells = graph.cells_of
        self._lost: set[Digest] = set()
        self._guard = threading.Lock()
        warn(graph)

    def __call__(self, event: Event) -> None:
        """Print a line, but for a lost object that was spoken of."""
        with self._guard:
            if isinstance(event, ObjectLost):
                if event.digest in self._lost:
                    return
                self._lost.add(event.digest)
            click.echo(self._line(event), err=True)

    def _line(self, event: Event) -> str:
        match event:
            case NodeFinished(node=node, status=status, seconds=seconds):
                cells = some(self._cells[node.recipe])
                return f"{status.value:<8}{node.phase:<10}{node.label}  [{cells}]  {seconds:.2f} s"
            case NodeWaiting(node=node, owner=owner):
                return f"waiting {node.phase:<10}{node.label}  for {printable(owner)}, which is building it"
            case StoreWaiting(owner=owner):
                return f"waiting for {printable(owner)}, which looks after the store, to make room in it"
            case BudgetExceeded(budget_bytes=budget, bytes=total, uses=uses):
                held = some([f"{printable(one.owner)} uses {size_short(one.bytes)}" for one in uses if one.bytes])
                return (
                    f"reeval: warning: the store has {size_short(total)}, more than its budget of "
                    f"{size_short(budget)}, and "
                    + (
                        f"what is in use stays: {held}"
                        if held
                        else "nothing in it is in use: what is left is its index, its logs and what is just being kept"
                    )
                )
            case ObjectLost(problem=problem):
                return f"reeval: warning: {problem}; what it belonged to is built again"
            case CellNotRecorded(cell=cell, problem=problem):
                return f"reeval: warning: {cell} is built, but its record could not be written: {problem}"
            case LockNotWritten(problem=problem):
                return f"reeval: warning: what images and harnesses are now could not be locked: {problem}"
            case NamesAlike(node=node, groups=groups):
                cells = some(self._cells[node.recipe])
                alike = some((" and ".join(f'"{path}"' for path in display_apart(group)) for group in groups), _MANY)
                return (
                    f"reeval: warning: {cells}: {alike} differ in case or Unicode form only: "
                    "a file system that does not tell these apart, as those of macOS do not, cannot have both"
                )
            case SecretLeft(node=node, names=names, paths=paths):
                cells = some(self._cells[node.recipe])
                values = f"the value{'s' if len(names) > 1 else ''} of {' and '.join(f'env.{name}' for name in names)}"
                return (
                    f'reeval: warning: {cells}: {node.phase} step "{node.label}" leaves {values} in '
                    f"{some(paths, _MANY)}: "
                    "neither its result nor what stands on it is kept, and the next build runs it again"
                )
