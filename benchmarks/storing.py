"""What does it cost to hash, to keep and to restore files, in time and in bytes?"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sysconfig
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from freshness import write_small_files
from installed import Installation, clean_environment
from measuring import Command, Comparison, Times, take_turns

from reeval_build.digest import BLOB, Digest
from reeval_build.engines.fake.restore import restore
from reeval_build.sources.freshness import Freshness
from reeval_build.sources.local_trees import LocalDirectories
from reeval_build.state.state import PlacedTree, State
from reeval_build.stores.local import LocalStore
from reeval_build.stores.local.usage import usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator


_GIB = 1024**3
_MIB = 1024**2
_FILES, _FILE_BYTES = 5000, 20_000
_REVISIONS = 50
_CHANGED = 0.01
_NOT_SOURCE = shutil.ignore_patterns("site-packages", "__pycache__", "*.so", "*.a")
_WORKSPACE = (b"workspace",)


@attrs.frozen
class LargeFile:
    """An environment with a file of 1 GiB, and a store that has it."""

    installation: Installation
    directory: Path

    @property
    def path(self) -> Path:
        """The file."""
        return self.directory / "large"

    def make(self) -> LargeFile:
        """Write the file, and plan once, which keeps it."""
        self.directory.mkdir()
        chosen = random.Random(1)  # noqa: S311 - bytes that are the same each time
        with self.path.open("wb") as stream:
            for _ in range(_GIB // _MIB):
                stream.write(chosen.randbytes(_MIB))
        (self.directory / "environments.py").write_text(
            "from reeval_build import define_environment, fake_sandbox, file\n\n"
            'base = define_environment("base", {"sandbox": fake_sandbox(), "files": {"large": file("./large")}})\n'
        )
        self.graph()
        return self

    def graph(self) -> str:
        """Plan, and hash the file."""
        command = [self.installation.program, "graph", "environments.py", "--rehash"]
        env = {**clean_environment(), "REEVAL_BUILD_HOME": str(self.directory / "store")}
        return Command(command, self.directory, env).run()

    def digest(self) -> Digest:
        """Hash the file in this process."""
        with self.path.open("rb") as stream:
            return BLOB.digest_stream(stream)[0]

    def b3sum(self) -> str:
        """Hash the file."""
        return Command(["b3sum", str(self.path)], self.directory, clean_environment()).run()


def compare_large(installation: Installation, directory: Path, *, rounds: int) -> Iterator[Comparison]:
    """Hash a large file, as a whole process and in one."""
    if shutil.which("b3sum", path=os.environ["PATH"]) is None:
        return
    large = LargeFile(installation, directory / "large-file").make()
    for question, name, work in (
        ("hash one 1 GiB file, whole process", "graph --rehash", large.graph),
        ("hash one 1 GiB file", "in a process that runs", large.digest),
    ):
        ours, peer = take_turns({name: work, "b3sum": large.b3sum}, rounds=rounds)
        yield Comparison(question=question, ours=ours, peers=[peer], goal_ratio=1.2)


def compare_restoring(directory: Path, *, rounds: int) -> Iterator[Comparison]:
    """Write a tree of the store into a new directory, and copy the files it was made of."""
    files, out, numbers = directory / "restored-files", directory / "restored", count()
    write_small_files(files, random.Random(1))  # noqa: S311 - bytes that are the same each time
    out.mkdir()
    with LocalStore(directory / "restored-store") as store:
        state = State(BLOB.digest(b""), (PlacedTree(at=_WORKSPACE, tree=_keep(store, files), replaces=False),))

        def write() -> None:
            # What was made is left, for file systems create slowly after much was deleted.
            place = out / f"restored-{next(numbers)}"
            place.mkdir()
            restore(state, bytes(place), [_WORKSPACE], store.objects)

        def copy() -> None:
            subprocess.run(["cp", "-a", files, out / f"copied-{next(numbers)}"], check=True)

        ours, peer = take_turns({"restore": write, "cp -a": copy}, rounds=rounds)
    yield Comparison(question="restore a tree of 20,000 files", ours=ours, peers=[peer], goal_ratio=1.2)


def compare_bytes(directory: Path) -> Iterator[Comparison]:
    """Keep many revisions of a workspace that does not compress, and one of a tree that does."""
    revisions = directory / "revisions"
    chosen = random.Random(1)  # noqa: S311 - bytes that are the same each time
    paths = [revisions / f"d{number % 100}" / f"{number}.bin" for number in range(_FILES)]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(chosen.randbytes(_FILE_BYTES))
    with LocalStore(directory / "revisions-store") as store:
        _keep(store, revisions)
        for _ in range(_REVISIONS - 1):
            for path in chosen.sample(paths, int(_FILES * _CHANGED)):
                path.write_bytes(chosen.randbytes(_FILE_BYTES))
            _keep(store, revisions)
        kept = usage_of(store).bytes
    question = f"{_REVISIONS} revisions of 100 MB that do not compress, 1% of files changed each"
    yield _of_bytes(question, kept, _FILES * _FILE_BYTES, goal_ratio=1.6)

    source = directory / "library"
    shutil.copytree(
        sysconfig.get_path("stdlib"),
        source,
        ignore=shutil.ignore_patterns("site-packages", "__pycache__", "*.so", "*.a"),
    )
    size = sum(path.lstat().st_size for path in source.rglob("*") if not path.is_dir())
    with LocalStore(directory / "library-store") as store:
        _keep(store, source)
        kept = usage_of(store).bytes
    yield _of_bytes("the standard library of Python, kept once", kept, size)


def _of_bytes(question: str, ours: int, one_copy: int, *, goal_ratio: float | None = None) -> Comparison:
    things = [Times("store", [ours]), Times("one copy", [one_copy])]
    return Comparison(question=question, ours=things[0], peers=things[1:], goal_ratio=goal_ratio, unit="bytes")


def _keep(store: LocalStore, directory: Path) -> Digest:
    """The tree of a directory, which is read in whole."""
    with store.objects.batch() as batch:
        return LocalDirectories(store.objects, Freshness(store.stats)).read(str(directory), batch)
