"""Cells: an environment on a harness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.model.egress import Egress, effective
from reeval_build.model.environment import Environment
from reeval_build.model.harness_facts import Harness
from reeval_build.model.merge import Merged
from reeval_build.model.spec import DockerSandbox, Sandbox
from reeval_build.model.start_options import StartOptions, at_rest, least

if TYPE_CHECKING:
    from collections.abc import Iterable

# What separates a cell's name from the file before it: it is in no name of an environment, a harness or an eval there.
BEFORE_CELL: Final = "::"
# No environment can have it in its name.
BEFORE_EVAL: Final = "#"


@attrs.frozen(kw_only=True)
class Cell:
    """One environment on one harness, merged, with its sandbox decided.

    `harness_id` is what the harness is called when that is more than its kind, such as `codex:gpt-5`. `file` is the
    file the environment was found in, as messages name it; `of_eval` the eval it is called after, when evals make
    several cells of that environment and harness. Cells that differ in nothing but how their sandbox starts are equal,
    and `joined` makes one of them.
    """

    environment: Environment
    harness: Harness
    merged: Merged
    sandbox: Sandbox = attrs.field(eq=at_rest)
    harness_id: str | None = None

    file: str = attrs.field(eq=False)
    of_eval: str | None = attrs.field(default=None, eq=False)
    start: StartOptions = attrs.field(eq=False)

    @start.default
    def _start_of_the_sandbox(self) -> StartOptions:
        return StartOptions.of(self.sandbox)

    @property
    def name(self) -> str:
        """How people name the cell: `ENVIRONMENT@HARNESS`, and `#EVAL` where that is not one cell."""
        return self.short_name + ("" if self.of_eval is None else BEFORE_EVAL + self.of_eval)

    @property
    def short_name(self) -> str:
        """`ENVIRONMENT@HARNESS`."""
        return f"{self.environment.name}@{self.harness_name}"

    @property
    def egress(self) -> Egress:
        """Where its sandbox may connect, in one form; the automatic hosts come to that."""
        return effective(self.merged.egress)

    @property
    def harness_name(self) -> str:
        """What its harness is called: an id, or a kind."""
        return self.harness.kind if self.harness_id is None else self.harness_id

    @property
    def sandbox_id(self) -> str:
        """What its sandbox is called: its `id`, else its image or Dockerfile, or `fake`.

        Rule: reeval's wire types, `Cell`.
        """
        if self.sandbox.id is not None or not isinstance(self.sandbox, DockerSandbox):
            return self.sandbox.id or self.sandbox.kind
        built = self.sandbox.dockerfile
        return self.sandbox.base_image if built is None else "/".join(built.split("/")[-2:]).lstrip("/")

    def joined(self, other: Cell) -> Cell:
        """The cell that two equal ones are, whose sandbox is given what either asks for."""
        assert self == other, "only cells of one content are joined"
        return attrs.evolve(self, start=self.start.joined(other.start))


def most_at_once(cells: Iterable[Cell]) -> dict[str, int]:
    """How many sandboxes of a kind may run at once, for the kinds that a cell says it of: the least of what is said."""
    limits: dict[str, int] = {}
    for cell in cells:
        limit = least(limits.get(cell.sandbox.kind), cell.start.max_concurrent)
        if limit is not None:
            limits[cell.sandbox.kind] = limit
    return limits


def images_of(cells: Iterable[Cell]) -> frozenset[str]:
    """The images that the sandboxes of some cells are made from, as their authors name them."""
    return frozenset(
        cell.sandbox.base_image
        for cell in cells
        if isinstance(cell.sandbox, DockerSandbox) and cell.sandbox.dockerfile is None
    )


def dockerfiles_of(cells: Iterable[Cell]) -> tuple[str, ...]:
    """The Dockerfiles that the sandboxes of some cells are built from, each once."""
    sandboxes = (cell.sandbox for cell in cells if isinstance(cell.sandbox, DockerSandbox))
    return tuple(dict.fromkeys(sandbox.dockerfile for sandbox in sandboxes if sandbox.dockerfile is not None))
