"""What authors call inside a spec: `docker`, `fake_sandbox`, `git`, `file`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from reeval_build.errors import DefinitionError
from reeval_build.model.callers import resolve
from reeval_build.model.durations import seconds
from reeval_build.model.shown import got, is_text
from reeval_build.model.spec import (
    DEFAULT_IMAGE,
    DEFAULT_TIMEOUT_S,
    DockerSandbox,
    FakeSandbox,
    GitWorkspace,
    HostFile,
    InstallStep,
)
from reeval_build.paths import PathError, split

InstallInput: TypeAlias = "str | InstallStep | Mapping[str, object]"

_GITHUB_SHORT: Final = re.compile(r"github:([\w.-]+)/([\w.-]+?)(?:\.git)?")
_GITHUB_TREE: Final = re.compile(r"https://github\.com/([^/]+)/([^/]+)/tree/([^/]+)(?:/(.+?))?/?")
_SCP_LIKE: Final = re.compile(r"(?:[^/:@\s]+@)?[^/:@\s]+:(?!//).+")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN_PREFIXES: Final = ("ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-")
_SCHEMES: Final = ("https", "http", "ssh", "git", "file")


def docker(
    *, from_: str | None = None, image: str | None = None, install: Sequence[InstallInput] = ()
) -> DockerSandbox:
    """A container sandbox.

    Args:
        from_: the image, such as `node:24-bookworm` (the default).
        image: another spelling of `from_`.
        install: shell commands baked into the image, in order: as root, in `/`, without secrets or env. A step is a
            string, or a mapping with `run` and `timeout` (seconds, a timedelta, or text such as `"10m"`).

    Raises:
        DefinitionError: for an empty image, both spellings at once, or a bad step.
    """
    if from_ is not None and image is not None:
        raise DefinitionError("docker() takes from_ or image, not both: they are two names of one thing")
    chosen = from_ if from_ is not None else image
    if chosen is None:
        chosen = DEFAULT_IMAGE
    if not is_text(chosen) or not chosen.strip():
        raise DefinitionError(f"from_ in docker() must name an image {got(chosen)}")
    return DockerSandbox(image=chosen, install=_install_steps(install))


def _install_steps(install: object) -> tuple[InstallStep, ...]:
    if isinstance(install, str) or not isinstance(install, Sequence):
        raise DefinitionError(f"install in docker() must be a list {got(install)}")
    return tuple(_install_step(at, step) for at, step in enumerate(install))


def _install_step(at: int, step: object) -> InstallStep:
    if isinstance(step, InstallStep):
        return step
    fields = {"run": step} if isinstance(step, str) else step
    if not isinstance(fields, Mapping) or fields.keys() - {"run", "timeout"}:
        raise DefinitionError(f"install[{at}] in docker() must be a command string or {{ run, timeout? }} {got(step)}")
    run, timeout_s = fields.get("run"), seconds(fields.get("timeout", DEFAULT_TIMEOUT_S))
    if not is_text(run) or not run.strip():
        raise DefinitionError(f"install[{at}] in docker() must be a command string or {{ run, timeout? }} {got(step)}")
    if timeout_s is None:
        raise DefinitionError(
            f'install[{at}] in docker() has a bad timeout; use seconds or text such as "10m" {got(step)}'
        )
    return InstallStep(run=run, timeout_s=timeout_s)


def fake_sandbox() -> FakeSandbox:
    """A directory on the host instead of a container: needs no engine, isolates nothing."""
    return FakeSandbox()


def file(path: str) -> HostFile:
    """A host file, copied byte for byte; an owner execute bit stays.

    It is read when the environment is prepared, not here: a missing file fails only what needs it.

    Args:
        path: relative to the calling file, or absolute.

    Raises:
        DefinitionError: for a path that is empty or not text.
    """
    if not is_text(path) or not path:
        raise DefinitionError(f"file() needs the path of a file {got(path)}")
    return HostFile(resolve(path))


def git(
    repo: str, *, ref: str | None = None, path: str | None = None, init: bool = False, token: str | None = None
) -> GitWorkspace:
    """A git repository, or one directory of it, as the code a workspace starts as.

    Args:
        repo: a clone URL, `github:owner/repo`, a GitHub `/tree/REF/PATH` URL (which sets `ref` and `path` when they
            are not given), or a local path, relative to the calling file.
        ref: a branch, tag or commit; the default is the repository's HEAD. Anything but a full commit id or a
            version tag such as `v1.2.0` warns that results are not comparable over time.
        path: the directory that becomes the workspace: relative, forward slashes, no `.` or `..`.
        init: whether the workspace has a `.git` with one commit of the tree; by default it has none.
        token: the NAME of a host variable with a token for an `https://` fetch; it is read on the host only.

    Raises:
        DefinitionError: for a password or token in the URL, a bad path, or a token that is not a variable's name.
    """
    if not is_text(repo) or not repo.strip():
        raise DefinitionError(f"git() needs a repository: a URL, github:owner/repo, or a local path {got(repo)}")
    _check_text("ref", ref)
    _check_flag("init", init)
    url, url_ref, url_path = _locate(repo)
    ref, path = ref or url_ref, path if path is not None else url_path
    if path is not None:
        _check_path(path)
    if token is not None:
        _check_token(token, url)
    return GitWorkspace(repo=repo, url=url, ref=ref, path=path, init=init, token=token)


def _locate(repo: str) -> tuple[str, str | None, str | None]:
    if short := _GITHUB_SHORT.fullmatch(repo):
        return f"https://github.com/{short[1]}/{short[2]}.git", None, None
    if "://" in repo:
        _check_url(repo)
        if tree := _GITHUB_TREE.fullmatch(repo):
            path = None if tree[4] is None else unquote(tree[4])
            return f"https://github.com/{tree[1]}/{tree[2].removesuffix('.git')}.git", unquote(tree[3]), path
        return repo, None, None
    if _SCP_LIKE.fullmatch(repo):
        return repo, None, None
    return resolve(repo), None, None


def _check_url(repo: str) -> None:
    try:
        parts = urlsplit(repo)
    except ValueError as error:
        # What the error says may quote a password.
        raise DefinitionError(f"git() has a URL that cannot be understood {got(repo)}") from error
    named = parts.username is not None and not parts.scheme.endswith("ssh")
    if parts.password is not None or named:
        raise DefinitionError(
            "git() has a password or token in its URL; pass the NAME of a host variable as token= instead"
        )
    if parts.scheme not in _SCHEMES:
        raise DefinitionError(f"git() cannot fetch {parts.scheme}:// URLs, only {', '.join(_SCHEMES)} {got(repo)}")


def _check_text(name: str, value: object) -> None:
    if value is not None and (not is_text(value) or not value.strip()):
        raise DefinitionError(f"{name} in git() must be text {got(value)}")


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise DefinitionError(f"{name} in git() must be True or False {got(value)}")


def _check_path(path: object) -> None:
    if not is_text(path):
        raise DefinitionError(f"path in git() must be a relative path with forward slashes {got(path)}")
    if "\\" in path:
        raise DefinitionError(f"path in git() must be a relative path with forward slashes: {path!r} has a backslash")
    try:
        split(path.encode("utf-8"))
    except PathError as error:
        raise DefinitionError(f"path in git() must be a relative path with forward slashes: {error}") from error


def _check_token(token: object, url: str) -> None:
    """Refuse a token that is not a variable's name, without ever showing it."""
    if not isinstance(token, str) or not _VARIABLE.fullmatch(token) or token.lower().startswith(_TOKEN_PREFIXES):
        raise DefinitionError("token in git() must be the NAME of a host variable, not the token itself")
    if not url.startswith("https://"):
        raise DefinitionError(
            "token in git() is only for https:// URLs; SSH uses your keys, and a local path needs none"
        )
