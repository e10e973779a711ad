"""The one place where a path that came from outside is checked before it is used."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence

Parts: TypeAlias = tuple[bytes, ...]

_MAX_NAME_BYTES: Final = 255
_SHOWN_CHARACTERS: Final = 200
# What `check_name` lets pass, in one look.
_is_name: Final = re.compile(rb"(?!\.{1,2}\Z|\.wh\.)[^/\0]{1,%d}\Z" % _MAX_NAME_BYTES).match


class PathError(ValueError):
    """A path that must not be used, and why, as one clause that starts with the path."""

    def __init__(self, path: bytes | str, reason: str) -> None:
        shown = path if isinstance(path, str) else display(path)
        super().__init__(f"{shown!r} {reason}")
        self.path = shown
        self.reason = reason


def display(path: bytes) -> str:
    """`path` as text for people: bytes that are not UTF-8 and control characters are escaped."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def display_briefly(path: bytes) -> str:
    """`path` as `display` has it, without its middle when it is too long for a sentence."""
    text = display(path)
    half = _SHOWN_CHARACTERS // 2
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:half]}…{text[-half:]}"


def display_apart(paths: Sequence[Parts]) -> list[str]:
    """Paths as text in which they differ, also when what differs is how their letters are composed."""
    shown = [display(b"/".join(parts)) for parts in paths]
    if len({unicodedata.normalize("NFC", text) for text in shown}) == len(shown):
        return shown
    return [text.encode("ascii", "backslashreplace").decode("ascii") for text in shown]


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def check_name(name: bytes) -> bytes:
    """`name`, if it may stand in a tree as the name of one entry.

    Raises:
        PathError: for an empty name, `.`, `..`, a slash, a NUL, more than 255 bytes, or the prefix `.wh.`, which
            image layers use for deletions (OCI image specification, "Whiteouts").
    """
    if _is_name(name):
        return name
    if name in {b"", b".", b".."}:
        raise PathError(name, 'is not a name: it is empty, "." or ".."')
    if b"/" in name or b"\0" in name:
        raise PathError(name, "is not a name: it has a slash or a NUL in it")
    if len(name) > _MAX_NAME_BYTES:
        raise PathError(name, f"is longer than {_MAX_NAME_BYTES} bytes")
    raise PathError(name, 'starts with ".wh.", which image layers use for deletions')


def split(path: bytes) -> Parts:
    """The checked names of a relative path with forward slashes; nothing is folded or normalised.

    Raises:
        PathError: for an absolute path, an empty segment, or any name `check_name` refuses.
    """
    if path.startswith(b"/"):
        raise PathError(path, "is absolute")
    names = path.split(b"/")
    for name in names:
        try:
            check_name(name)
        except PathError as error:
            if len(names) == 1:
                raise
            raise PathError(path, f"has the segment {error.path!r}, which {error.reason}") from error
    return tuple(names)


def check_link(parts: Parts, target: bytes) -> bytes:
    """The target of the symbolic link at `parts`, if following it cannot leave the tree.

    Only the text is looked at; a link is never followed. `..` may only stand at the front: behind a name, which may
    be a link itself, nobody can tell from the text where it leads.

    Raises:
        PathError: for an empty or absolute target, a NUL, more `..` than there are directories above, or `..` behind
            a name.
    """
    path = b"/".join(parts)
    if not target or b"\0" in target:
        raise PathError(path, "is a symbolic link with an empty target or a NUL in it")
    if target.startswith(b"/"):
        raise PathError(path, f"is a symbolic link out of its tree, to {display(target)!r}")
    names = [name for name in target.split(b"/") if name not in {b"", b"."}]
    ups = next((at for at, name in enumerate(names) if name != b".."), len(names))
    if ups > len(parts) - 1:
        raise PathError(path, f"is a symbolic link out of its tree, to {display(target)!r}")
    if b".." in names[ups:]:
        raise PathError(path, f'is a symbolic link with ".." behind a name, to {display(target)!r}')
    return target


def _as_bytes(text: str) -> bytes:
    """The bytes of a path, also of one that is not UTF-8, as Python reads names from the file system."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


@attrs.frozen(order=True)
class Destination:
    """Where a file of an environment goes: a place in the workspace or in the sandbox's home directory."""

    root: Literal["workspace", "home"]
    parts: Parts

    @property
    def text(self) -> str:
        """The destination as an author writes it: `src/a.ts` or `~/.npmrc`."""
        path = display(b"/".join(self.parts))
        return f"~/{path}" if self.root == "home" else path


def parse_destination(text: str) -> Destination:
    """The destination an author wrote: relative to the workspace, or `~/` for the home directory.

    Refused are what reeval's documentation refuses (absolute paths, `..`, backslashes) and what has no single
    meaning: empty and `.` segments, a trailing slash, NUL, a bare `~`, `~user/`.

    Raises:
        PathError: naming the path and the reason.
    """
    whole = _as_bytes(text)
    if "\\" in text:
        raise PathError(whole, "has a backslash; use forward slashes")
    root: Literal["workspace", "home"] = "workspace"
    rest = text
    if text.startswith("~"):
        if not text.startswith("~/"):
            raise PathError(whole, 'starts with "~" but not with "~/"')
        root, rest = "home", text[2:]
        if rest.startswith("/"):
            raise PathError(whole, "has an empty segment")
    try:
        return Destination(root, split(rest.encode("utf-8")))
    except UnicodeEncodeError as error:
        raise PathError(whole, "is not valid Unicode text") from error
    except PathError as error:
        raise PathError(whole, error.reason) from error
