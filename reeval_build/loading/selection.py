"""Makes the cells that a command's arguments mean."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.errors import PlanError
from reeval_build.loading.cell_names import Known, meant_by, told_apart
from reeval_build.loading.targets import find_environments, find_in_file, shown_target
from reeval_build.model.cells import BEFORE_CELL, BEFORE_EVAL, Cell
from reeval_build.model.egress import effective
from reeval_build.model.harnesses import HARNESSES
from reeval_build.model.merge import merge
from reeval_build.model.spec import DockerSandbox, FakeSandbox

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reeval_build.loading.found import Found
    from reeval_build.model.harness_facts import Harness
    from reeval_build.model.spec import Sandbox

_SANDBOXES: Final[dict[str, type[Sandbox]]] = {"docker": DockerSandbox, "fake": FakeSandbox}


def select_cells(targets: Sequence[str], harnesses: Sequence[str], sandbox: str) -> tuple[Cell, ...]:
    """The cells of every environment of `targets`, each once and each with a name of its own.

    An environment that was declared to run on a harness has one on that; others have one on each of `harnesses`.
    `sandbox` is the kind of machine for those that neither name one nor were declared with one.

    Raises:
        DefinitionError, PlanError: as `find_environments` does.
    """
    known = known_cells(find_environments(targets or ["."]), tuple(dict.fromkeys(harnesses)), sandbox)
    return tuple(one.cell for one in known)


def select_cell(name: str, sandbox: str) -> Cell:
    """The cell that `NAME@HARNESS`, with `FILE::` before or `#EVAL` behind it, means.

    HARNESS is an id, or a kind that only one is of. EVAL is needed where several cells have the rest.

    Raises:
        PlanError: for a name of another shape, an unknown harness, or no such environment.
        DefinitionError: as `select_cells` does.
    """
    file, separator, called = name.rpartition(BEFORE_CELL)
    environment, at, harness = called.partition(BEFORE_EVAL)[0].rpartition("@")
    if not at or not environment:
        raise PlanError(f'"{name}" is not a cell: it is NAME@HARNESS or FILE::NAME@HARNESS')
    found = find_in_file(file) if separator else find_environments(["."])
    known = known_cells(found, (harness,) if harness in HARNESSES else (), sandbox)
    match meant_by(called, known):
        case [cell]:
            return cell
        case []:
            raise PlanError(_missing(called, found, known, file=shown_target(file) if separator else None))
        case several:
            raise PlanError(f'"{called}" is one of {", ".join(cell.name for cell in several)}: say which')


def _missing(called: str, found: Sequence[Found], known: Sequence[Known], *, file: str | None) -> str:
    environment, _, harness = called.partition(BEFORE_EVAL)[0].rpartition("@")
    names = dict.fromkeys(one.environment.name for one in found)
    declared = [one.cell.name for one in known if one.cell.environment.name == environment]
    if environment not in names and harness in HARNESSES:
        if file is not None:
            return f'{file}: there is no environment "{environment}"; it has {", ".join(names)}'
        return f'there is no environment "{environment}" here; there are {", ".join(names)}'
    if declared:
        return f'there is no cell "{called}" here; there are {", ".join(declared)}'
    return f'there is no harness "{harness}"; there are {", ".join(HARNESSES)}'


def known_cells(found: Iterable[Found], harnesses: Sequence[str], sandbox: str) -> tuple[Known, ...]:
    """The cells of what was found, each once and each with a name of its own, as `select_cells` has them."""
    return told_apart(Known(cell, one.evals) for one in found for cell in _cells(one, harnesses, sandbox))


def _cells(found: Found, harnesses: Sequence[str], sandbox: str) -> Iterable[Cell]:
    if found.harness is None:
        return [_cell(found, HARNESSES[kind], None, sandbox) for kind in harnesses]
    name = found.harness.cell_id
    return [_cell(found, found.harness.harness, None if name == found.harness.kind else name, sandbox)]


def _cell(found: Found, harness: Harness, harness_id: str | None, sandbox: str) -> Cell:
    merged = merge(found.environment.layers)
    egress = effective(merged.egress if found.egress is None else found.egress)
    return Cell(
        environment=found.environment,
        harness=harness,
        harness_id=harness_id,
        merged=attrs.evolve(merged, env=MappingProxyType({**merged.env, **found.env}), egress=egress),
        sandbox=merged.sandbox or found.sandbox or _SANDBOXES[sandbox](),
        file=found.file,
    )
