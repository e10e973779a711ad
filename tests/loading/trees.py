"""Short ways to write declaration trees."""

from __future__ import annotations

from typing import Any

import pytest

from reeval_build.errors import DefinitionError
from reeval_build.loading.declarations import Declared, checked_declarations
from reeval_build.loading.declarations_data import canonical

FILE = "evals/x.eval.py"


def declared_in(document: object, *, file: str) -> tuple[Declared, ...]:
    """Everything that a document without mistakes declares. Raises a DefinitionError with all of any other."""
    found, problems = checked_declarations(document, file=file)
    if problems:
        raise DefinitionError(*problems, file=file)
    return found


def environment(name: str = "e", **spec: Any) -> dict[str, Any]:
    return {"kind": "environment", "name": name, "layers": [{"name": name, "spec": spec}]}


def evaluate(name: str = "x", /, **options: Any) -> dict[str, Any]:
    return {"type": "eval", "name": name, "mode": "run", "options": options, "body": "b1"}


def group(name: str, /, *children: Any, **options: Any) -> dict[str, Any]:
    return {"type": "group", "name": name, "mode": "run", "options": options, "children": list(children)}


def tree(*children: Any) -> dict[str, Any]:
    return {"children": list(children)}


def declared(*children: Any) -> tuple[Declared, ...]:
    """What a tree of these declares."""
    return declared_in(tree(*children), file=FILE)


def refused(document: object) -> list[str]:
    """What is said of a document."""
    with pytest.raises(DefinitionError) as caught:
        declared_in(document, file=FILE)
    assert caught.value.file == FILE
    return list(caught.value.problems)


def problems(*children: Any) -> list[str]:
    """What is said of a tree of these."""
    return refused(tree(*children))


def same(left: object, right: object) -> bool:
    """Whether two values are the same data, whether or not they are frozen."""
    return canonical(left) == canonical(right)


def names(found: tuple[Declared, ...]) -> list[tuple[str, str | None]]:
    """The role and the environment of each."""
    return [(one.role, None if one.environment is None else one.environment["name"]) for one in found]


def kinds(found: tuple[Declared, ...]) -> list[str | None]:
    """The harness of each, by its id or kind."""
    return [None if one.harness is None else one.harness.get("id", one.harness["kind"]) for one in found]
