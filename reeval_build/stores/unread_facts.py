"""A memory of facts that is written to and not relied on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reeval_build.content.facts import Fact, Facts
    from reeval_build.digest import Digest


class UnreadFacts:
    """See `content.facts.Facts`: knows nothing, and has another one remember what it is given."""

    def __init__(self, below: Facts) -> None:
        self._below = below

    def known(self, _questions: Iterable[Digest], /) -> Mapping[Digest, bytes]:
        """Nothing, so that everything is read."""
        return {}

    def keep(self, facts: Iterable[Fact], /) -> None:
        """See `content.facts.Facts.keep`."""
        self._below.keep(facts)
