"""Names of images, so that two spellings of one name are one."""

from __future__ import annotations

import re
from typing import Final

import attrs

_HUB: Final = ("docker.io", "index.docker.io")
_HUBS_OWN: Final = "library/"
_HOST: Final = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?"
)
_PATH: Final = re.compile(r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*")
_TAG: Final = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@attrs.frozen
class ImageName:
    """A name as engines read it: `repository` in its short form (`node`, `ghcr.io/a/b`), and a tag or a digest."""

    repository: str
    tag: str | None = None
    digest: str | None = None

    def __str__(self) -> str:
        if self.digest is not None:
            return f"{self.repository}@{self.digest}"
        return f"{self.repository}:{self.tag}"

    def at(self, digest: str) -> str:
        """The name of exactly one content of the repository."""
        return f"{self.repository}@{digest}"


def read_image_name(text: str) -> ImageName | None:
    """The name that `text` is, with `latest` for a tag that is not written; None when it is no name of an image."""
    rest, at, digest = text.partition("@")
    if at and not is_digest(digest):
        return None
    host, path, tag = _parts(rest)
    if not _PATH.fullmatch(path) or (host and not _HOST.fullmatch(host)):
        return None
    if tag is not None and not _TAG.fullmatch(tag):
        return None
    repository = f"{host}/{path}" if host not in ("", *_HUB) else _short(path)
    return ImageName(repository, digest=digest) if at else ImageName(repository, tag=tag or "latest")


def is_pinned(text: str) -> bool:
    """Whether `text` can only ever be one image: it has a digest, or is the id of an image of an engine."""
    name = read_image_name(text)
    return is_digest(text) or (name is not None and name.digest is not None)


def is_digest(text: str) -> bool:
    """Whether `text` is a digest as registries and engines write it."""
    return _DIGEST.fullmatch(text) is not None


def _short(path: str) -> str:
    """A path on the hub without what is understood."""
    first, slash, _rest = path.partition("/")
    if slash and _is_host(first):
        return f"{_HUB[0]}/{path}"
    short = path.removeprefix(_HUBS_OWN)
    return path if "/" in short else short


def _parts(text: str) -> tuple[str, str, str | None]:
    first, slash, rest = text.partition("/")
    host, path = (first, rest) if slash and _is_host(first) else ("", text)
    path, colon, tag = path.partition(":")
    return host, path, tag if colon else None


def _is_host(text: str) -> bool:
    return "." in text or ":" in text or text == "localhost"
