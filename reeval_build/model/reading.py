"""Reads the options of one thing from what an author wrote: every mistake at once, by the name of its option."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

import attrs

from reeval_build.errors import DefinitionError
from reeval_build.model.problems import refuse
from reeval_build.model.site import Site

if TYPE_CHECKING:
    from collections.abc import Iterable

Value = TypeVar("Value")

# reeval-python takes these keys in both spellings, and so do we.
_SNAKE_CASE: Final = {"max_concurrent": "maxConcurrent", "start_timeout": "startTimeout"}


@attrs.frozen
class Mistake:
    """What is wrong with an option, as the end of a sentence that begins with its name.

    `at` is a place inside the option, such as `[1]`. Some are sentences of their own about what is `inside` the
    option; some begin with the whole `thing`; and before some `nothing` is put.
    """

    clause: str
    at: str = ""
    about: Literal["option", "inside", "thing", "nothing"] = "option"

    def sentence(self, option: str, thing: str) -> str:
        """What a message says of `option` of `thing`."""
        match self.about:
            case "option":
                return f"{option}{self.at} in {thing} {self.clause}"
            case "inside":
                return f"{option}{self.at} in {thing}: {self.clause}"
            case "thing":
                return f"{thing} {self.clause}"
            case "nothing":
                return self.clause


class Refused(Exception):  # noqa: N818 - what it says, not that it failed
    """A value is not what an option takes."""

    def __init__(self, *mistakes: Mistake | str) -> None:
        super().__init__()
        self.mistakes = tuple(Mistake(mistake) if isinstance(mistake, str) else mistake for mistake in mistakes)

    def about(self, option: str, thing: str) -> Iterable[str]:
        """The sentences of a message, about `option` of `thing`."""
        return (mistake.sentence(option, thing) for mistake in self.mistakes)

    def below(self, at: str) -> Iterable[Mistake]:
        """The same, of what is at a place inside an option."""
        return (attrs.evolve(mistake, at=at + mistake.at) for mistake in self.mistakes)


Reader = Callable[[object, Site], Any]


@attrs.frozen
class Option:
    """One option: its name in Python, how its value is read, and how a message calls it when that is another name."""

    name: str
    read: Reader
    required: bool = attrs.field(default=False, kw_only=True)
    called: str = attrs.field(default="", kw_only=True)


@attrs.frozen(kw_only=True)
class Shape(Generic[Value]):
    """How a thing is written: its options by their names in reeval's wire form.

    `build` makes the value from what was read, or refuses how options stand to each other. `instead` is what its
    helper returns for one it refuses, while problems are collected.
    """

    called: str
    options: Mapping[str, Option]
    build: Callable[..., Value]
    instead: Value


def read(shape: Shape[Value], written: Mapping[Any, object], site: Site) -> Value:
    """The value that `written` describes.

    Raises:
        DefinitionError: with every mistake, in the order of the shape's options.
    """
    given = {_SNAKE_CASE.get(key, key): value for key, value in written.items()}
    problems: list[str] = []
    values: dict[str, object] = {}
    if unknown := sorted(str(key) for key in given if key not in shape.options):
        problems.append(f"{shape.called} has no option {', '.join(unknown)}")
    for key, option in shape.options.items():
        called = option.called or option.name
        if key in given:
            try:
                values[option.name] = option.read(given[key], site)
            except Refused as refused:
                problems += refused.about(called, shape.called)
        elif option.required:
            problems.append(f"{shape.called} needs {called}")
    if not problems:
        try:
            return shape.build(**values)
        except Refused as refused:
            problems += refused.about("", shape.called)
    raise DefinitionError(*problems)


def make(shape: Shape[Value], written: Mapping[str, object], optional: Mapping[str, object] | None = None) -> Value:
    """What a helper returns for its arguments, by their wire names; of `optional` ones None means not given.

    Raises:
        DefinitionError: as `read` does, unless problems are collected.
    """
    given = {**written, **{key: value for key, value in (optional or {}).items() if value is not None}}
    try:
        return read(shape, given, Site.of_caller())
    except DefinitionError as error:
        return refuse(error.problems, instead=shape.instead)
