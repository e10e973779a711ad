"""Makes the cells that a command's arguments mean."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.errors import DefinitionError, PlanError
from reeval_build.loading.targets import find_environments, find_in_file, shown_target
from reeval_build.model.cells import Cell
from reeval_build.model.harnesses import HARNESSES
from reeval_build.model.merge import merge
from reeval_build.model.spec import DockerSandbox, FakeSandbox

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reeval_build.loading.found import Found
    from reeval_build.model.harnesses import Harness
    from reeval_build.model.spec import Sandbox

_SANDBOXES: Final[dict[str, type[Sandbox]]] = {"docker": DockerSandbox, "fake": FakeSandbox}


def select_cells(targets: Sequence[str], harnesses: Sequence[str], sandbox: str) -> tuple[Cell, ...]:
    """The cells of every environment of `targets`, each once.

    An environment that was declared to run on a harness has one on that; others have one on each of `harnesses`.
    `sandbox` is the kind of machine for those that neither name one nor were declared with one.

    Raises:
        DefinitionError, PlanError: as `find_environments` does.
        DefinitionError: for two different cells of one name.
    """
    return _each_once(find_environments(targets or ["."]), tuple(dict.fromkeys(harnesses)), sandbox)


def select_cell(name: str, sandbox: str) -> Cell:
    """The cell that `NAME@HARNESS` or `FILE::NAME@HARNESS` means; HARNESS is an id, or a kind that only one is of.

    Raises:
        PlanError: for a name of another shape, an unknown harness, or no such environment.
        DefinitionError: as `select_cells` does.
    """
    file, separator, called = name.rpartition("::")
    environment, at, harness = called.rpartition("@")
    if not at or not environment:
        raise PlanError(f'"{name}" is not a cell: it is NAME@HARNESS or FILE::NAME@HARNESS')
    found = find_in_file(file) if separator else find_environments(["."])
    cells = _each_once(found, (harness,) if harness in HARNESSES else (), sandbox)
    exact = [cell for cell in cells if cell.name == called]
    of_kind = [cell for cell in cells if (cell.environment.name, cell.harness.kind) == (environment, harness)]
    match exact or of_kind:
        case [cell]:
            return cell
        case []:
            raise PlanError(_missing(called, found, cells, file=shown_target(file) if separator else None))
        case several:
            raise PlanError(f'"{called}" is one of {", ".join(cell.name for cell in several)}: say which')


def _missing(called: str, found: Sequence[Found], cells: Sequence[Cell], *, file: str | None) -> str:
    environment, _, harness = called.rpartition("@")
    names = dict.fromkeys(one.environment.name for one in found)
    declared = [cell.name for cell in cells if cell.environment.name == environment]
    if environment not in names and harness in HARNESSES:
        if file is not None:
            return f'{file}: there is no environment "{environment}"; it has {", ".join(names)}'
        return f'there is no environment "{environment}" here; there are {", ".join(names)}'
    if declared:
        return f'there is no cell "{called}" here; there are {", ".join(declared)}'
    return f'there is no harness "{harness}"; there are {", ".join(HARNESSES)}'


def _each_once(found: Iterable[Found], harnesses: Sequence[str], sandbox: str) -> tuple[Cell, ...]:
    known: dict[str, tuple[Cell, Found]] = {}
    for one in found:
        for cell in _cells(one, harnesses, sandbox):
            first, of = known.setdefault(cell.name, (cell, one))
            if first != cell:
                raise DefinitionError(
                    f'cell "{cell.name}" {f"in {one.by} " if one.by else ""}is another one than in {of.where}: they '
                    "have one name, but their env, their sandbox or the layout of their harness differ",
                    file=one.file,
                )
    return tuple(cell for cell, _ in known.values())


def _cells(found: Found, harnesses: Sequence[str], sandbox: str) -> Iterable[Cell]:
    if found.harness is None:
        return [_cell(found, HARNESSES[kind], None, sandbox) for kind in harnesses]
    name = found.harness.cell_id
    return [_cell(found, found.harness.harness, None if name == found.harness.kind else name, sandbox)]


def _cell(found: Found, harness: Harness, harness_id: str | None, sandbox: str) -> Cell:
    merged = merge(found.environment.layers)
    egress = merged.egress if found.egress is None else found.egress
    return Cell(
        environment=found.environment,
        harness=harness,
        harness_id=harness_id,
        merged=attrs.evolve(merged, env=MappingProxyType({**merged.env, **found.env}), egress=egress),
        sandbox=merged.sandbox or found.sandbox or _SANDBOXES[sandbox](),
        file=found.file,
    )
