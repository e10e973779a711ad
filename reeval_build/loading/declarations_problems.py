"""Collects what is wrong with a declaration, so that every mistake of a file is said in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from reeval_build.loading.declarations_data import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

NodeKind = Literal["eval", "group"]

_BETWEEN: Final = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
_CALLS: Final = {"eval": "evaluate", "group": "group"}


def call_of(kind: NodeKind, path: Iterable[str]) -> str:
    """How messages name an eval or a group: the call that declared it, with its path as reeval-python writes it."""
    return f"{_CALLS[kind]}({quoted(path_text(path))})"


def path_text(path: Iterable[str]) -> str:
    """Names of groups and of an eval as reeval-python writes them together."""
    return _BETWEEN.join(path)


class Problems:
    """Mistakes, in the order they were found."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def at(self, where: str) -> ProblemsOf:
        """The same list, for what is said about `where`."""
        return ProblemsOf(where, self)


class ProblemsOf:
    """Mistakes of one eval, group or document, which `where` names."""

    def __init__(self, where: str, problems: Problems) -> None:
        self.where = where
        self._problems = problems

    def add(self, key: str, reason: str) -> None:
        """`KEY in WHERE REASON`."""
        self.say(f"{key} in {self.where} {reason}")

    def say(self, problem: str) -> None:
        """A sentence that names `where` itself."""
        self._problems.found.append(problem)
