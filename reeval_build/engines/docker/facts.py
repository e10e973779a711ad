"""What kind of engine it is, as far as that decides how it is used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build.errors import InfraError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reeval_build.engines.docker.connection import Connection

_REMAPPED_USERS: Final = ("name=userns", "name=rootless")


class UnsupportedEngineError(InfraError):
    """An engine of a kind that states cannot be put into."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"{kind} is not supported yet",
            hint="use a Docker engine that runs Linux containers and keeps images in a storage driver such as overlay2",
        )
        self.kind = kind


@attrs.frozen(kw_only=True)
class EngineFacts:
    """`unsupported` names a kind of engine we cannot use; `uppers_readable` says whether its disk is ours to read."""

    unsupported: str | None
    uppers_readable: bool


def learn(connection: Connection) -> EngineFacts:
    """Ask the engine what it is. Raises EngineAwayError when it does not answer."""
    with connection.asked_to("say what it is"):
        info = connection.quick.info()
        version = connection.quick.version()
    is_ours = connection.endpoint.socket_path is not None and os.geteuid() == 0
    return read_facts(info, version, is_ours=is_ours)


def read_facts(info: Mapping[str, Any], version: Mapping[str, Any], *, is_ours: bool) -> EngineFacts:
    """The facts in an engine's answers. `is_ours` says that it is on this machine and we are root."""
    status = {row[0]: row[1] for row in info.get("DriverStatus") or []}
    security = info.get("SecurityOptions") or []
    has_plain_uppers = (
        info.get("Driver") == "overlay2"
        and status.get("Native Overlay Diff") == "true"
        and status.get("userxattr", "false") == "false"
        and not any(option.startswith(_REMAPPED_USERS) for option in security)
    )
    return EngineFacts(unsupported=_unsupported(info, version, status), uppers_readable=is_ours and has_plain_uppers)


def _unsupported(info: Mapping[str, Any], version: Mapping[str, Any], status: Mapping[str, str]) -> str | None:
    if any("podman" in component.get("Name", "").lower() for component in version.get("Components") or []):
        return "Podman"
    if info.get("OSType", "linux") != "linux":
        return f"an engine for {info['OSType']} containers"
    if status.get("driver-type", "").startswith("io.containerd."):
        return "a Docker engine with the containerd image store"
    return None
