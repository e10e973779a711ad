"""Reads values of fields: what the helpers return, and the plain dictionaries reeval-python users write."""

from __future__ import annotations

from collections.abc import Mapping

from reeval_build.errors import DefinitionError
from reeval_build.model import helpers
from reeval_build.model.shown import is_encodable
from reeval_build.model.spec import DockerSandbox, FakeSandbox, FileContent, GitWorkspace, HostFile, Sandbox


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
            _refuse_unknown("docker()", rest, {"from", "image", "install"})
            return helpers.docker(from_=rest.get("from"), image=rest.get("image"), install=rest.get("install", ()))
        case {"kind": "fake", **rest}:
            _refuse_unknown("fake_sandbox()", rest, set())
            return FakeSandbox()
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
            _refuse_unknown("git()", rest, {"url", "ref", "path", "init", "token"})
            options = {name: rest[name] for name in ("ref", "path", "init", "token") if name in rest}
            return helpers.git(repo, **options)
        case _:
            return None


def _refuse_unknown(helper: str, options: Mapping[str, object], known: set[str]) -> None:
    unknown = sorted(set(options) - known)
    if unknown:
        problem = f"{helper} has no option {', '.join(unknown)} in this version of reeval-build"
        raise DefinitionError(problem)
