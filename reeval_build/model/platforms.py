"""Platforms of images, `linux/arm64/v8`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLATFORM: Final = re.compile(r"[a-z0-9]+/[a-z0-9_]+(?:/[a-z0-9.]+)?")
_ALIASES: Final = {"x86_64": "amd64", "x86-64": "amd64", "aarch64": "arm64", "armhf": "arm", "i386": "386"}
_VARIANTS: Final = {"arm64": "v8", "arm": "v7", "amd64": "v1"}
"""What is meant where an architecture has variants and none is said."""


def is_platform(text: object) -> bool:
    """Whether it is a platform: an operating system, an architecture, and perhaps a variant."""
    return isinstance(text, str) and _PLATFORM.fullmatch(text) is not None


def is_same_platform(one: str, other: str) -> bool:
    """Whether two platforms are the same, by whichever of their names."""
    return _whole(one) == _whole(other)


def choose_platform(wanted: str, offered: Iterable[str]) -> str | None:
    """That of the platforms that is the wanted one, as it is written there; None when it is not among them."""
    return next((one for one in offered if is_same_platform(wanted, one)), None)


def _whole(platform: str) -> tuple[str, str, str]:
    system, architecture, variant = (*platform.split("/"), "", "")[:3]
    architecture = _ALIASES.get(architecture, architecture)
    return system, architecture, variant or _VARIANTS.get(architecture, "")
