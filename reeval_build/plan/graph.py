"""The graph: nodes by their recipe keys, and the cells that point at them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build import canon
from reeval_build.digest import Digest, Domain
from reeval_build.errors import InfraError
from reeval_build.model.cells import Cell
from reeval_build.plan.contents import Contents
from reeval_build.plan.resolution import ResolvedTree
from reeval_build.plan.secrets import SecretView
from reeval_build.plan.work import Work, joined, material

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


RECIPE: Final = Domain("recipe", 1)
NODE: Final = Domain("node", 1)
UNRESOLVED: Final = Domain("unresolved", 1)
WORK: Final = Domain("work", 1)


@attrs.frozen(kw_only=True)
class Parent:
    """A node whose output another one takes, and what it takes it as.

    One that is not `keyed` enters no key: what is taken of its output is in the other's work already.
    """

    role: str
    recipe: Digest
    keyed: bool = True


@attrs.frozen(kw_only=True)
class Node:
    """One piece of work.

    `recipe` is its recipe key: the work and the recipe keys of its parents, known before anything runs. A node whose
    inputs cannot be had has a `problem` instead of `work`, and a key that is never recorded.
    """

    phase: str
    recipe: Digest
    parents: tuple[Parent, ...] = ()

    label: str = attrs.field(eq=False)
    work: Work | None = attrs.field(eq=False)
    problem: InfraError | None = attrs.field(default=None, eq=False)

    @classmethod
    def of(cls, work: Work, parents: Sequence[Parent] = (), *, label: str) -> Node:
        """The node that does `work` on the outputs of `parents`."""
        above: list[canon.Value] = [[parent.role, parent.recipe] for parent in parents if parent.keyed]
        recipe = RECIPE.digest(canon.encode([material(work), above]))
        return cls(phase=work.phase, recipe=recipe, parents=tuple(parents), label=label, work=work)

    @classmethod
    def broken(cls, phase: str, problem: InfraError, *, label: str) -> Node:
        """The node of a phase whose inputs cannot be had."""
        recipe = UNRESOLVED.digest(canon.encode([phase, label, str(problem)]))
        return cls(phase=phase, recipe=recipe, label=label, work=None, problem=problem)

    def material(self, parents: Mapping[Digest, Digest]) -> bytes:
        """What is hashed into the content key, when `parents` maps recipe keys to the content of their outputs."""
        assert self.work is not None, "a broken node has no content key"
        above: list[canon.Value] = [[parent.role, parents[parent.recipe]] for parent in self.parents if parent.keyed]
        return canon.encode([material(self.work), above])


def content_key(node_material: bytes) -> Digest:
    """The content key of a node, from what `Node.material` gave."""
    return NODE.digest(node_material)


def work_key(work: Work) -> Digest:
    """Names what a node does, on whatever it does it: no result is found by it, only how long it took before."""
    return WORK.digest(canon.encode(material(work)))


@attrs.frozen(kw_only=True)
class PlannedCell:
    """A cell, its key, the node of its snapshot, and what it is besides.

    `digest` says what it starts from and with, and `key` what people call it, too. `start` are the nodes of what a
    sandbox is given when it starts from the snapshot, in order. `workspace` is what its repository was when it was
    planned, and `variables` are the host variables for secrets that were set then.
    """

    cell: Cell
    key: Digest
    digest: Digest
    snapshot: Digest
    start: tuple[Digest, ...] = ()
    secrets: tuple[SecretView, ...] = ()
    variables: frozenset[str] = frozenset()
    workspace: ResolvedTree | None = None
    contents: Contents
    warnings: tuple[str, ...] = ()

    @property
    def tops(self) -> tuple[Digest, ...]:
        """The nodes that a cell itself needs."""
        return (self.snapshot, *self.start)


@attrs.frozen(kw_only=True)
class Graph:
    """Every node of some cells, parents before children, each once.

    `fetched` are the sources that were fetched for this plan, and in how many seconds each.
    """

    nodes: Mapping[Digest, Node]
    cells: tuple[PlannedCell, ...]
    fetched: Mapping[Digest, float] = attrs.field(factory=dict)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the plan warns of, each once."""
        return tuple(dict.fromkeys(warning for planned in self.cells for warning in planned.warnings))

    def above(self, *recipes: Digest) -> Iterator[Digest]:
        """The recipe keys of everything that nodes stand on, and their own, parents first."""
        seen: dict[Digest, None] = {}
        pending = [*reversed(recipes)]
        while pending:
            ahead = [parent.recipe for parent in self.nodes[pending[-1]].parents if parent.recipe not in seen]
            if ahead:
                pending += reversed(ahead)
            else:
                seen[pending.pop()] = None
        yield from seen

    def nodes_of(self, planned: PlannedCell) -> tuple[Digest, ...]:
        """The recipe keys of everything that a cell needs, parents first."""
        found = self._above_tops.get(planned.tops)
        if found is None:
            found = self._above_tops[planned.tops] = tuple(self.above(*planned.tops))
        return found

    @cached_property
    def _above_tops(self) -> dict[tuple[Digest, ...], tuple[Digest, ...]]:
        """What was found out by `nodes_of`, which is asked again for each thing that is said of a cell."""
        return {}

    @cached_property
    def cells_of(self) -> Mapping[Digest, tuple[str, ...]]:
        """For every node, the names of the cells that need it."""
        names: dict[Digest, list[str]] = {recipe: [] for recipe in self.nodes}
        for planned in self.cells:
            for recipe in self.nodes_of(planned):
                names[recipe].append(planned.cell.name)
        return {recipe: tuple(cells) for recipe, cells in names.items()}


class Drawing:
    """A graph being drawn: nodes of one key become one."""

    def __init__(self) -> None:
        self.nodes: dict[Digest, Node] = {}
        self.fetched: dict[Digest, float] = {}
        self.refused: list[str] = []

    def add(self, node: Node, role: str) -> Parent:
        """Put `node` in, or join it with the one that is there, and point at it as `role`."""
        existing = self.nodes.get(node.recipe)
        if existing is not None and existing.work is not None and node.work is not None:
            node = attrs.evolve(existing, work=joined(existing.work, node.work))
        self.nodes[node.recipe] = node
        return Parent(role=role, recipe=node.recipe)
