"""Which npm package an author means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from reeval_build.model.options import is_said
from reeval_build.model.reading import Refused
from reeval_build.model.shown import got

if TYPE_CHECKING:
    from reeval_build.model.site import Site

_LOCAL: Final = re.compile(r"(?:\.{1,2}|~)?/.*|\.{1,2}", re.DOTALL)


def package(value: object, site: Site) -> str:
    """An npm package spec; a relative path, or one after `file:`, becomes `file:` and an absolute path.

    Rule: reeval's documentation, "Relative and `file:` paths resolve against the calling file".
    """
    if not is_said(value) or (re.search(r"\s", value) and not _is_local(value)):
        raise Refused(f"must be an npm package such as @acme/tools@1.2.0, or the path of one {got(value)}")
    if value.startswith("-"):
        raise Refused(f"must not begin with a dash, as options of npm do {got(value)}")
    if value.startswith("file:"):
        return "file:" + site.resolve(_path(value.removeprefix("file:")))
    if _LOCAL.fullmatch(value):
        return "file:" + site.resolve(value)
    if "://" in value and _has_user(value):
        raise Refused("has a password or token in its URL; npm reads those from its own configuration")
    return value


def _is_local(value: str) -> bool:
    return value.startswith("file:") or _LOCAL.fullmatch(value) is not None


def _path(rest: str) -> str:
    return unquote(rest[2:]) if rest.startswith("//") else rest


def _has_user(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return True
    return parts.password is not None or (parts.username is not None and not parts.scheme.endswith("ssh"))
