"""Names cells so that no two have one name, and finds those that a name means."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.loading.found import Eval
from reeval_build.model.cells import BEFORE_CELL, BEFORE_EVAL, Cell
from reeval_build.paths import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


@attrs.frozen
class Known:
    """A cell, and the evals that declare it."""

    cell: Cell
    evals: tuple[Eval, ...]


def told_apart(cells: Iterable[Known]) -> tuple[Known, ...]:
    """The cells, each once and with all its evals, under names that tell them apart.

    Evals that give one environment different `env`, `egress` or `sandbox` on one harness make cells of one name. Each
    of those is then called after its first eval, `NAME#EVAL`: with the eval's file in front where evals of different
    files have one name, and with a number where one eval has several. A cell that no eval declares keeps its name.
    """
    alike: dict[str, list[Known]] = {}
    for one in cells:
        _join(alike.setdefault(one.cell.name, []), one)
    taken = set(alike)
    return tuple(named for group in alike.values() for named in (_named(group, taken) if len(group) > 1 else group))


def _join(group: list[Known], one: Known) -> None:
    for at, other in enumerate(group):
        if other.cell == one.cell:
            evals = tuple(dict.fromkeys((*other.evals, *one.evals)))
            group[at] = Known(other.cell.joined(one.cell), evals)
            return
    group.append(one)


def _named(group: Sequence[Known], taken: set[str]) -> Iterator[Known]:
    firsts = {first for one in group for first in one.evals[:1]}
    with_files = len({shown_eval(first.name) for first in firsts}) < len(firsts)
    names = [_first_eval(one, with_file=with_files) for one in group]
    for one, name in zip(group, names, strict=True):
        if name is None:
            yield one
            continue
        numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
        cells = (attrs.evolve(one.cell, of_eval=free) for free in numbered)
        cell = next(cell for cell in cells if cell.name not in taken)
        taken.add(cell.name)
        yield attrs.evolve(one, cell=cell)


def _first_eval(known: Known, *, with_file: bool) -> str | None:
    if not known.evals:
        return None
    first = known.evals[0]
    return shown_eval(f"{first.file}: {first.name}" if with_file else first.name)


def shown_eval(name: str) -> str:
    """The name of an eval in the name of a cell: on one line, and without what is before a cell's name."""
    return display(name.encode("utf-8")).replace(BEFORE_CELL, r":\x3a")


def meant_by(called: str, cells: Iterable[Known]) -> list[Cell]:
    """The cells that a name means.

    The one of that name; else those that have it with any of their evals behind it, else without, else with the kind
    of their harness in place of its id.
    """
    cells = list(cells)
    for names in _WAYS:
        if meant := [one.cell for one in cells if called in names(one)]:
            return meant
    return []


def _with_any_eval(known: Known, name: str) -> list[str]:
    return [f"{name}{BEFORE_EVAL}{shown_eval(one.name)}" for one in known.evals]


def _of_kind(known: Known) -> list[str]:
    name = f"{known.cell.environment.name}@{known.cell.harness.kind}"
    return [name, *_with_any_eval(known, name)]


_WAYS: Final[tuple[Callable[[Known], list[str]], ...]] = (
    lambda known: [known.cell.name],
    lambda known: _with_any_eval(known, known.cell.short_name),
    lambda known: [known.cell.short_name],
    _of_kind,
)
