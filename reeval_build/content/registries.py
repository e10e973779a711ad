"""The hosts from which commands fetch packages when they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable


_PYTHON_RUNNERS: Final = frozenset({"uvx", "pipx run"})


@attrs.frozen(kw_only=True)
class Registries:
    """The hosts that `npx` and `bunx` need, and those that `uvx` and `pipx run` need."""

    npm: tuple[str, ...]
    python: tuple[str, ...]

    @classmethod
    def of(cls, default_egress_allow: Iterable[str]) -> Registries:
        """The registries among the hosts that an environment is advised to allow (`DEFAULT_EGRESS_ALLOW`).

        They are told apart by the words in them, for the list does not say what each host is. One of which there is
        no host is one that no list of hosts allows.
        """
        hosts = [host.lower() for host in default_egress_allow]
        return cls(
            npm=tuple(host for host in hosts if "npm" in host),
            python=tuple(host for host in hosts if "pypi" in host or "python" in host),
        )

    def needed(self, runner: str) -> tuple[str, ...]:
        """The hosts a runner needs."""
        return self.python if runner in _PYTHON_RUNNERS else self.npm


NO_REGISTRIES: Final = Registries(npm=(), python=())
