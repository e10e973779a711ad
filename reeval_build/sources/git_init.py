"""The `.git` of a workspace: one commit of its tree, the same bytes whoever makes it."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Final

from pygit2.enums import ObjectType

from reeval_build.digest import BLOB
from reeval_build.sources.git_pack import PackWriter, object_id_of, staging_index
from reeval_build.sources.git_tree import TreeReader
from reeval_build.tree.directory import EMPTY, Directory, Entry

if TYPE_CHECKING:
    from pathlib import Path

    from reeval_build.ports.objects import Batch
    from reeval_build.sources.git_objects import GitObjects

_CONFIG: Final = b"""\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
"""

_COMMIT: Final = b"""\
tree %s
author reeval <reeval@localhost> 0 +0000
committer reeval <reeval@localhost> 0 +0000

Initial commit
"""


def read_with_git(objects: GitObjects, tree: bytes, batch: Batch, *, scratch: Path) -> Directory:
    """The directory that a git tree is, with a `.git` beside its files. Raises as `TreeReader.read` does."""
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=scratch) as stream:
        pack = PackWriter(stream)
        reader = TreeReader(objects, batch, pack)
        directory = reader.read(tree)
        commit = _COMMIT % tree.hex().encode()
        commit_id = object_id_of(ObjectType.COMMIT, commit)
        pack.add(ObjectType.COMMIT, commit_id, commit)
        checksum, index = pack.finish()
        pack_name = b"pack-" + checksum.hex().encode()
        pack_digest, pack_size = batch.add_stream(BLOB, stream)

    def file(data: bytes) -> Entry:
        return Entry.file(batch.add(BLOB, data), len(data))

    def folder(entries: Directory) -> Entry:
        return Entry.directory(reader.keep(entries))

    packs = {pack_name + b".idx": file(index), pack_name + b".pack": Entry.file(pack_digest, pack_size)}
    heads = {b"main": file(commit_id.hex().encode() + b"\n")}
    git = {
        b"HEAD": file(b"ref: refs/heads/main\n"),
        b"config": file(_CONFIG),
        b"index": file(staging_index(reader.leaves(tree))),
        b"objects": folder({b"info": folder(EMPTY), b"pack": folder(packs)}),
        b"refs": folder({b"heads": folder(heads), b"tags": folder(EMPTY)}),
    }
    return {**directory, b".git": folder(git)}
