"""Trees that trip up programs which read or write trees, and what becomes of each on every way in and out."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs

from reeval_build.tree.directory import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Shown: TypeAlias = dict[bytes, tuple[Kind, bytes | None]]
Route: TypeAlias = Literal["local directory", "git", "archive", "directory()"]
ROUTES: Final[tuple[Route, ...]] = ("local directory", "git", "archive", "directory()")


class Made(Enum):
    """What an entry is; the last four only the file system or an archive can have."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    HARD_LINK = "hard link"
    FIFO = "fifo"
    SOCKET = "socket"
    DEVICE = "device"


@attrs.frozen
class Thing:
    """An entry of a tree; `data` is what is in a file, or where a link leads."""

    path: bytes
    made: Made = Made.FILE
    data: bytes = b""
    mode: int = 0o644

    @property
    def shown(self) -> tuple[Kind, bytes | None]:
        """What a tree has of it."""
        match self.made:
            case Made.LINK:
                return Kind.SYMLINK, self.data
            case Made.DIRECTORY:
                return Kind.DIRECTORY, None
            case _:
                return (Kind.EXECUTABLE if self.mode & stat.S_IXUSR else Kind.FILE), self.data


@attrs.frozen(kw_only=True)
class Refusal:
    """That a tree is refused: the path which is named, and how the reason begins or what it has in it."""

    path: bytes
    reason: str


@attrs.frozen(kw_only=True)
class HostileTree:
    """A tree, and what becomes of it by each route: `Refusal`, what is read, or None for what cannot be said there.

    `otherwise` is for routes on which it is something else than `outcome`, which by default is that all is kept.
    """

    name: str
    things: tuple[Thing, ...]
    outcome: Refusal | None = None
    otherwise: dict[Route, Refusal | Shown | None] = attrs.field(factory=dict)
    needs_root: bool = False
    is_read_by_another: bool = False
    refused_on_writing: Refusal | None = None

    def expected(self, route: Route) -> Refusal | Shown | None:
        """What becomes of it."""
        if route in self.otherwise:
            return self.otherwise[route]
        return kept(*self.things) if self.outcome is None else self.outcome


def kept(*things: Thing) -> Shown:
    """A tree that is just these, with the directories they are in."""
    files = {thing.path: thing.data for thing in things}
    shown: Shown = {}
    for thing in things:
        parts = thing.path.split(b"/")
        for depth in range(1, len(parts)):
            shown[b"/".join(parts[:depth])] = Kind.DIRECTORY, None
        kind, data = thing.shown
        shown[thing.path] = (kind, files[data]) if thing.made is Made.HARD_LINK and data is not None else (kind, data)
    return shown


def make(tree: HostileTree, directory: Path) -> None:
    """Make a tree in a new directory of the host. Raises OSError when the file system cannot have it."""
    directory.mkdir()
    directory.chmod(_ENTERED)
    for thing in tree.things:
        *above, name = thing.path.split(b"/")
        descriptor = _descend(directory, above)
        try:
            _MAKERS[thing.made](descriptor, name, thing)
        finally:
            os.close(descriptor)


def _descend(directory: Path, names: list[bytes]) -> int:
    """A directory below another one, made if it is not there; its path may be longer than a path can be."""
    descriptor = os.open(directory, os.O_RDONLY)
    for name in names:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=descriptor)
            os.chmod(name, _ENTERED, dir_fd=descriptor)
        below = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    return descriptor


def _file(above: int, name: bytes, thing: Thing) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=above)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(thing.data)
        stream.flush()
        os.fchmod(stream.fileno(), thing.mode)


def _directory(above: int, name: bytes, thing: Thing) -> None:
    os.mkdir(name, dir_fd=above)
    os.chmod(name, thing.mode | (stat.S_IRWXU if thing.mode == _PLAIN else 0), dir_fd=above)


def _socket(above: int, name: bytes, _thing: Thing) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(b"/proc/self/fd/%d/%s" % (above, name))


_PLAIN: Final = 0o644
_ENTERED: Final = 0o755
_MAKERS: Final[dict[Made, Callable[[int, bytes, Thing], None]]] = {
    Made.FILE: _file,
    Made.DIRECTORY: _directory,
    Made.LINK: lambda above, name, thing: os.symlink(thing.data, name, dir_fd=above),
    Made.HARD_LINK: lambda above, name, thing: os.link(thing.data, name, src_dir_fd=above, dst_dir_fd=above),
    Made.FIFO: lambda above, name, _thing: os.mkfifo(name, dir_fd=above),
    Made.SOCKET: _socket,
    Made.DEVICE: lambda above, name, _thing: os.mknod(name, stat.S_IFCHR | 0o600, os.makedev(1, 3), dir_fd=above),
}

