"""What an author's ref stands for: pure rules, for local and remote repositories alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import attrs
import pygit2

if TYPE_CHECKING:
    from reeval_build.model.spec import GitWorkspace

HEAD: Final = "HEAD"
PEELED: Final = "^{}"

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_ABBREVIATED: Final = re.compile(r"[0-9a-f]{4,39}")
_PINNED: Final = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}|v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.-]+)?")

# libgit2 looks up no name of this many characters or more (`GIT_REFNAME_MAX`).
_LONGEST_NAME: Final = 1024

# In the order of gitrevisions(7): of a tag and a branch of one name, the tag is meant.
_PLACES: Final = ("refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}")


def full_names(ref: str | None) -> tuple[str, ...]:
    """The names of references that `ref` may stand for, the one that is meant first."""
    if ref is None or ref == HEAD:
        return (HEAD,)
    names = [place.format(ref) for place in _PLACES]
    if ref.startswith("refs/"):
        names.insert(0, ref)
    return tuple(name for name in names if _is_valid(name))


def _is_valid(name: str) -> bool:
    try:
        return pygit2.reference_is_valid_name(name) and len(name) < _LONGEST_NAME
    except UnicodeEncodeError:
        return False


def as_commit(ref: str | None) -> str | None:
    """The commit id that `ref` is, if it is a full one: it is never looked up as a name."""
    return _match(_COMMIT, ref)


def as_abbreviation(ref: str | None) -> str | None:
    """The beginning of a commit id that `ref` may be, if nothing has it as its name."""
    return _match(_ABBREVIATED, ref)


def _match(pattern: re.Pattern[str], ref: str | None) -> str | None:
    lowered = "" if ref is None else ref.lower()
    return lowered if pattern.fullmatch(lowered) else None


def warnings(workspace: GitWorkspace, *, local: bool) -> tuple[str, ...]:
    """What an author must know who did not pin a workspace to a commit or a version tag."""
    ref = workspace.ref
    if ref is not None and _PINNED.fullmatch(ref):
        return ()
    if ref is None:
        cause = f"{workspace.called} has no ref, so it is whatever HEAD is now"
    else:
        cause = f'{workspace.called} has the ref "{ref}", neither a full commit id nor a version tag'
    uncommitted = "; uncommitted changes are not included" if local else ""
    return (f"{cause}: results are not comparable over time{uncommitted}",)


@attrs.frozen
class Tip:
    """A reference that a server offers, and the commit it stands for."""

    name: str
    commit: str


@attrs.frozen
class Offer:
    """The references that a server offers: object ids by name, a tag's commit under its name and `^{}`."""

    references: Mapping[str, str]

    def find(self, ref: str | None) -> Tip | None:
        """The reference that has what `ref` stands for as its tip, if one does."""
        if commit := as_commit(ref):
            return next((tip for tip in self._tips() if tip.commit == commit), None)
        for name in full_names(ref):
            if name in self.references:
                return self._tip(name)
        return self._find_abbreviated(as_abbreviation(ref))

    def _find_abbreviated(self, start: str | None) -> Tip | None:
        tips = {tip.commit: tip for tip in self._tips() if start and tip.commit.startswith(start)}
        return tips.popitem()[1] if len(tips) == 1 else None

    def _tips(self) -> list[Tip]:
        return [self._tip(name) for name in sorted(self.references) if not name.endswith(PEELED)]

    def _tip(self, name: str) -> Tip:
        return Tip(name, self.references.get(name + PEELED, self.references[name]))
