"""Images that are built from a Dockerfile: what they are built from, and their nodes."""

from __future__ import annotations

from typing import ClassVar

import attrs

from reeval_build.digest import Digest
from reeval_build.plan.locks import LockedImage
from reeval_build.tree.selection import Selection


@attrs.frozen(kw_only=True)
class FromImage:
    """An image that a Dockerfile names, as it is locked.

    What a build makes of an image also depends on what the identity of a base leaves out (its user, its directory,
    its shell). `locked` has the digest that a registry or an engine gave it, and that fixes all of it; it is None for
    a name that has a digest, or for what is no image. `named_platform` is the one that is named with it.
    """

    name: str
    named_platform: str | None
    content: Digest
    platform: str
    locked: LockedImage | None


@attrs.frozen(kw_only=True)
class ResolvedDockerfile:
    """A Dockerfile as it is now, with all that it is built from.

    `dockerfile` is the digest of its bytes, and `context` the tree of its directory as `selection` has it; `images` are
    sorted by name and platform. `base` is the one that the last stage lies on.
    """

    path: str
    dockerfile: Digest
    context: Digest
    images: tuple[FromImage, ...]
    base: FromImage

    selection: Selection = attrs.field(eq=False, repr=False)
    warnings: tuple[str, ...] = attrs.field(default=(), eq=False)


@attrs.frozen(kw_only=True)
class DockerfileWork:
    """Building an image; `source` is where it is built from. See `ResolvedDockerfile` for the fields."""

    phase: ClassVar[str] = "dockerfile"
    schema: ClassVar[int] = 1

    dockerfile: Digest
    context: Digest
    images: tuple[FromImage, ...]
    platform: str

    source: ResolvedDockerfile = attrs.field(eq=False)
    engine: str = attrs.field(eq=False)

    @classmethod
    def of(cls, found: ResolvedDockerfile, *, engine: str) -> DockerfileWork:
        """The work that builds it."""
        return cls(
            dockerfile=found.dockerfile,
            context=found.context,
            images=found.images,
            platform=found.base.platform,
            source=found,
            engine=engine,
        )


def called(path: str) -> str:
    """What people call a Dockerfile: its name, and that of its directory."""
    return "/".join(path.split("/")[-2:]).lstrip("/")
