"""Finds environments in what evals declare: in eval files, and in JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from reeval_build.errors import DefinitionError
from reeval_build.loading.declarations import Declared, checked_declarations
from reeval_build.loading.declarations_data import canonical
from reeval_build.loading.declarations_harnesses import descriptor
from reeval_build.loading.declarations_json import STANDARD_INPUT, read_json
from reeval_build.loading.found import NO_ENVIRONMENT, Eval, Found
from reeval_build.loading.runner import collect
from reeval_build.model.checks import check_fields
from reeval_build.model.checks.definition import Definition
from reeval_build.model.environment import Environment
from reeval_build.model.merge import merge
from reeval_build.model.site import Site
from reeval_build.model.support import unsupported_in
from reeval_build.model.wire import checked_wire, unsupported_layers

if TYPE_CHECKING:
    from reeval_build.loading.declarations_environments import Environment as EnvironmentData
    from reeval_build.model.spec import Spec


def load_eval_file(file: Path, *, shown: str) -> tuple[Found, ...]:
    """What an eval file declares, each once; its relative paths count from its directory.

    Raises:
        DefinitionError: when it cannot be loaded, and for every mistake in what it declares; names it as `shown`.
    """
    return found_in(collect(file, shown=shown), file=shown, directory=file.absolute().parent)


def load_json(source: Path | None, *, shown: str) -> tuple[Found, ...]:
    """What a JSON file, or standard input when there is none, declares.

    Relative paths count from the file's directory, or the working directory.

    Raises:
        DefinitionError: when it cannot be read, and for every mistake in what it declares; names it as `shown`.
    """
    if source is None:
        return found_in(read_json(STANDARD_INPUT), file=shown, directory=Path.cwd())
    # An absolute path is never taken for standard input.
    try:
        document = read_json(source.absolute())
    except DefinitionError as error:
        raise DefinitionError(*error.problems, file=shown) from error
    return found_in(document, file=shown, directory=source.absolute().parent)


def found_in(document: object, *, file: str, directory: Path) -> tuple[Found, ...]:
    """What a declaration tree, or an environment alone, declares, in order.

    Args:
        document: as `declarations.checked_declarations` takes it.
        file: how messages name where it comes from.
        directory: where relative host paths count from.

    Raises:
        DefinitionError: with every mistake, those in how things are declared first; else with everything that is not
            supported yet.
    """
    declarations, problems = checked_declarations(document, file=file)
    reader = _Reader(file, directory, [*problems])
    found = tuple(reader.read(declared) for declared in declarations)
    if refused := reader.problems or reader.unsupported:
        raise DefinitionError(*dict.fromkeys(refused), file=file)
    return found


@attrs.frozen
class _Reader:
    """Makes values of what is declared, and collects what is wrong with it."""

    file: str
    directory: Path
    problems: list[str]
    unsupported: list[str] = attrs.field(factory=list)

    _environments: dict[str, Environment] = attrs.field(factory=dict)

    def read(self, declared: Declared) -> Found:
        evals = tuple(Eval(self.file, path) for path in declared.evals)
        by = evals[0].call if evals else ""
        environment = self._environment(declared.environment)
        cascade = self._cascade(declared, environment, by)
        return Found(
            environment=environment,
            harness=None if declared.harness is None else descriptor(declared.harness),
            env=cascade.env or {},
            egress=cascade.egress,
            sandbox=cascade.sandbox,
            file=self.file,
            evals=evals,
        )

    def _environment(self, data: EnvironmentData | None) -> Environment:
        if data is None:
            return NO_ENVIRONMENT
        # Evals that share an environment have it from their group, or say it again.
        text = canonical(data)
        if text not in self._environments:
            environment, problems = checked_wire(data, directory=self.directory)
            self.problems.extend(problems)
            self.unsupported.extend(() if problems else unsupported_layers(environment))
            self._environments[text] = environment
        return self._environments[text]

    def _cascade(self, declared: Declared, environment: Environment, by: str) -> Spec:
        """What evals and groups say besides the environment, read as an environment's fields are."""
        said = {"env": declared.env or None, "egress": declared.egress, "sandbox": declared.sandbox}
        definition = Definition("", Site.of_wire(self.directory), called=by, is_wire=True)
        spec = check_fields({field: value for field, value in said.items() if value is not None}, definition)
        if merge(environment.layers).sandbox is not None:
            spec = attrs.evolve(spec, sandbox=None)
        assert not definition.problems, "options were checked where they stand"
        self.unsupported.extend(unsupported_in(spec, by))
        return spec
