"""What this version of reeval-build does not do yet: it is refused, so that nothing is ignored silently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reeval_build.model.spec import DockerSandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reeval_build.model.environment import Environment
    from reeval_build.model.spec import Spec


def _podman(spec: Spec) -> Iterable[str]:
    return ["podman()"] if isinstance(spec.sandbox, DockerSandbox) and spec.sandbox.engine == "podman" else []


# Each line names what of a spec is not supported. An entry goes when what it is about is built.
UNSUPPORTED: Final[tuple[Callable[[Spec], Iterable[str]], ...]] = (_podman,)

_WAYS_OUT: Final = {
    "podman()": "; docker() with the same options is",
}


def unsupported(environment: Environment) -> tuple[str, ...]:
    """A problem for everything in the last layer of an environment that is not supported: the others were asked."""
    return unsupported_in(environment.layers[-1].spec, f'defineEnvironment("{environment.name}")')


def unsupported_in(spec: Spec, where: str) -> tuple[str, ...]:
    """A problem for everything in a spec that is not supported; `where` is what messages call what says it."""
    return tuple(
        f"{name} in {where} is not supported by this version of reeval-build yet{_WAYS_OUT.get(name, '')}"
        for names in UNSUPPORTED
        for name in names(spec)
    )
