"""The environment that is being checked, and the mistakes found in it so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from reeval_build.errors import DefinitionError
from reeval_build.model.reading import Refused, Shape, read
from reeval_build.model.site import Site

if TYPE_CHECKING:
    from collections.abc import Mapping

Value = TypeVar("Value")


@attrs.frozen
class Definition:
    """One `define_environment` or `extend`, and what is wrong with it; or what else `called` says has such fields.

    In the wire form that this package writes, a step of setup may have `inputs`; what authors write is reeval's.
    """

    name: str
    site: Site
    problems: list[str] = attrs.field(factory=list)

    is_wire: bool = attrs.field(default=False, kw_only=True)
    called: str = attrs.field(default="", kw_only=True)

    @property
    def where(self) -> str:
        """What messages call it."""
        return self.called or f'defineEnvironment("{self.name}")'

    def add(self, problem: str) -> None:
        """Note a mistake."""
        self.problems.append(problem)

    def refuse(self, place: str, refused: Refused) -> None:
        """Note what is wrong at a place, such as `env.A`."""
        self.problems.extend(refused.about(place, self.where))

    def read(self, place: str, shape: Shape[Value], options: Mapping[Any, object]) -> Value | None:
        """The value of a dictionary that stands for what a helper returns."""
        try:
            return read(shape, options, self.site)
        except DefinitionError as error:
            self.problems.extend(f"{place} in {self.where}: {problem}" for problem in error.problems)
            return None
