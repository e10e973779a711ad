"""Makes git repositories with the git command, also ones that git would rather not make."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_IDENTITY: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "a"), ("EMAIL", "a@example.org"), ("DATE", "@1700000000 +0100"))
}
ISOLATED: Final = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    **_IDENTITY,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
}


def run_git(directory: Path, *arguments: str, given: bytes = b"") -> bytes:
    """What git prints, or the test fails with what it complains about."""
    command = ["git", "-C", str(directory), *arguments]
    done = subprocess.run(command, input=given, env=ISOLATED, capture_output=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr.decode()}"
    return done.stdout


class Repository:
    """A repository with a working tree."""

    def __init__(self, path: Path, *options: str) -> None:
        path.mkdir(parents=True)
        self.path = path
        self.git("init", "--quiet", "--initial-branch=main", *options)

    def git(self, *arguments: str, given: bytes = b"") -> str:
        return run_git(self.path, *arguments, given=given).decode("utf-8", "surrogateescape").strip()

    def write(self, name: str, data: bytes = b"", *, executable: bool = False) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if executable else 0o644)

    def link(self, name: str, target: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def commit(self, message: str = "work") -> str:
        """Commit what is in the working tree, and return the commit's id."""
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def commit_files(self, files: dict[str, bytes], message: str = "work") -> str:
        """Commit these files and no others."""
        self.git("rm", "-r", "--quiet", "--force", "--ignore-unmatch", ".")
        for name, data in files.items():
            self.write(name, data)
        return self.commit(message)

    def make_object(self, kind: str, data: bytes) -> str:
        """Write an object that git does not check."""
        return self.git("hash-object", "-w", "--literally", "-t", kind, "--stdin", given=data)

    def make_tree(self, *entries: tuple[str, bytes, str]) -> str:
        """Write a tree of (mode, name, object id) in this very order."""
        return self.make_object(
            "tree", b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(id_) for mode, name, id_ in entries)
        )

    def commit_tree(self, tree: str) -> str:
        """Commit a tree on the branch that HEAD names."""
        made = self.git("commit-tree", "-m", "made", tree)
        self.git("update-ref", "HEAD", made)
        return made
