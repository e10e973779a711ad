"""reeval's wire form of environments: plain data, as JSON carries it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from reeval_build.model.checks import check_fields
from reeval_build.model.checks.definition import Definition
from reeval_build.model.environment import Environment, name_problems
from reeval_build.model.merge import conflicts
from reeval_build.model.options import is_list
from reeval_build.model.problems import refuse
from reeval_build.model.shown import got
from reeval_build.model.site import Site
from reeval_build.model.spec import Layer, Spec
from reeval_build.model.support import unsupported
from reeval_build.model.wire_values import value_to_wire

if TYPE_CHECKING:
    from os import PathLike


def environment_to_wire(environment: Environment) -> dict[str, Any]:
    """An environment as data: its layers, root first, as they were written, before merging.

    Host paths are absolute. `inputs` of a step of setup is the one key that reeval does not have.
    """
    return {
        "kind": "environment",
        "name": environment.name,
        "layers": [{"name": layer.name, "spec": _spec_to_wire(layer.spec)} for layer in environment.layers],
    }


def _spec_to_wire(spec: Spec) -> dict[str, Any]:
    fields = attrs.asdict(spec, recurse=False)
    return {name: value_to_wire(value) for name, value in fields.items() if value is not None}


def environment_from_wire(data: object, *, directory: str | PathLike[str]) -> Environment:
    """The environment that data from JSON describes.

    Args:
        data: what `environment_to_wire` returns, or what reeval or reeval-python wrote. A time limit that is a bare
            number is milliseconds.
        directory: where relative host paths count from: that of the file the environment was written in.

    Raises:
        DefinitionError: with every mistake, in the words of reeval's documentation.
    """
    environment, problems = checked_wire(data, directory=directory)
    if problems:
        return refuse(problems, instead=environment)
    return refuse(unsupported_layers(environment), instead=environment, unsupported=True)


def checked_wire(data: object, *, directory: str | PathLike[str]) -> tuple[Environment, tuple[str, ...]]:
    """What of some data is right, and everything that is wrong with it."""
    site = Site.of_wire(directory)
    match data:
        case {"kind": "environment", "name": str(name), "layers": layers, **rest} if is_list(layers) and layers:
            problems = [f'Unknown field "{key}" in environment "{name}".' for key in rest]
        case _:
            problem = f'an environment must be {{ kind: "environment", name, layers }} {got(data)}'
            return Environment("", (Layer("", Spec()),)), (problem,)
    found = [_layer(layer, site, problems) for layer in layers]
    if found[-1].name != name:
        problems.append(f'environment "{name}" must have the name of its last layer {got(found[-1].name)}')
    environment = Environment(name, tuple(found))
    return environment, tuple(dict.fromkeys([*problems, *conflicts(name, found)]))


def _layer(data: object, site: Site, problems: list[str]) -> Layer:
    match data:
        case {"name": str(name), "spec": spec, **rest} if isinstance(spec, Mapping) and not rest:
            definition = Definition(name, site, [*name_problems(name)], is_wire=True)
            layer = Layer(name, check_fields(spec, definition))
            problems += definition.problems
            return layer
        case {"name": name} if not isinstance(name, str):
            problems += name_problems(name)
        case _:
            problems.append(f"a layer of an environment must be {{ name, spec }} {got(data)}")
    return Layer("", Spec())


def unsupported_layers(environment: Environment) -> tuple[str, ...]:
    """A problem for everything in any layer that is not supported yet."""
    names = (Environment(layer.name, (layer,)) for layer in environment.layers)
    return tuple(dict.fromkeys(problem for one in names for problem in unsupported(one)))
