"""`define_environment`, and the frozen chain of layers it returns."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from reeval_build.errors import DefinitionError
from reeval_build.model import helpers
from reeval_build.model.callers import calling_file
from reeval_build.model.check import check_fields
from reeval_build.model.merge import check_together
from reeval_build.model.shown import got
from reeval_build.model.spec import GitWorkspace, HostFile, Spec

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")


@attrs.frozen
class Helpers:
    """What a spec's callback is given."""

    git: Callable[..., GitWorkspace] = helpers.git
    file: Callable[[str], HostFile] = helpers.file


SpecInput: TypeAlias = Mapping[str, Any] | Callable[[Helpers], Mapping[str, Any]]


@attrs.frozen
class Layer:
    """What one `define_environment` or `extend` said."""

    name: str
    spec: Spec


@attrs.frozen(hash=False)
class Environment:
    """A named chain of layers, root first. Frozen all the way down."""

    name: str
    layers: tuple[Layer, ...]

    file: str | None = attrs.field(default=None, eq=False, repr=False)

    def __hash__(self) -> int:
        """Equal environments hash alike."""
        return hash((self.name, tuple(layer.name for layer in self.layers)))

    def extend(self, name: str, spec: SpecInput) -> Environment:
        """An environment with one more layer on this one, which stays as it is.

        `env` and `files` merge by name and the child wins; `setup` is appended; `sandbox`, `workspace` and `rules`
        replace the parent's when they are set.

        Raises:
            DefinitionError: as `define_environment` does.
        """
        return _make(name, spec, self.layers)

    extend_environment = extend


def define_environment(name: str, spec: SpecInput) -> Environment:
    """An environment: what an eval runs in.

    Args:
        name: letters, digits, `.`, `_`, `@`, `+` or `-`, starting with a letter or digit.
        spec: a mapping with any of `sandbox`, `workspace`, `env`, `files`, `rules` and `setup`, or a callback that
            is given the helpers and returns one; it is called once, now.

    Raises:
        DefinitionError: with every independent mistake, in the words of reeval's documentation.
    """
    return _make(name, spec, ())


def _make(name: str, spec: SpecInput, parents: tuple[Layer, ...]) -> Environment:
    _check_name(name)
    checked = check_fields(name, _call(name, spec))
    layers = (*parents, Layer(name, checked))
    check_together(name, [layer.spec for layer in layers])
    file = calling_file()
    return Environment(name, layers, None if file is None else str(file))


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DefinitionError(
            f'defineEnvironment needs a name of letters, digits, ".", "_", "@", "+" or "-" {got(name)}'
        )


def _call(name: str, spec: SpecInput) -> Mapping[str, Any]:
    returned: object = spec(Helpers()) if callable(spec) else spec
    if inspect.isawaitable(returned) or inspect.isasyncgen(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        problem = (
            f'defineEnvironment("{name}") returned a Promise. The callback runs once at definition time and must '
            "return the environment synchronously; fetch remote content in a setup step instead."
        )
        raise DefinitionError(problem)
    if not isinstance(returned, Mapping):
        problem = (
            f'defineEnvironment("{name}") needs a mapping of fields, or a callback that returns one {got(returned)}'
        )
        raise DefinitionError(problem)
    return returned
