"""What a builder is sent: files of the store, and a Dockerfile beside them."""

from __future__ import annotations

import os
import tarfile
from typing import TYPE_CHECKING, Final

from reeval_build.digest import BLOB, TREE
from reeval_build.engines.docker.layers import written
from reeval_build.state.placed import PLACED_MTIME_S
from reeval_build.state.state import PlacedTree
from reeval_build.tree import directory
from reeval_build.tree.directory import Kind, walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.ports.objects import Objects
    from reeval_build.tree.directory import Directory, Entry, Loader

DOCKERFILE_NAME: Final = ".reeval-build.Dockerfile"
_IGNORE_NAME: Final = ".dockerignore"
_CHUNK_BYTES: Final = 1024 * 1024
_TIMES_NS: Final = (PLACED_MTIME_S * 1_000_000_000,) * 2
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_context(tree: Digest, place: Path, objects: Objects) -> None:
    """Write a tree into a new directory, with fixed modes and times.

    Raises:
        LostObjectError: when the store lacks a piece of it.
        OSError: when it cannot be written.
    """
    root = os.fsencode(place)
    os.mkdir(root, 0o755)
    directories = [root]
    for parts, entry in walk(tree, _loader(objects)):
        path = b"/".join((root, *parts))
        if entry.kind is Kind.DIRECTORY:
            os.mkdir(path)
            directories.append(path)
        elif entry.kind is Kind.SYMLINK:
            assert entry.target is not None, "a symbolic link has a target"
            os.symlink(entry.target, path)
            os.utime(path, ns=_TIMES_NS, follow_symlinks=False)
        else:
            _write_file(path, entry, objects)
    for path in reversed(directories):
        os.chmod(path, 0o755)  # noqa: S103 - as in every image
        os.utime(path, ns=_TIMES_NS)


def _write_file(path: bytes, entry: Entry, objects: Objects) -> None:
    with open(os.open(path, _NEW, 0o600), "wb") as target, objects.open(BLOB, entry.content) as source:
        while chunk := source.read(_CHUNK_BYTES):
            target.write(chunk)
        target.flush()
        os.fchmod(target.fileno(), 0o755 if entry.kind is Kind.EXECUTABLE else 0o644)
        os.utime(target.fileno(), ns=_TIMES_NS)


def context_archive(tree: Digest, dockerfile: bytes, objects: Objects, *, scratch: Path) -> Iterator[bytes]:
    """A tar of a tree for the classic builder, with the Dockerfile in it as `DOCKERFILE_NAME`.

    That builder removes from what it was sent what `.dockerignore` names, when it is its Dockerfile: so it is named
    there, as Docker's own client does for a Dockerfile from elsewhere.
    """
    root = _loader(objects)(tree)
    found = root.get(_IGNORE_NAME.encode())
    ignored = b"" if found is None or found.kind is Kind.SYMLINK else objects.read(BLOB, found.content)
    more = [DOCKERFILE_NAME] if found is not None else [DOCKERFILE_NAME, _IGNORE_NAME]
    ignored += b"".join(f"\n{name}".encode() for name in more) + b"\n"
    with written(PlacedTree(at=(), tree=tree, replaces=False), objects, scratch=scratch) as layer:
        left = layer.size - 2 * tarfile.BLOCKSIZE
        for chunk in layer.chunks():
            yield chunk[:left]
            left -= len(chunk[:left])
    yield _member(DOCKERFILE_NAME, dockerfile) + _member(_IGNORE_NAME, ignored) + bytes(2 * tarfile.BLOCKSIZE)


def _member(name: str, data: bytes) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mtime = len(data), PLACED_MTIME_S
    return info.tobuf() + data + bytes(-len(data) % tarfile.BLOCKSIZE)


def _loader(objects: Objects) -> Loader:
    def load(digest: Digest) -> Directory:
        return directory.decode(objects.read(TREE, digest))

    return load
