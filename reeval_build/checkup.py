"""Looks at everything a build needs, and removes what killed runs left."""

from __future__ import annotations

import os
import platform
from contextlib import closing
from enum import Enum
from typing import TYPE_CHECKING

import attrs

from reeval_build import __version__
from reeval_build.errors import InfraError
from reeval_build.model.sizes import size_short
from reeval_build.stores.local.store import LocalStore, leftovers
from reeval_build.stores.local.usage import usage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reeval_build.engines.docker.upkeep import EngineUpkeep


class Verdict(Enum):
    """How something is: well, left by a killed run, removed just now, or in the way of a build."""

    WELL = "well"
    LEFT = "left"
    REMOVED = "removed"
    WRONG = "wrong"


@attrs.frozen(kw_only=True)
class Finding:
    """One thing that was looked at: what it is about, how it is, and what can be done about it."""

    about: str
    verdict: Verdict
    text: str
    hint: str | None = None


@attrs.frozen(kw_only=True)
class Treatment:
    """What to do about what is found: remove what killed runs left, remove the images of states."""

    fix: bool = False
    remove_images: bool = False


def check(store: Path, *, sandbox: str, treatment: Treatment, discard: Callable[[Path], None]) -> Iterator[Finding]:
    """What there is to say, as it is found out. `sandbox` is the kind of engine that builds use when nothing says.

    A store that is not there is not made. `discard` removes a directory of sandboxes, with what runs in them.
    """
    system = f"{platform.system()} {platform.release()}"
    program = f"reeval-build {__version__}, Python {platform.python_version()}, {system}"
    yield Finding(about="program", verdict=Verdict.WELL, text=program)
    yield from _check_store(store, treatment, discard)
    if sandbox == "docker":
        yield from _check_engine(treatment)


def _check_store(path: Path, treatment: Treatment, discard: Callable[[Path], None]) -> Iterator[Finding]:
    if not path.exists():
        yield Finding(about="store", verdict=Verdict.WELL, text=f"{path} is not there yet: the first build makes it")
        return
    try:
        with LocalStore(path) as store:
            usage = usage_of(store)
            yield Finding(
                about="store",
                verdict=Verdict.WELL,
                text=f"{path} has {size_short(usage.bytes)}, {size_short(usage.free_bytes)} are free",
            )
            found = leftovers(store.root)
            if treatment.fix:
                store.remove_leftovers(discard)
            for one in found:
                yield _left("store", os.fspath(one), is_gone=treatment.fix and not os.path.lexists(one))
    except InfraError as problem:
        yield _wrong("store", problem)


def _check_engine(treatment: Treatment) -> Iterator[Finding]:
    from reeval_build.engines.docker.upkeep import EngineUpkeep  # noqa: PLC0415 - only who has an engine needs its SDK

    try:
        with closing(EngineUpkeep()) as engine:
            yield Finding(about="engine", verdict=Verdict.WELL, text=engine.title)
            engine.check()
            yield from _look_into(engine, treatment)
    except InfraError as problem:
        yield _wrong("engine", problem)


def _look_into(engine: EngineUpkeep, treatment: Treatment) -> Iterator[Finding]:
    found = engine.look()
    if treatment.fix:
        engine.remove_left()
    still = set(engine.look().left) if treatment.fix else set(found.left)
    for name in found.left:
        yield _left("engine", name, is_gone=name not in still)
    for name in found.used:
        yield Finding(about="engine", verdict=Verdict.WELL, text=f"{name} is in use by a process that runs")
    if treatment.remove_images:
        removed = engine.remove_states()
        yield Finding(about="images", verdict=Verdict.REMOVED, text=f"{removed} of {found.states} images of states")
    elif found.states:
        yield Finding(
            about="images",
            verdict=Verdict.WELL,
            text=f"{found.states} of states, which are made again when they are needed",
            hint="--remove-images removes them",
        )


def _left(about: str, name: str, *, is_gone: bool) -> Finding:
    if is_gone:
        return Finding(about=about, verdict=Verdict.REMOVED, text=name)
    return Finding(about=about, verdict=Verdict.LEFT, text=f"{name} was left by a killed run", hint="--fix removes it")


def _wrong(about: str, problem: InfraError) -> Finding:
    return Finding(about=about, verdict=Verdict.WRONG, text=problem.message, hint=problem.hint)
