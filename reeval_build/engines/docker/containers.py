"""Containers of ours: made, always removed, and looked for when a run that was killed left some."""

from __future__ import annotations

import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from docker.errors import APIError, NotFound
from docker.types import LogConfig

from reeval_build.engines.owner import is_dead
from reeval_build.errors import InfraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reeval_build.engines.docker.connection import Connection
    from reeval_build.model.start_options import StartOptions

OWNER_LABEL: Final = "reeval-build.owner"
USER: Final = "0:0"

# Waits for ever in a child, and collects the processes that others leave behind meanwhile: with nothing but a shell.
_IDLE: Final = ["/bin/sh", "-c", "(read -r _); :"]
_HOST_NAME: Final = "sandbox"
_PERIOD_US: Final = 100_000
_LEAST_QUOTA_US: Final = 1000


@contextmanager
def running(connection: Connection, image: str, options: StartOptions, *, owner: str) -> Iterator[str]:
    """A container of `image` in which nothing happens by itself; it is gone when the block ends, however it ends."""
    # Known before the container is: so it is found even when the answer to its making never arrives.
    name = f"reeval-build-{secrets.token_hex(8)}"
    try:
        _start(connection, image, name, options, owner)
        yield name
    finally:
        # What ran in it is not undone for this: what stays is a leftover, and removed when this process has ended.
        with suppress(InfraError):
            _remove(connection, name)


def remove_leftovers(connection: Connection) -> None:
    """Remove what processes that have ended left in the engine: containers, and images that they were read through."""
    quick, wanted = connection.quick, {"label": OWNER_LABEL}
    with connection.asked_to("look for leftovers"):
        for container in quick.containers(all=True, filters=wanted):
            if is_dead(container["Labels"][OWNER_LABEL]):
                with suppress(APIError):
                    quick.remove_container(container["Id"], force=True, v=True)
        remove_images(connection, wanted, lambda image: is_dead(image["Labels"][OWNER_LABEL]))


def remove_images(connection: Connection, wanted: dict[str, str], is_wanted: Callable[[dict[str, Any]], bool]) -> None:
    """Remove images by a filter of the engine's, and of those what is wanted: one after those that were made on it."""
    quick, before = connection.quick, None
    while (found := [one["Id"] for one in quick.images(all=True, filters=wanted) if is_wanted(one)]) != before:
        for image in found:
            with suppress(APIError):
                quick.remove_image(image, force=True, noprune=True)
        before = found


def _start(connection: Connection, image: str, name: str, options: StartOptions, owner: str) -> None:
    api = connection.patient
    with connection.asked_to("start a sandbox"):
        api.create_container(
            image,
            entrypoint=_IDLE[:1],
            command=_IDLE[1:],
            name=name,
            hostname=_HOST_NAME,
            labels={OWNER_LABEL: owner},
            stdin_open=True,
            user=USER,
            working_dir="/",
            # The SDK would put what the client's settings say about proxies into the container's environment.
            use_config_proxy=False,
            host_config=api.create_host_config(init=False, log_config=LogConfig(type="none"), **_limits(options)),
        )
        api.start(name)


def _limits(options: StartOptions) -> dict[str, Any]:
    """A container's share of the machine, as the engine is told of it."""
    limits: dict[str, Any] = {"cap_add": sorted(options.capabilities) or None, "pids_limit": options.pids}
    if options.memory_bytes is not None:
        limits["mem_limit"] = options.memory_bytes
        limits["memswap_limit"] = options.memory_bytes + (options.swap_bytes or 0)
    if options.cpus is not None:
        # Not `nano_cpus`, which an engine refuses when it has fewer processors: those are then all there is to use.
        limits["cpu_period"] = _PERIOD_US
        limits["cpu_quota"] = max(_LEAST_QUOTA_US, round(options.cpus * _PERIOD_US))
    return limits


def _remove(connection: Connection, name: str) -> None:
    with connection.asked_to("remove a sandbox"), suppress(NotFound):
        connection.patient.remove_container(name, force=True, v=True)
