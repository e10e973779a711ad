"""What does it cost to know which files are in a large directory of the host?"""

from __future__ import annotations

import os
import random
import shutil
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from installed import Installation, clean_environment
from measuring import Command, Comparison, take_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DIRECTORIES = 400
_FILES_EACH = 50
_FILE_BYTES = (200, 8000)
_COLD = "tree id of 20,000 small files, cold stat cache"
_KEPT = "20,000 small files into a new store"
_NOTHING_CHANGED = "nothing of 20,000 small files changed"
_ONE_CHANGED = "one of 20,000 small files changed"
_GOAL_RATIOS = {_COLD: 2, _KEPT: 0.15, _NOTHING_CHANGED: 3, _ONE_CHANGED: 1.1}
# Younger files are read each time.
_SETTLES_AFTER_S = 2.5


def write_small_files(directory: Path, chosen: random.Random) -> None:
    """A skill of 20,000 files of a few kilobytes, in 421 directories."""
    for number in range(_DIRECTORIES):
        below = directory / f"d{number % 20}" / f"e{number}"
        below.mkdir(parents=True)
        for name in range(_FILES_EACH):
            (below / f"{name}.txt").write_bytes(chosen.randbytes(chosen.randint(*_FILE_BYTES)))
    (directory / "SKILL.md").write_text("---\ndescription: Has many files.\n---\n")


# What no program of this kind in Python can do without: the interpreter, click, and one look at each file.
_FLOOR = """\
import os, sys, click
pending = [sys.argv[1]]
while pending:
    path = pending.pop()
    above = os.open(path, os.O_RDONLY)
    with os.scandir(above) as items:
        for item in items:
            if not item.is_dir(follow_symlinks=False):
                item.stat(follow_symlinks=False)
            elif item.name != ".git":
                pending.append(f"{path}/{item.name}")
    os.close(above)
"""


@attrs.frozen
class Skill:
    """A skill of 20,000 small files, which is a git repository too, and a store that has it."""

    installation: Installation
    directory: Path

    @property
    def files(self) -> Path:
        """Where the files are."""
        return self.directory / "skill"

    def make(self) -> Skill:
        """Write the files, and build once they are old enough to be remembered."""
        write_small_files(self.files, random.Random(1))  # noqa: S311 - bytes that are the same each time
        (self.directory / "environments.py").write_text(
            "from reeval_build import define_environment, fake_sandbox, skill\n\n"
            'base = define_environment("base", {"sandbox": fake_sandbox(), "skills": [skill.local("./skill")]})\n'
        )
        for arguments in (["init", "--quiet"], ["add", "--all"]):
            Command(["git", *arguments], self.files, self._environment(self.directory / "store")).run()
        time.sleep(_SETTLES_AFTER_S)
        self.graph()
        return self

    def graph(self, *options: str, store: str = "store") -> str:
        """Plan, which identifies the skill, and keeps it when the store does not have it."""
        command = [self.installation.program, "graph", "environments.py", *options]
        return Command(command, self.directory, self._environment(self.directory / store)).run()

    def edit(self, text: str) -> str:
        """Change one file, and plan."""
        (self.files / "d7/e7/7.txt").write_text(text)
        return self.graph()

    def b3sum(self) -> str:
        """Hash every file, each by itself."""
        script = 'find "$1" -path "*/.git" -prune -o -type f -print0 | xargs -0 b3sum'
        return Command(["sh", "-c", script, "sh", str(self.files)], self.directory, clean_environment()).run()

    def git_status(self) -> str:
        """Have git look for changes."""
        return Command(["git", "status", "--porcelain"], self.files, clean_environment()).run()

    def look(self) -> str:
        """Start, and look at every file once: the floor."""
        command = [self.installation.python, "-c", _FLOOR, str(self.files)]
        return Command(command, self.directory, clean_environment()).run()

    def importing(self) -> Command:
        """Import what a plan does: what no quicker way of looking at files can save."""
        env = self._environment(self.directory / "store")
        return Command(
            self.installation.importing(["graph", "environments.py"], self.directory, env), self.directory, env
        )

    def git_tree(self, repository: str) -> str:
        """Keep every file in a fresh repository, and name the tree."""
        env = clean_environment() | {"GIT_DIR": str(self.directory / repository), "GIT_WORK_TREE": str(self.files)}
        script = "git init --quiet && git add --all && git write-tree"
        return Command(["sh", "-c", script], self.files, env).run()

    def _environment(self, store: Path) -> dict[str, str]:
        return {**clean_environment(), "REEVAL_BUILD_HOME": str(store)}


def compare(installation: Installation, directory: Path, *, rounds: int) -> Iterator[Comparison]:
    """Whole processes each: all is read, kept, known, or one file of all is read."""
    skill = Skill(installation, directory / "freshness").make()
    (directory / "edited").mkdir()
    edited = Skill(installation, directory / "edited").make()
    numbers = count()
    hashing: dict[str, Callable[[], object]] = {"graph --rehash": lambda: skill.graph("--rehash")}
    if shutil.which("b3sum", path=os.environ["PATH"]):
        hashing["b3sum"] = skill.b3sum
    questions: dict[str, dict[str, Callable[[], object]]] = {
        _COLD: hashing,
        _KEPT: {
            "graph": lambda: skill.graph(store=f"store-{next(numbers)}"),
            "git add, git write-tree": lambda: skill.git_tree(f"repository-{next(numbers)}"),
        },
        _NOTHING_CHANGED: {
            "graph": skill.graph,
            "git status": skill.git_status,
            "a look at each": skill.look,
            "its modules": skill.importing().run,
        },
        _ONE_CHANGED: {
            "graph, one changed": lambda: edited.edit(f"{next(numbers)}"),
            "graph, nothing changed": skill.graph,
        },
    }
    for question, things in questions.items():
        # What makes 20,000 files is repeated less often.
        ours, *peers = take_turns(things, rounds=min(rounds, 5) if "into" in question else rounds)
        yield Comparison(question=question, ours=ours, peers=peers, goal_ratio=_GOAL_RATIOS[question])
