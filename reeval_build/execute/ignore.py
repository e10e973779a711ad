"""Which paths of a workspace its own .gitignore files leave out."""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import TYPE_CHECKING, Final

from reeval_build.digest import BLOB
from reeval_build.errors import InfraError
from reeval_build.tree.directory import Kind
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.paths import Parts
    from reeval_build.ports.objects import Objects
    from reeval_build.tree.directory import Loader

_IGNORE_FILE: Final = b".gitignore"
_ANSWERED: Final = (0, 1)


def ignored(paths: Iterable[Parts], workspace: Digest, load: Loader, objects: Objects, *, scratch: Path) -> set[Parts]:
    """Those of `paths` that the `.gitignore` files of the tree `workspace` leave out, by git's own judgement.

    git is asked in a directory below `scratch` that has nothing but those files, with no configuration of the
    machine or the user.

    Raises:
        InfraError: when git is not there or does not answer.
    """
    # git takes a path for a pattern when it begins with a colon: "./" before it makes it a path and nothing else.
    asked = {b"./" + b"/".join(parts): parts for parts in paths}
    if not asked:
        return set()
    directories = {parts[:count] for parts in asked.values() for count in range(len(parts))}
    with tempfile.TemporaryDirectory(prefix="ignore-", dir=scratch) as root:
        tree = Draft(load, workspace)
        for above in directories:
            entry = tree.get((*above, _IGNORE_FILE))
            if entry is not None and entry.kind in {Kind.FILE, Kind.EXECUTABLE}:
                _write(root, above, objects.read(BLOB, entry.content))
        _git(root, ["init", "--quiet", "--template="], b"")
        answer = _git(root, ["check-ignore", "--no-index", "--stdin", "-z"], b"\0".join(asked))
    return {asked[path] for path in answer.split(b"\0") if path in asked}


def _write(root: str, above: Parts, content: bytes) -> None:
    directory = b"/".join((os.fsencode(root), *above))
    os.makedirs(directory, exist_ok=True)
    with open(directory + b"/" + _IGNORE_FILE, "xb") as file:
        file.write(content)


def _git(root: str, arguments: list[str], standard_input: bytes) -> bytes:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": root}
    try:
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", "-c", f"core.excludesFile={os.devnull}", "-C", root, *arguments],
            input=standard_input,
            capture_output=True,
            env=env,
            check=False,
        )
    except OSError as error:
        raise InfraError(f"git cannot be run to read .gitignore files: {error.strerror}", hint="install git") from error
    if done.returncode not in _ANSWERED:
        raise InfraError(
            f"git cannot read the workspace's .gitignore files: {done.stderr.decode(errors='replace').strip()}"
        )
    return done.stdout
