"""`directory`: all files of a directory of the host, as they are when it is called."""

from __future__ import annotations

import os
import stat
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.model.options import flag, host_path, is_list
from reeval_build.model.patterns import Pattern, Selection
from reeval_build.model.reading import Mistake, Option, Refused, Shape, make
from reeval_build.model.shown import got, is_text
from reeval_build.model.spec import HostFile
from reeval_build.paths import PathError, display, parse_destination

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reeval_build.model.site import Site

# Rule: reeval's documentation, "skips paths such as the `node_modules/` directory and the top-level `/build/` and
# `/target/` directories". What Python leaves behind is of the same kind.
DEFAULT_DIRECTORY_IGNORES: Final = ("node_modules/", "/build/", "/target/", "__pycache__/", ".venv/")

_GIT: Final = ".git"
# Links to directories can make any number out of a few.
_MAX_ENTRIES: Final = 100_000


def directory(path: str, *, to: str = "", include: Sequence[str] = (), ignore: bool = True) -> dict[str, HostFile]:
    """The files of a host directory, for `files`: `{**directory("./fixtures"), "a.txt": "replaced"}`.

    Which files there are is decided now; what is in them is read when the environment is prepared. Empty directories
    are left out, links are followed.

    Args:
        path: the directory, relative to the calling file, or absolute.
        to: where the files go: a directory relative to the workspace (the default is the workspace itself), or `~/`
            and a directory of the home directory.
        include: gitignore-style patterns, of which the last one that matches decides; `!` excludes. When none
            includes, every file starts included.
        ignore: whether `DEFAULT_DIRECTORY_IGNORES` are left out, whatever `include` says. `.git` always is.

    Returns:
        What `file` returns for each file, by its destination.

    Raises:
        DefinitionError: for a directory that is not there or has no such file, for a link that is broken or leads
            into itself, and for a file that cannot be copied.
    """
    found = make(DIRECTORY, {"path": path, "to": to, "include": include, "ignore": ignore})
    return dict(found)


@attrs.frozen
class _Place:
    """A directory that is walked: its relative path, it and those it is in, and which pattern decides on it."""

    path: str
    identities: tuple[tuple[int, int], ...]
    decided: int = -1


@attrs.frozen
class _Walk:
    """What there is to copy below a directory, and what is wrong with it."""

    root: Path
    included: Selection
    ignored: Selection
    files: list[str] = attrs.field(factory=list)
    mistakes: list[Mistake] = attrs.field(factory=list)

    def walk(self, root: os.stat_result) -> None:
        """Find everything, without recursion: directories may be deep. Raises Refused when there is too much."""
        places = [_Place("", (_identity(root),))]
        left = _MAX_ENTRIES
        while places:
            place = places.pop()
            names = self._names(place, most=left)
            left -= len(names)
            if left < 0:
                shown = display(os.fsencode(self.root))
                reason = f"has too much to look at: more than {_MAX_ENTRIES:,} files and directories are below {shown}"
                raise Refused(Mistake(reason, about="thing"))
            places += filter(None, (self._visit(place, name) for name in names))

    def _names(self, place: _Place, *, most: int) -> list[str]:
        """The names in a directory, of which one more than `most` is enough."""
        try:
            with os.scandir(self.root / place.path) as items:
                return sorted(islice((item.name for item in items if item.name != _GIT), most + 1))
        except OSError as error:
            self._refuse(place.path, f"cannot be read: {error.strerror}")
            return []

    def _visit(self, place: _Place, name: str) -> _Place | None:
        path = f"{place.path}/{name}" if place.path else name
        found = _stat(self.root / path)
        is_directory = found is not None and stat.S_ISDIR(found.st_mode)
        if self.ignored.decide(path, is_directory=is_directory) >= 0:
            return None
        decided = self.included.decide(path, is_directory=is_directory, above=place.decided)
        if is_directory and found is not None:
            return self._enter(path, place, decided, found) if self.included.may_include_below(decided) else None
        if self.included.includes(decided):
            self._take(path, found)
        return None

    def _enter(self, path: str, place: _Place, decided: int, found: os.stat_result) -> _Place | None:
        identity = _identity(found)
        if identity in place.identities:
            self._refuse(path, "is a symbolic link to a directory that it is in")
            return None
        return _Place(path, (*place.identities, identity), decided)

    def _take(self, path: str, found: os.stat_result | None) -> None:
        if found is None:
            self._refuse(path, "is a symbolic link that is broken or cyclic, or it cannot be read")
        elif not stat.S_ISREG(found.st_mode):
            self._refuse(path, "is not a file, a directory or a link to one")
        else:
            self.files.append(path)

    def _refuse(self, path: str, why: str) -> None:
        shown = display(os.fsencode(self.root / path))
        self.mistakes.append(Mistake(f"cannot copy {shown}: it {why}", about="thing"))


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _build(*, path: str, to: str = "", include: tuple[Pattern, ...] = (), ignore: bool = True) -> dict[str, HostFile]:
    root, shown = Path(path), display(os.fsencode(path))
    found = _stat(root)
    if found is None:
        raise Refused(Mistake(f"has nothing to copy: {shown} is not there", about="thing"))
    if not stat.S_ISDIR(found.st_mode):
        raise Refused(Mistake(f"needs a directory, which {shown} is not", about="thing"))
    ignored = tuple(map(Pattern.parse, DEFAULT_DIRECTORY_IGNORES if ignore else ()))
    walk = _Walk(root, Selection(include), Selection(ignored))
    walk.walk(found)
    mistakes = [*walk.mistakes, *filter(None, (_misplaced(to + name) for name in walk.files))]
    if mistakes:
        raise Refused(*mistakes)
    if not walk.files:
        raise Refused(Mistake(f"has nothing to copy: no file of {shown} is included", about="thing"))
    return {to + name: HostFile(f"{path.rstrip('/')}/{name}") for name in sorted(walk.files)}


def _misplaced(destination: str) -> Mistake | None:
    try:
        parse_destination(destination)
    except PathError as error:
        return Mistake(f"cannot copy to {error.path}: it {error.reason}", about="thing")
    return None


def _to(value: object, _site: Site) -> str:
    """Where files go, ready to have their names put behind it."""
    if not is_text(value):
        raise Refused(f"must be a directory of the workspace, or one that begins with ~/ {got(value)}")
    if value in {"", ".", "~/"}:
        return "" if value == "." else value
    try:
        parse_destination(value.removesuffix("/"))
    except PathError as error:
        raise Refused(f"must be a directory of the workspace, or one that begins with ~/: {error}") from error
    return value.removesuffix("/") + "/"


def _include(value: object, _site: Site) -> tuple[Pattern, ...]:
    if not is_list(value):
        raise Refused(f"must be a list of patterns {got(value)}")
    found: list[Pattern] = []
    mistakes: list[Mistake] = []
    for at, pattern in enumerate(value):
        try:
            found.append(Pattern.parse(pattern))
        except Refused as refused:
            mistakes += refused.below(f"[{at}]")
    if mistakes:
        raise Refused(*mistakes)
    return tuple(found)


DIRECTORY: Final[Shape[dict[str, HostFile]]] = Shape(
    called="directory()",
    options={
        "path": Option("path", host_path, required=True),
        "to": Option("to", _to),
        "include": Option("include", _include),
        "ignore": Option("ignore", flag),
    },
    build=_build,
    instead={},
)
