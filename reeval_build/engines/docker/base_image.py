"""A base image, and what it is by content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build import canon
from reeval_build.digest import Digest, Domain

if TYPE_CHECKING:
    from collections.abc import Mapping

BASE_IMAGE: Final = Domain("base-image", 1)


@attrs.frozen(kw_only=True)
class BaseImage:
    """An image: by content first, then how it is found. `layers` are uncompressed digests, lowest first.

    `digests` are those that registries gave it, `ghcr.io/a/b@sha256:...`, as the engine remembers them.
    """

    operating_system: str
    architecture: str
    variant: str
    layers: tuple[str, ...]
    env: tuple[str, ...]

    name: str = attrs.field(eq=False)
    image_id: str = attrs.field(eq=False)
    digests: tuple[str, ...] = attrs.field(default=(), eq=False)

    @property
    def platform(self) -> str:
        """The platform as images name it, `linux/arm64/v8`."""
        return "/".join(part for part in (self.operating_system, self.architecture, self.variant) if part)

    @property
    def identity(self) -> Digest:
        """Equal for images in which commands see the same, whatever they are called and whenever they were made."""
        return BASE_IMAGE.digest(
            canon.encode(
                {
                    "os": self.operating_system,
                    "architecture": self.architecture,
                    "variant": self.variant,
                    "layers": self.layers,
                    "env": self.env,
                }
            )
        )


def empty_image(platform: str) -> BaseImage:
    """What has nothing in it, on a platform; no engine has it as an image."""
    system, architecture, variant = (*platform.split("/"), "", "")[:3]
    return BaseImage(
        operating_system=system,
        architecture=architecture,
        variant=variant,
        layers=(),
        env=(),
        name="scratch",
        image_id="",
    )


def read_image(name: str, details: Mapping[str, Any]) -> BaseImage:
    """The image called `name`, from what the engine says of it."""
    config = details.get("Config") or {}
    return BaseImage(
        operating_system=details["Os"],
        architecture=details["Architecture"],
        variant=details.get("Variant") or "",
        layers=tuple(details["RootFS"].get("Layers") or ()),
        env=tuple(config.get("Env") or ()),
        name=name,
        image_id=details["Id"],
        digests=tuple(details.get("RepoDigests") or ()),
    )
