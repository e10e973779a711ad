"""Collects what is wrong with a declaration, so that every mistake of a file is said in one run."""

from __future__ import annotations


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
