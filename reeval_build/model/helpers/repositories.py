"""Which git repository an author means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import attrs

from reeval_build.model.options import inside, is_said
from reeval_build.model.reading import Mistake, Refused
from reeval_build.model.shown import got

if TYPE_CHECKING:
    from reeval_build.model.site import Site

_GITHUB: Final = "github:"
_GITHUB_SHORT: Final = re.compile(r"github:([A-Za-z0-9][\w-]*)/([\w.-]+?)(?:\.git)?", re.ASCII)
_DOTS: Final = frozenset({".", ".."})
_GITHUB_TREE: Final = re.compile(r"https://github\.com/([^/]+)/([^/]+)/tree/([^/]+)(?:/(.+?))?/?")
_SCP_LIKE: Final = re.compile(r"(?:[^/:@\s]+@)?[^/:@\s]+:(?!//).+")
_SCHEMES: Final = ("https", "http", "ssh", "git", "file")
_SPACES: Final = re.compile(r"[\0-\x20\x7f]")


@attrs.frozen
class Repository:
    """A repository: as it is written, what is fetched, and what of a GitHub `/tree/` URL says more than that."""

    written: str
    url: str
    ref: str | None = None
    path: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether it is a directory of this machine."""
        return self.url.startswith("/")


def repository(value: object, site: Site) -> Repository:
    """A clone URL, `github:owner/repo`, a GitHub `/tree/REF/PATH` URL, or a local path.

    What is refused for having a password in it is not shown.
    """
    if not is_said(value):
        raise Refused(
            Mistake(f"needs a repository: a URL, github:owner/repo, or a local path {got(value)}", about="thing")
        )
    if value.startswith(_GITHUB):
        return _on_github(value)
    if "://" in value:
        _check_url(value)
        if tree := _GITHUB_TREE.fullmatch(value):
            url = f"https://github.com/{tree[1]}/{tree[2].removesuffix('.git')}.git"
            ref, path = unquote(tree[3]), None if tree[4] is None else unquote(tree[4])
            if not is_said(ref):
                raise Refused(Mistake(f"has a ref in its URL that no repository can have {got(value)}", about="thing"))
            return Repository(value, url, ref, path)
        return Repository(value, value)
    if _SCP_LIKE.fullmatch(value):
        return Repository(value, value)
    return Repository(value, site.resolve(value))


def remote_repository(value: object, site: Site) -> Repository:
    """A repository like `repository`, that is not a local path."""
    found = repository(value, site)
    if found.is_local:
        raise Refused(
            Mistake(
                f"needs a URL or github:owner/repo; a directory of this machine is for the local helper {got(value)}",
                about="thing",
            )
        )
    return found


def path_of(found: Repository) -> str | None:
    """The path that the URL itself names, checked like any other."""
    try:
        return None if found.path is None else inside(found.path)
    except Refused as refused:
        raise Refused(*refused.below("path")) from refused


def _on_github(short: str) -> Repository:
    found = _GITHUB_SHORT.fullmatch(short)
    if found is None or found[2] in _DOTS:
        raise Refused(Mistake(f"needs github:owner/repo {got(short)}", about="thing"))
    return Repository(short, f"https://github.com/{found[1]}/{found[2]}.git")


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        # A port is only looked at when it is asked for.
        is_whole = parts.scheme == "file" or (bool(parts.hostname) and parts.port != 0 and not _SPACES.search(url))
    except ValueError as error:
        # What the error says may quote a password.
        raise Refused(Mistake(f"has a URL that cannot be understood {got(url)}", about="thing")) from error
    named = parts.username is not None and not parts.scheme.endswith("ssh")
    if parts.password is not None or named:
        raise Refused(
            Mistake(
                "has a password or token in its URL; pass the NAME of a host variable as token= instead", about="thing"
            )
        )
    if parts.scheme not in _SCHEMES:
        raise Refused(
            Mistake(f"cannot fetch {parts.scheme}:// URLs, only {', '.join(_SCHEMES)} {got(url)}", about="thing")
        )
    if not is_whole:
        raise Refused(Mistake(f"has a URL that cannot be understood {got(url)}", about="thing"))
