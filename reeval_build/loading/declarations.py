"""What a declaration tree, or an environment alone, declares: each environment with the harness it is to run on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import attrs

from reeval_build.errors import DefinitionError
from reeval_build.loading.declarations_data import Data, NotDataError, Path, canonical, frozen, spell
from reeval_build.loading.declarations_environments import EMPTY_BASELINE, Environment, check_environment
from reeval_build.loading.declarations_harnesses import Harness, Harnesses, compared
from reeval_build.loading.declarations_options import Cascade
from reeval_build.loading.declarations_problems import Problems, ProblemsOf
from reeval_build.loading.eval_names import NodeKind, call_of, quoted
from reeval_build.model.shown import got, is_encodable

Role: TypeAlias = Literal["control", "variant"]
EvalPath: TypeAlias = tuple[str, ...]

_MODES: Final = ("run", "skip", "only")


@attrs.frozen(kw_only=True)
class Declared:
    """An environment on a harness, as one or more evals of a file declare it. Everything in it is frozen wire data.

    `environment` is `{"kind": "environment", "name", "layers": [{"name", "spec"}]}`, root first; None when nothing
    gives the eval one. What its fields say was not looked at. `harness` is a descriptor with a `kind`; None when
    nothing names one. `env` is what the evals and their groups add to the environment's, by name, over it; `egress`
    replaces the environment's when it is not None; `sandbox` is only the default for an environment without one.

    `evals` are the paths of names of the evals, outermost group first; none for an environment that stands alone.
    """

    environment: Environment | None = attrs.field(eq=canonical)
    role: Role = "control"
    harness: Harness | None = attrs.field(default=None, eq=canonical)
    env: Mapping[str, Any] = attrs.field(default=MappingProxyType({}), eq=canonical)
    egress: Data = attrs.field(default=None, eq=canonical)
    sandbox: Mapping[str, Any] | None = attrs.field(default=None, eq=canonical)

    evals: tuple[EvalPath, ...] = attrs.field(default=(), eq=False)


def checked_declarations(document: object, *, file: str) -> tuple[tuple[Declared, ...], tuple[str, ...]]:
    """Everything that `document` declares, in order, and every mistake in how it does.

    What several evals declare alike is there once. What has a mistake is as if it were not there. Each message names
    the eval or group and the key.

    Args:
        document: a declaration tree, `{"children": [groups, evals and todos]}`, or an environment. Evals that are
            skipped, and todos, declare nothing.
        file: how messages name where it comes from.

    Raises:
        DefinitionError: for what is not data, or is no document at all.
    """
    problems = Problems()
    try:
        data = frozen(document)
    except NotDataError as error:
        raise DefinitionError(f"{_place(document, error.path)} {error.reason}", file=file) from error
    match data:
        case {"kind": "environment"}:
            found = _alone(data, problems)
        case {"children": tuple() as children, **rest} if not rest:
            found = list(_Walk(problems).below(children, (), Cascade()))
        case _:
            raise DefinitionError(
                f'it must be a declaration tree, {{"children": […]}}, or an environment {got(data)}', file=file
            )
    return _each_once(found), tuple(dict.fromkeys(problems.found))


def _alone(data: Environment, problems: Problems) -> list[Declared]:
    checked = check_environment("environment", data, problems.at("the document"))
    return [] if checked is None else [Declared(environment=checked)]


def _each_once(found: list[Declared]) -> tuple[Declared, ...]:
    # Many evals share the values of their groups: each value is written out once, as long as `found` keeps it alive.
    texts: dict[int, str] = {}
    same: dict[tuple[str, ...], list[Declared]] = {}
    for one in found:
        values = (one.environment, one.role, one.harness, one.env, one.egress, one.sandbox)
        for value in values:
            if id(value) not in texts:
                texts[id(value)] = canonical(value)
        same.setdefault(tuple(texts[id(value)] for value in values), []).append(one)
    return tuple(
        attrs.evolve(alike[0], evals=tuple(dict.fromkeys(path for one in alike for path in one.evals)))
        for alike in same.values()
    )


class _Walk:
    """Goes through groups and evals and collects their mistakes."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def below(self, nodes: tuple[Data, ...], path: EvalPath, cascade: Cascade) -> Iterator[Declared]:
        where = call_of("group", path) if path else "the file"
        for at, node in enumerate(nodes):
            yield from self._node(node, path, cascade, self._problems.at(where), at)

    def _node(self, node: Data, path: EvalPath, cascade: Cascade, above: ProblemsOf, at: int) -> Iterator[Declared]:
        match node:
            case {"type": "todo"}:
                return
            case {"type": "eval" | "group" as kind, "name": str(name)} if is_encodable(name):
                problems = self._problems.at(call_of(kind, (*path, name)))
                yield from self._named(kind, node, (*path, name), cascade, problems)
            case _:
                above.add(f"children[{at}]", f"must be a group, an eval or a todo, with a name {got(node)}")

    def _named(
        self, kind: NodeKind, node: Mapping[str, Data], path: EvalPath, cascade: Cascade, problems: ProblemsOf
    ) -> Iterator[Declared]:
        options = node.get("options", MappingProxyType({}))
        if not isinstance(options, Mapping):
            problems.add("options", f"must be a mapping {got(options)}")
            return
        if node.get("mode", "run") not in _MODES:
            problems.add("mode", f"must be {', '.join(map(quoted, _MODES))} {got(node['mode'])}")
        if node.get("mode") == "skip":
            return
        inner = cascade.under(options, problems)
        children = node.get("children")
        if kind == "eval":
            yield from _cells(inner, path, problems)
        elif isinstance(children, tuple):
            yield from self.below(children, path, inner)
        else:
            problems.add("children", f"must be a list {got(children)}")


def _cells(cascade: Cascade, path: EvalPath, problems: ProblemsOf) -> Iterator[Declared]:
    compare = cascade.compare
    if compare is None:
        yield from _on_each(cascade.environment, "control", cascade.harnesses, cascade, path)
        return
    control = compare.baseline or cascade.environment or EMPTY_BASELINE
    yield from _on_each(control, "control", cascade.harnesses, cascade, path)
    harnesses = compared(compare.harness, cascade.harnesses, problems)
    for variant in compare.variants:
        yield from _on_each(variant, "variant", harnesses, cascade, path)


def _on_each(
    environment: Environment | None, role: Role, harnesses: Harnesses | None, cascade: Cascade, path: EvalPath
) -> Iterator[Declared]:
    for harness in (None,) if harnesses is None else harnesses:
        yield Declared(
            environment=environment,
            role=role,
            harness=harness,
            env=cascade.env,
            egress=cascade.egress,
            sandbox=cascade.sandbox,
            evals=(path,),
        )


def _place(document: object, path: Path) -> str:
    """How a message names the value at `path`: its key in the eval or group it belongs to."""
    at, names, kind, rest = document, [], None, path
    # Every second step down a tree of groups is `children`.
    for depth in range(0, len(path) - 1, 2):
        if path[depth] != "children":
            break
        at = at["children"][path[depth + 1]]  # type: ignore[index]
        if (
            not isinstance(at, Mapping)
            or at.get("type") not in ("eval", "group")
            or not isinstance(at.get("name"), str)
        ):
            break
        names.append(at["name"])
        kind, rest = at["type"], path[depth + 2 :]
    key = spell(rest[1:] if rest[:1] == ("options",) else rest)
    if kind is None:
        return key or "it"
    return f"{key or 'what is declared'} in {call_of(kind, names)}"
