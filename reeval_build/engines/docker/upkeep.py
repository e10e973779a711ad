"""What of ours is in an engine: seen, and removed. What is not ours is never touched."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import attrs
from docker.errors import APIError

from reeval_build.engines.docker import facts
from reeval_build.engines.docker.connection import Connection
from reeval_build.engines.docker.containers import OWNER_LABEL, remove_leftovers
from reeval_build.engines.docker.endpoint import Endpoint, current_endpoint
from reeval_build.engines.docker.images import REPOSITORY, STATE_LABEL
from reeval_build.engines.docker.locked import OWN_REPOSITORY
from reeval_build.engines.owner import is_dead


@attrs.frozen(kw_only=True)
class InEngine:
    """What of ours an engine has.

    `left` are containers and images that killed processes left, `used` are those of processes that run, by what people
    call them; `states` counts the images of states, which any process may start from and which are made again.
    """

    left: tuple[str, ...]
    used: tuple[str, ...]
    states: int


class EngineUpkeep:
    """Looks after an engine; by default the one that Docker's own client would use.

    Raises:
        EngineAwayError: when it does not answer.
        InfraError: when it cannot be used.
    """

    def __init__(self, address: str | None = None) -> None:
        self._connection = Connection(current_endpoint() if address is None else Endpoint(address=address))

    @property
    def title(self) -> str:
        """What it is, and where."""
        with self._connection.asked_to("say what it is"):
            info = self._connection.quick.info()
        return f"Docker {info['ServerVersion']} at {self._connection.endpoint.address}, images in {info['Driver']}"

    def check(self) -> None:
        """Raise UnsupportedEngineError when states cannot be put into it."""
        known = facts.learn(self._connection)
        if known.unsupported is not None:
            raise facts.UnsupportedEngineError(known.unsupported)

    def look(self) -> InEngine:
        """What of ours is there."""
        with self._connection.asked_to("look for what is ours"):
            owned = [
                *((f"container {one['Names'][0].lstrip('/')}", one) for one in self._containers()),
                *((f"image {_called(one)}", one) for one in self._images(OWNER_LABEL)),
            ]
            states = self._states()
        dead = {name: is_dead(one["Labels"][OWNER_LABEL]) for name, one in owned}
        return InEngine(
            left=tuple(name for name, _ in owned if dead[name]),
            used=tuple(name for name, _ in owned if not dead[name]),
            states=len(states),
        )

    def remove_left(self) -> None:
        """Remove what killed processes left."""
        remove_leftovers(self._connection)

    def remove_states(self) -> int:
        """Remove the images of states, but for those that a container runs; how many are gone.

        Names that we gave to base images go, too.
        """
        removed = 0
        with self._connection.asked_to("remove images of states"):
            for one in self._states():
                # Without force: what runs keeps its image. A name at a time, for it may have one that is not ours.
                with suppress(APIError):
                    for name in _names(one):
                        self._connection.quick.remove_image(name)
                    removed += 1
            for name in self._names_of_bases():
                with suppress(APIError):
                    self._connection.quick.remove_image(name)
        return removed

    def _names_of_bases(self) -> list[str]:
        found = self._connection.quick.images(name=OWN_REPOSITORY)
        names = [name for one in found for name in one["RepoTags"] or []]
        return [name for name in names if name.startswith(f"{OWN_REPOSITORY}:")]

    def _states(self) -> list[dict[str, Any]]:
        """The images of states, but for those with a secret in them, which only the process that owns each may have."""
        return [one for one in self._images(STATE_LABEL) if OWNER_LABEL not in one["Labels"] and _names(one)]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _containers(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._connection.quick.containers(all=True, filters={"label": OWNER_LABEL})
        return found

    def _images(self, label: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._connection.quick.images(filters={"label": label})
        return found


def _called(image: dict[str, Any]) -> str:
    names: list[str] = [*(name for name in image["RepoTags"] or [] if name != "<none>:<none>"), image["Id"]]
    return names[0]


def _names(image: dict[str, Any]) -> list[str]:
    """The names that we gave it, which others may have added to."""
    return [name for name in image["RepoTags"] or [] if name.startswith(f"{REPOSITORY}:")]
