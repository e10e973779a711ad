"""`define_environment`, and the frozen chain of layers it returns."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from reeval_build.model.callers import calling_file
from reeval_build.model.checks import check_fields
from reeval_build.model.checks.definition import Definition
from reeval_build.model.helpers.directories import directory
from reeval_build.model.helpers.host_files import file
from reeval_build.model.helpers.mcp import McpHelper, mcp
from reeval_build.model.helpers.plugins import PluginHelper, plugin
from reeval_build.model.helpers.secrets import SecretHelper, secret
from reeval_build.model.helpers.skills import SkillHelper, skill
from reeval_build.model.helpers.workspaces import git
from reeval_build.model.merge import conflicts
from reeval_build.model.problems import refuse
from reeval_build.model.shown import got
from reeval_build.model.site import Site
from reeval_build.model.spec import Layer, Spec
from reeval_build.model.support import unsupported

if TYPE_CHECKING:
    from reeval_build.model.written import EnvironmentSpec

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")


class Helpers:
    """What a spec's callback is given."""

    secret: Final[SecretHelper] = secret
    skill: Final[SkillHelper] = skill
    plugin: Final[PluginHelper] = plugin
    mcp: Final[McpHelper] = mcp
    file = staticmethod(file)
    git = staticmethod(git)
    directory = staticmethod(directory)


SpecInput: TypeAlias = "EnvironmentSpec | Callable[[Helpers], EnvironmentSpec]"

_HELPERS: Final = Helpers()


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

        `env`, `files` and `mcp` merge by name, `skills` and `plugins` by their own names, and the child wins; `setup`
        is appended; `sandbox`, `workspace`, `rules` and `egress` replace the parent's when they are set.

        Raises:
            DefinitionError: as `define_environment` does.
        """
        return _define(name, spec, self.layers)

    extend_environment = extend


def define_environment(name: str, spec: SpecInput) -> Environment:
    """An environment: what an eval runs in.

    Args:
        name: letters, digits, `.`, `_`, `@`, `+` or `-`, starting with a letter or digit.
        spec: the fields, or a callback that is given the helpers and returns them; it is called once, now.

    Raises:
        DefinitionError: with every independent mistake, in the words of reeval's documentation.
    """
    return _define(name, spec, ())


def _define(name: object, spec: object, parents: tuple[Layer, ...]) -> Environment:
    file = calling_file()
    environment, problems = checked(name, spec, parents, Site.of_caller())
    environment = attrs.evolve(environment, file=None if file is None else str(file))
    if problems:
        return refuse(problems, instead=environment)
    return refuse(unsupported(environment), instead=environment, unsupported=True)


def checked(name: object, spec: object, parents: tuple[Layer, ...], site: Site) -> tuple[Environment, tuple[str, ...]]:
    """An environment with what of its spec is right, and everything that is wrong with it."""
    problems = name_problems(name)
    if not isinstance(name, str):
        return Environment("", (*parents, Layer("", Spec()))), problems
    definition = Definition(name, site, [*problems])
    layer = Layer(name, check_fields(_call(spec, definition), definition))
    environment = Environment(name, (*parents, layer))
    # What is wrong between the layers of a parent was said of the parent.
    known = conflicts(name, parents)
    own = (conflict for conflict in conflicts(name, environment.layers) if conflict not in known)
    return environment, (*definition.problems, *own)


def name_problems(name: object) -> tuple[str, ...]:
    """What is wrong with the name of an environment."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return ()
    return (f'defineEnvironment needs a name of letters, digits, ".", "_", "@", "+" or "-" {got(name)}',)


def _call(spec: object, definition: Definition) -> Mapping[Any, Any]:
    returned = spec(_HELPERS) if callable(spec) else spec
    if inspect.isawaitable(returned) or inspect.isasyncgen(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        definition.add(
            f"{definition.where} returned a Promise. The callback runs once at definition time and must "
            "return the environment synchronously; fetch remote content in a setup step instead."
        )
        return {}
    if not isinstance(returned, Mapping):
        definition.add(f"{definition.where} needs a mapping of fields, or a callback that returns one {got(returned)}")
        return {}
    return returned
