"""Turns an archive of a package into a tree: every name, link and kind checked, nothing written anywhere else."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from reeval_build.digest import BLOB, TREE
from reeval_build.errors import InfraError
from reeval_build.paths import PathError, check_link, display, split
from reeval_build.sources.archive_members import Member, MemberKind, TarError, TooMuchError, members
from reeval_build.sources.limits import GENEROUS, MAX_DEPTH, Limits
from reeval_build.tree.directory import Entry, Kind, encode
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO, NoReturn

    from reeval_build.digest import Digest
    from reeval_build.paths import Parts
    from reeval_build.ports.objects import Batch

MAX_ARCHIVE_BYTES: Final = 1024**3
"""How large an archive itself may be."""

_SMALL_BYTES: Final = 1024 * 1024


class ArchiveError(InfraError):
    """An archive cannot be used. `archive` is what messages call it."""

    def __init__(self, archive: str, problem: str, *, hint: str) -> None:
        super().__init__(f"{archive} {problem}", hint=hint)
        self.archive, self.problem = archive, problem


class MalformedArchiveError(ArchiveError):
    """An archive is no archive, or not a whole one."""

    def __init__(self, archive: str, reason: str) -> None:
        super().__init__(archive, f"has an archive that {reason}", hint="make or publish it again")
        self.reason = reason


class HugeArchiveError(ArchiveError):
    """An archive has more in it than anything that is meant to be used."""

    def __init__(self, archive: str, reason: str) -> None:
        super().__init__(archive, f"has an archive that {reason}", hint="publish only what is needed of it")
        self.reason = reason


class RefusedMemberError(ArchiveError):
    """An archive has a member that must not be placed."""

    def __init__(self, archive: str, path: bytes, reason: str) -> None:
        super().__init__(
            archive, f'has "{display(path)}" in its archive, which {reason}', hint="take it out of the package"
        )
        self.path, self.reason = path, reason


def check_size(archive: BinaryIO, *, name: str) -> None:
    """Raise HugeArchiveError for an archive that is itself too large to be looked at."""
    if archive.seek(0, os.SEEK_END) > MAX_ARCHIVE_BYTES:
        raise HugeArchiveError(name, f"has more than {MAX_ARCHIVE_BYTES // 1024**3} GiB")
    archive.seek(0)


def read_archive(archive: BinaryIO, batch: Batch, *, name: str, limits: Limits = GENEROUS) -> Digest:
    """The files of an archive as a tree whose objects are added to `batch`.

    The first directory of each path is left out, whatever it is called, as npm does. Of two files of one path the
    last counts, as in every program that unpacks. A hard link becomes a file of its own. A symbolic link is kept when
    it stays in the tree. Of the permissions only the owner's right to execute counts.

    Args:
        archive: a seekable stream of a tar, gzip'd or plain.
        batch: takes the objects of the tree.
        name: what messages call the archive.
        limits: how much may be in it.

    Raises:
        MalformedArchiveError: when it cannot be read to its end.
        HugeArchiveError: when there is too much in it.
        RefusedMemberError: naming the path of a member that must not be placed.
    """
    draft = Draft(_load_nothing)
    with _explained(name):
        for parts, member, content in _placed(archive, limits):
            try:
                _put(draft, parts, member, content, batch)
            except PathError as error:
                raise TarError(error.reason, path=member.path) from error
    return draft.save(lambda entries: batch.add(TREE, encode(entries)))


def find_file(archive: BinaryIO, parts: Parts, *, name: str, limit: int) -> bytes | None:
    """The bytes of the file that would be at `parts`, or None when there is none of at most `limit` bytes.

    Raises:
        ArchiveError: as `read_archive` does for the names of members.
    """
    found = None
    with _explained(name):
        for at, member, content in _placed(archive, GENEROUS):
            if at == parts:
                found = content.read() if member.kind is MemberKind.FILE and member.size <= limit else None
    return found


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except TooMuchError as error:
        raise HugeArchiveError(name, error.reason) from error
    except TarError as error:
        if error.path is None:
            raise MalformedArchiveError(name, error.reason) from error
        raise RefusedMemberError(name, error.path, error.reason) from error


def _placed(archive: BinaryIO, limits: Limits) -> Iterator[tuple[Parts, Member, BinaryIO]]:
    """Every member of an archive with where it goes, but for the first directory itself and files beside it."""
    for member, content in members(archive, limits):
        path = member.path.removesuffix(b"/") if member.kind is MemberKind.DIRECTORY else member.path
        try:
            parts = _without_first(path)
        except PathError as error:
            raise TarError(error.reason, path=member.path) from error
        if parts:
            yield parts, member, content


def _without_first(path: bytes) -> Parts:
    if path == b".":
        return ()
    parts = split(path[2:]) if path.startswith(b"./") else split(path)[1:]
    if len(parts) > MAX_DEPTH:
        raise PathError(path, f"is more than {MAX_DEPTH} directories deep")
    return parts


def _put(draft: Draft, parts: Parts, member: Member, content: BinaryIO, batch: Batch) -> None:
    if member.kind is MemberKind.DIRECTORY:
        draft.make_directory(parts)
    elif member.kind is MemberKind.FILE:
        digest, size = _add(content, member.size, batch)
        draft.put(parts, Entry.file(digest, size, executable=member.executable))
    elif member.kind is MemberKind.SYMLINK:
        draft.put(parts, Entry.symlink(check_link(parts, member.target)))
    elif member.kind is MemberKind.HARD_LINK:
        draft.put(parts, _linked(draft, parts, member))
    else:
        raise PathError(member.path, f"is a {member.kind.value}")


def _add(content: BinaryIO, size: int, batch: Batch) -> tuple[Digest, int]:
    return batch.add_stream(BLOB, content) if size > _SMALL_BYTES else (batch.add(BLOB, content.read()), size)


def _linked(draft: Draft, parts: Parts, member: Member) -> Entry:
    """What a hard link stands for, which must be before it in the archive."""
    shown = display(member.target)
    try:
        target = _without_first(member.target)
    except PathError as error:
        raise PathError(member.path, f"is a hard link to '{shown}', which {error.reason}") from error
    entry = draft.get(target) if target else None
    if entry is None or entry.kind is Kind.DIRECTORY:
        raise PathError(member.path, f"is a hard link to '{shown}', which is no file before it in the archive")
    if entry.target is not None:
        check_link(parts, entry.target)
    return entry


def _load_nothing(digest: Digest, /) -> NoReturn:
    raise AssertionError(f"a tree that begins empty has nothing to load, and not {digest}")
