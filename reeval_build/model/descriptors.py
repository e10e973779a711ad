"""Reads values of fields: what the helpers return, and the plain dictionaries reeval-python users write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reeval_build.errors import DefinitionError
from reeval_build.model import helpers
from reeval_build.model.shown import is_encodable
from reeval_build.model.spec import DockerSandbox, FakeSandbox, FileContent, GitWorkspace, HostFile, Sandbox

if TYPE_CHECKING:
    from collections.abc import Mapping


def file_content(value: object) -> FileContent | None:
    """Text, `file(path)` or `{"kind": "file", "path": …}`; None for anything else."""
    match value:
        case HostFile():
            return value
        case str():
            return value if is_encodable(value) else None
        case {"kind": "file", "path": str(path), **rest} if not rest:
            return helpers.file(path)
        case _:
            return None


def sandbox(value: object) -> Sandbox | None:
    """`docker(…)`, `fake_sandbox()` or the dictionary of one; None for anything else.

    Raises:
        DefinitionError: for the dictionary of a sandbox with an option that is bad or not supported.
    """
    match value:
        case DockerSandbox() | FakeSandbox():
            return value
        case {"kind": "docker", **rest}:
            options = _options("docker()", rest, {"from": "from_", "image": "image", "install": "install"})
            return helpers.docker(**options)
        case {"kind": "fake", **rest}:
            return helpers.fake_sandbox(**_options("fake_sandbox()", rest, {}))
        case _:
            return None


def workspace(value: object) -> GitWorkspace | None:
    """`git(…)` or the dictionary of one; None for anything else.

    The dictionary's `url` is worked out again from `repo`: it says nothing that `repo` does not.

    Raises:
        DefinitionError: for the dictionary of a workspace with a bad option.
    """
    match value:
        case GitWorkspace():
            return value
        case {"kind": "git", "repo": repo, **rest}:
            names = {name: name for name in ("url", "ref", "path", "init", "token")}
            options = _options("git()", rest, names)
            options.pop("url", None)
            return helpers.git(repo, **options)
        case _:
            return None


def _options(helper: str, written: Mapping[object, object], names: Mapping[str, str]) -> dict[str, Any]:
    """The options of a dictionary by the names the helper has for them; the helper checks the values."""
    unknown = sorted(str(name) for name in written if name not in names)
    if unknown:
        raise DefinitionError(f"{helper} has no option {', '.join(unknown)} in this version of reeval-build")
    return {names[str(name)]: value for name, value in written.items()}