_link = partial(Thing, made=Made.LINK)
_NESTED: Final = b"/".join([b"d" * 100] * 254)
_TOO_DEEP: Final = b"/".join([b"d"] * 256)
_LARGE: Final = bytes(range(256)) * 12_345
_NO_LINKS: Final = "is a symbolic link that is broken or cyclic"
_NO_FILE: Final = "is not a file, a directory or a link to one"
_OUT: Final = "is a symbolic link out of its tree"


def _names(*names: bytes) -> tuple[Thing, ...]:
    return tuple(Thing(name, data=b"%d" % at) for at, name in enumerate(names))


TREES: Final = (
    HostileTree(
        name="a link inside",
        things=(Thing(b"a/f", data=b"1"), _link(b"a/to", data=b"f"), _link(b"b", data=b"a/to")),
        otherwise={
            "directory()": kept(Thing(b"a/f", data=b"1"), Thing(b"a/to", data=b"1"), Thing(b"b", data=b"1")),
        },
    ),
    HostileTree(
        name="a link to a directory",
        things=(Thing(b"d/f", data=b"1"), _link(b"to", data=b"d")),
        otherwise={"directory()": kept(Thing(b"d/f", data=b"1"), Thing(b"to/f", data=b"1"))},
    ),
    HostileTree(
        name="a link to itself, and two to each other",
        things=(_link(b"loop", data=b"loop"), _link(b"x", data=b"y"), _link(b"y", data=b"x")),
        otherwise={"directory()": Refusal(path=b"loop", reason=_NO_LINKS)},
    ),
    HostileTree(
        name="a link to the directory it is in",
        things=(Thing(b"d/f", data=b"1"), _link(b"d/up", data=b"../d")),
        otherwise={"directory()": Refusal(path=b"d/up", reason="is a symbolic link to a directory that it is in")},
    ),
    HostileTree(
        name="a link to nothing",
        things=(Thing(b"f", data=b"1"), _link(b"to", data=b"nowhere/at all")),
        otherwise={"directory()": Refusal(path=b"to", reason=_NO_LINKS)},
    ),
    HostileTree(
        name="an absolute link",
        things=(_link(b"d/to", data=b"/etc/hostname"),),
        outcome=Refusal(path=b"d/to", reason=f"{_OUT}, to '/etc/hostname'"),
        # Follows links, as reeval does, and reads what is there.
        otherwise={"directory()": None},
    ),
    HostileTree(
        name="a link out of the tree",
        things=(_link(b"d/to", data=b"../../nowhere"),),
        outcome=Refusal(path=b"d/to", reason=f"{_OUT}, to '../../nowhere'"),
        otherwise={"directory()": Refusal(path=b"d/to", reason=_NO_LINKS)},
    ),
    HostileTree(
        name="a link that goes up through a link",
        things=(Thing(b"a/b/f", data=b"1"), _link(b"l", data=b"a/b"), _link(b"to", data=b"l/../../x")),
        outcome=Refusal(path=b"to", reason='is a symbolic link with ".." behind a name'),
        otherwise={"directory()": Refusal(path=b"to", reason=_NO_LINKS)},
    ),
    HostileTree(
        name="a fifo",
        things=(Thing(b"d/pipe", Made.FIFO),),
        outcome=Refusal(path=b"d/pipe", reason="is a fifo"),
        otherwise={"git": None, "directory()": Refusal(path=b"d/pipe", reason=_NO_FILE)},
    ),
    HostileTree(
        name="a socket",
        things=(Thing(b"d/socket", Made.SOCKET),),
        outcome=Refusal(path=b"d/socket", reason="is a socket"),
        otherwise={"git": None, "archive": None, "directory()": Refusal(path=b"d/socket", reason=_NO_FILE)},
    ),
    HostileTree(
        name="a device",
        things=(Thing(b"d/null", Made.DEVICE),),
        outcome=Refusal(path=b"d/null", reason="is a device"),
        otherwise={"git": None, "directory()": Refusal(path=b"d/null", reason=_NO_FILE)},
        needs_root=True,
    ),
    HostileTree(
        name="hard links",
        things=(Thing(b"a", data=b"same"), Thing(b"b", Made.HARD_LINK, b"a")),
        otherwise={"git": None},
    ),
    HostileTree(
        name="a setuid file",
        things=(Thing(b"d/su", data=b"1", mode=0o4755),),
        outcome=Refusal(path=b"d/su", reason="runs with the rights of its owner or group"),
        otherwise={
            # git has no such bit, and an archive's is left out, as npm leaves it out.
            "git": None,
            "archive": kept(Thing(b"d/su", data=b"1", mode=0o755)),
            "directory()": kept(Thing(b"d/su", data=b"1", mode=0o755)),
        },
    ),
    HostileTree(
        name="a setgid file",
        things=(Thing(b"d/sg", data=b"1", mode=0o2755),),
        outcome=Refusal(path=b"d/sg", reason="runs with the rights of its owner or group"),
        otherwise={
            "git": None,
            "archive": kept(Thing(b"d/sg", data=b"1", mode=0o755)),
            "directory()": kept(Thing(b"d/sg", data=b"1", mode=0o755)),
        },
    ),
    HostileTree(
        name="sticky and setgid directories, and a sticky file",
        things=(
            Thing(b"s", Made.DIRECTORY, mode=0o1777),
            Thing(b"g", Made.DIRECTORY, mode=0o2755),
            Thing(b"s/f", data=b"1", mode=0o1644),
        ),
        otherwise={"git": None, "directory()": kept(Thing(b"s/f", data=b"1"))},
    ),
    HostileTree(
        name="names that are not UTF-8",
        things=_names(b"caf\xe9", b"\xff\xfe", b"\x80d/f"),
        otherwise={"directory()": Refusal(path=b"\x80d/f", reason="is not valid Unicode text")},
    ),
    HostileTree(
        name="names with newlines, tabs, quotes and control characters",
        things=_names(b"a\nb", b"a\tb", b'"a" b', b"'a'", b"\x01\x1b[31m", b"\r", b" ", b"$(x)`y`", b"*", b"a\nd/f"),
    ),
    HostileTree(
        name="names that begin with a dash or a dot",
        things=_names(b"-rf", b"--help", b".hidden", b"...", b"..a", b".gitignore", b".git-not", b"~", b"~root"),
        otherwise={"directory()": Refusal(path=b"~", reason='starts with "~" but not with "~/"')},
    ),
    HostileTree(
        name="a name with a backslash",
        things=_names(b"a\\b", b"c:\\d"),
        otherwise={"directory()": Refusal(path=b"a\\b", reason="has a backslash")},
    ),
    HostileTree(name="names composed and decomposed", things=_names("\u00e9".encode(), "e\u0301".encode())),
    HostileTree(name="names in other cases", things=_names(b"README", b"Readme", b"d/x", b"D/x", "\u0130".encode())),
    HostileTree(
        name="empty directories",
        things=(Thing(b"a/b", Made.DIRECTORY), Thing(b"c", Made.DIRECTORY), Thing(b"f", data=b"1")),
        otherwise={"git": None, "directory()": kept(Thing(b"f", data=b"1"))},
    ),
    HostileTree(name="names of 255 bytes", things=_names(b"n" * 255, b"d" * 255 + b"/" + b"e" * 255)),
    HostileTree(
        name="a path that is longer than a path can be",
        things=(Thing(_NESTED + b"/f", data=b"1"),),
        otherwise={"directory()": Refusal(path=b"d" * 100, reason="cannot be read")},
        refused_on_writing=Refusal(path=b"d" * 50, reason="too long"),
    ),
    HostileTree(
        name="256 directories, each in the one before",
        things=(Thing(_TOO_DEEP + b"/f", data=b"1"),),
        outcome=Refusal(path=_TOO_DEEP, reason="255 directories deep"),
        otherwise={
            "archive": Refusal(path=_TOO_DEEP + b"/f", reason="255 directories deep"),
            "directory()": kept(Thing(_TOO_DEEP + b"/f", data=b"1")),
        },
    ),
    HostileTree(
        name="files of no byte, one, and more than any buffer",
        things=(Thing(b"empty"), Thing(b"one", data=b"\0"), Thing(b"large", data=_LARGE), Thing(b"x", mode=0o755)),
    ),
    HostileTree(
        name="names that image layers use",
        things=_names(b"d/.wh.f", b"d/.wh..wh..opq"),
        outcome=Refusal(path=b"d/.wh..wh..opq", reason='starts with ".wh."'),
        otherwise={"archive": Refusal(path=b"d/.wh.f", reason='starts with ".wh."')},
    ),
    HostileTree(
        name="a file that may not be read",
        things=(Thing(b"d/secret", data=b"1", mode=0),),
        outcome=Refusal(path=b"d/secret", reason="cannot be read: permission denied"),
        otherwise={"git": None, "archive": None},
        is_read_by_another=True,
    ),
    HostileTree(
        name="a directory that may not be entered",
        things=(Thing(b"d/closed", Made.DIRECTORY, mode=0),),
        outcome=Refusal(path=b"d/closed", reason="cannot be read: permission denied"),
        otherwise={
            "git": None,
            "archive": None,
            "directory()": Refusal(path=b"d/closed", reason="cannot be read: Permission denied"),
        },
        is_read_by_another=True,
    ),
)
"""What is tried. `tests/sources/test_hostile_trees.py` reads each by every route, and writes what was read."""
