"""What does it cost to get room back from a large store, and how long do builds wait meanwhile?"""

from __future__ import annotations

import random
import subprocess
import threading
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from installed import Installation, clean_environment
from measuring import Command, Comparison, Times, seconds_of, take_turns

from reeval_build.digest import BLOB, Digest
from reeval_build.plan.outputs import TreeOutput
from reeval_build.ports.records import Record
from reeval_build.sources.freshness import Freshness
from reeval_build.sources.local_trees import LocalDirectories
from reeval_build.stores.local import LocalStore

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIRECTORIES, _FILES_EACH, _TREES = 5000, 20, 100
_FILE_BYTES = (100, 900)


@attrs.frozen
class Kept:
    """100,000 files, as results in a store and as a commit of a git repository."""

    installation: Installation
    directory: Path

    def make(self) -> Kept:
        """Write the files, and keep them in both."""
        files = self.directory / "files"
        chosen = random.Random(1)  # noqa: S311 - bytes that are the same each time
        for number in range(_DIRECTORIES):
            below = files / f"t{number % _TREES}" / f"d{number}"
            below.mkdir(parents=True)
            for name in range(_FILES_EACH):
                (below / f"{name}.txt").write_bytes(chosen.randbytes(chosen.randint(*_FILE_BYTES)))
        with LocalStore(self.directory / "store") as store:
            for number in range(_TREES):
                _keep(store, files / f"t{number}", BLOB.digest(b"%d" % number))
        # What is larger than this goes into a pack at once, as it is in a repository that was cleaned up.
        self._commit("packed.git", "-c", "core.bigFileThreshold=1")
        self._git("--git-dir", "packed.git", "gc", "--quiet")
        # As git leaves what was added and is in no branch any more.
        self._commit("loose.git")
        for arguments in (["update-ref", "-d", "HEAD"], ["reflog", "expire", "--expire=now", "--all"]):
            self._git("--git-dir", "loose.git", *arguments)
        (self.directory / "loose.git" / "index").unlink()
        return self

    def gc(self, store: str, *options: str) -> str:
        """Collect."""
        command = [self.installation.program, "cache", "gc", "--store", str(self.directory / store), *options]
        return Command(command, self.directory, clean_environment()).run()

    def walk(self) -> str:
        """Have git find everything that a reference leads to, which is most of what there is to look through."""
        return self._git("--git-dir", "packed.git", "rev-list", "--objects", "--all", "--quiet")

    def prune(self, repository: str) -> str:
        """Have git remove what no reference leads to."""
        return self._git("--git-dir", repository, "prune", "--expire=now")

    def copies(self, name: str, many: int) -> Iterator[str]:
        """The names of copies, which are there before the first is used."""
        made = [f"{number}-{name}" for number in range(many)]
        for copy in made:
            subprocess.run(["cp", "-a", self.directory / name, self.directory / copy], check=True)
        return iter(made)

    def _commit(self, repository: str, *options: str) -> None:
        self._git("init", "--quiet", "--bare", repository)
        place = ("--git-dir", repository, "--work-tree", "files", *options)
        self._git(*place, "add", "--all")
        self._git(*place, *_SOMEBODY, "commit", "--quiet", "--message", "all")

    def _git(self, *arguments: str) -> str:
        return Command(["git", *arguments], self.directory, clean_environment()).run()


_SOMEBODY = ("-c", "gc.auto=0", "-c", "user.name=Somebody", "-c", "user.email=somebody@example.com")


def compare(installation: Installation, directory: Path, *, rounds: int) -> Iterator[Comparison]:
    """Look for what can go where nothing can, remove everything, and how long others wait for that."""
    kept = Kept(installation, directory / "collecting").make()
    ours, peer = take_turns({"cache gc": lambda: kept.gc("store"), "git rev-list, packed": kept.walk}, rounds=rounds)
    yield Comparison(question="look through 100,000 files, all of them needed", ours=ours, peers=[peer])

    stores = kept.copies("store", 2 * rounds)
    removing = [seconds_of(lambda: kept.gc(next(stores), "--budget", "0")) for _ in range(rounds)]
    # Once, for making 100,000 files again takes longer than all else here.
    pruning = [seconds_of(lambda: kept.prune("loose.git"))]
    yield Comparison(
        question="remove 100,000 files",
        ours=Times("cache gc --budget 0", removing),
        peers=[Times("git prune, loose", pruning)],
    )
    waits, whole = zip(*(_longest_wait(kept, next(stores)) for _ in range(rounds)), strict=True)
    yield Comparison(
        question="wait of a build while 100,000 files are removed",
        ours=Times("the longest look-up", waits),
        peers=[Times("cache gc --budget 0", whole)],
    )


def _longest_wait(kept: Kept, name: str) -> tuple[float, float]:
    """How long the slowest look-up of a record took while all were removed, and how long that took."""
    ended, keys = threading.Event(), count()
    longest = 0.0
    with LocalStore(kept.directory / name) as store:
        collecting = threading.Thread(target=lambda: (kept.gc(name, "--budget", "0"), ended.set()))
        began = time.perf_counter()
        collecting.start()
        while not ended.is_set():
            longest = max(longest, seconds_of(lambda: store.records.find(BLOB.digest(b"absent %d" % next(keys)))))
            time.sleep(0.001)
        collecting.join()
        return longest, time.perf_counter() - began


def _keep(store: LocalStore, directory: Path, key: Digest) -> None:
    with store.objects.batch() as batch:
        tree = LocalDirectories(store.objects, Freshness(store.stats)).read(str(directory), batch)
    output = TreeOutput(workspace=tree)
    store.records.publish(Record(key=key, phase="workspace", output=output, material=b"", seconds=1.0), recipe=key)
