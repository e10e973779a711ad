"""Directories with definition files and real git repositories, as a user has them."""

from __future__ import annotations

import os
import subprocess
import time
from textwrap import dedent
from typing import TYPE_CHECKING, Final

from reeval_build.sources.freshness import SETTLED_AFTER_NS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_IMPORTS: Final = (
    "from reeval_build import define_environment, docker, fake_sandbox, file, git, mcp, plugin, secret, skill\n"
)
_NO_CONFIGURATION: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_SOMEBODY: Final = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in {"NAME": "Somebody", "EMAIL": "somebody@example.com", "DATE": "1700000000 +0000"}.items()
}


class Project:
    """A directory of a user's."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def write(self, path: str, content: str | bytes, *, executable: bool = False) -> Path:
        """A file with this content, in directories that are made when they are not there."""
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
        if executable:
            file.chmod(0o755)
        return file

    def define(self, text: str, *, path: str = "env.py") -> Path:
        """A definition file: `text` after the imports that every one needs."""
        return self.write(path, _IMPORTS + dedent(text))

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace the one occurrence of `old` in a file."""
        file = self.directory / path
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} is not in {path} exactly once"
        file.write_text(text.replace(old, new), encoding="utf-8")

    def settle(self) -> None:
        """Wait until everything that is there was there long enough to be known when it is read."""
        newest = max(path.stat().st_ctime_ns for path in self.directory.rglob("*"))
        time.sleep(max(0, (newest + SETTLED_AFTER_NS + 10**8 - time.time_ns()) / 1e9))

    def repository(self, name: str, files: Mapping[str, str | bytes]) -> Repository:
        """A git repository at `name` with one commit of `files`."""
        made = Repository(self.directory / name)
        made.git("init", "--quiet", "--initial-branch=main")
        made.commit(files)
        return made


class Repository(Project):
    """A git repository; names of its files may be any bytes, decoded as the file system's are."""

    def git(self, *arguments: str) -> str:
        """What git prints, run in the repository without anybody's configuration."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.directory,
            env={"PATH": os.environ["PATH"], **_NO_CONFIGURATION, **_SOMEBODY},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commit(self, files: Mapping[str, str | bytes] | None = None) -> str:
        """The id of a commit of everything that is there after `files` were written, ignored or not."""
        for path, content in (files or {}).items():
            self.write(path, content)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a commit")
        return self.git("rev-parse", "HEAD").strip()


def listing(directory: Path) -> list[str]:
    """Every path below a directory, sorted; nothing for a directory that is not there."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))
