"""What follows from the content of objects, remembered so that they are not read again; see ADR 0018."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

from reeval_build import __version__, canon
from reeval_build.digest import Digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reeval_build.digest import Domain


@attrs.frozen(kw_only=True)
class Fact:
    """The answer to a question about an object: a pure function of the object and of what else is in the question."""

    question: Digest
    about: Digest
    answer: bytes


class Facts(Protocol):
    """Remembers facts; safe to use from several threads and processes.

    It may forget at any time, and forgets a fact with the object that it is about. It never makes anything up.
    """

    def known(self, questions: Iterable[Digest], /) -> Mapping[Digest, bytes]:
        """The answers to those questions that have one."""

    def keep(self, facts: Iterable[Fact], /) -> None:
        """Remember facts."""


class LateFacts:
    """See `Facts`: remembers all that it is told at its end, when the objects that facts are about are kept."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._told: list[Fact] = []

    def known(self, questions: Iterable[Digest], /) -> Mapping[Digest, bytes]:
        """The answers to those questions that were known before."""
        return self._facts.known(questions)

    def keep(self, facts: Iterable[Fact], /) -> None:
        """Remember facts later."""
        self._told.extend(facts)

    def close(self) -> None:
        """Remember them."""
        self._facts.keep(self._told)
        self._told.clear()


class NoFacts:
    """See `Facts`: knows nothing, and remembers nothing."""

    def known(self, _questions: Iterable[Digest], /) -> Mapping[Digest, bytes]:
        """Nothing, so that everything is read."""
        return {}

    def keep(self, facts: Iterable[Fact], /) -> None:
        """Do nothing."""


def question(domain: Domain, about: canon.Value, *more: canon.Value) -> Digest:
    """Names a question about an object, or about what an object is made of.

    Another version of this program asks another one, for its rules may differ.
    """
    return domain.digest(canon.encode([__version__, about, *more]))
