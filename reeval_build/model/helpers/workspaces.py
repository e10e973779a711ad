"""`git`: the code that a workspace starts as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reeval_build.model.helpers.repositories import Repository, path_of, repository
from reeval_build.model.options import TOKEN_PREFIXES, directory_inside, flag, text
from reeval_build.model.reading import Mistake, Option, Refused, Shape, make
from reeval_build.model.secrets import VARIABLE
from reeval_build.model.spec import GitWorkspace

if TYPE_CHECKING:
    from reeval_build.model.site import Site


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
    return make(GIT, {"repo": repo, "init": init}, {"ref": ref, "path": path, "token": token})


def _token(value: object, _site: Site) -> str:
    """The name of a variable; a token that is given instead is never shown."""
    if not isinstance(value, str) or not VARIABLE.fullmatch(value) or value.lower().startswith(TOKEN_PREFIXES):
        raise Refused("must be the NAME of a host variable, not the token itself")
    return value


def _build(
    *,
    repo: Repository,
    url: Repository | None = None,
    ref: str | None = None,
    path: str | None = None,
    init: bool = False,
    token: str | None = None,
) -> GitWorkspace:
    fetched = repo.url if url is None else url.url
    if token is not None and not fetched.startswith("https://"):
        raise Refused(Mistake("is only for https:// URLs; SSH uses your keys, and a local path needs none", "token"))
    return GitWorkspace(
        repo=repo.written,
        url=fetched,
        ref=repo.ref if ref is None else ref,
        path=path_of(repo) if path is None else path,
        init=init,
        token=token,
    )


GIT: Final = Shape(
    called="git()",
    options={
        "repo": Option("repo", repository, required=True),
        "url": Option("url", repository),
        "ref": Option("ref", text),
        "path": Option("path", directory_inside),
        "init": Option("init", flag),
        "token": Option("token", _token),
    },
    build=_build,
    instead=GitWorkspace(repo="", url=""),
)
