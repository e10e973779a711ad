"""Environments that are checked but not built, so that what is not supported yet can be part of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reeval_build.model.environment import Environment, checked
from reeval_build.model.site import Site

if TYPE_CHECKING:
    from reeval_build.model.spec import Layer, Spec

HERE = Path("/project")


def defined(spec: Any, name: str = "e", *, parents: tuple[Layer, ...] = (), directory: Path = HERE) -> Environment:
    """The environment of a spec without mistakes, written in a file of `directory`."""
    environment, problems = checked(name, spec, parents, Site(directory))
    assert problems == ()
    return environment


def chain(*specs: Any) -> Environment:
    """An environment of several layers, `e0` at the root."""
    environment = defined(specs[0], "e0")
    for at, spec in enumerate(specs[1:], 1):
        environment = defined(spec, f"e{at}", parents=environment.layers)
    return environment


def spec_of(spec: Any) -> Spec:
    """The fields of a spec without mistakes."""
    return defined(spec).layers[0].spec


def mistakes(spec: Any, *, directory: Path = HERE) -> tuple[str, ...]:
    """What is wrong with a spec."""
    return checked("e", spec, (), Site(directory))[1]
