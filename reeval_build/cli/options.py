"""Options that several commands have."""

from __future__ import annotations

import os
import re
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from reeval_build.app import Settings
from reeval_build.model.harnesses import HARNESSES
from reeval_build.model.platforms import is_platform
from reeval_build.model.sizes import size_bytes
from reeval_build.plan.locks import LOCK_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

_DAYS: Final = re.compile("([0-9]{1,5})([dw])")
_DAYS_OF: Final = {"d": 1, "w": 7}

TARGETS: Final = click.argument("targets", nargs=-1, metavar="[TARGET]...")

HARNESS: Final = click.option(
    "--harness",
    "harnesses",
    multiple=True,
    default=["fake"],
    show_default=True,
    type=click.Choice(list(HARNESSES)),
    help="The harness of what declares none itself; may be given several times.",
)


class FileToWrite(click.Path):
    """A file that is there or not; that its directory is missing or closed is said before anything is done."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's signature
        """The path, checked."""
        path = super().convert(value, param, ctx)
        directory = Path(os.fsdecode(path)).parent
        if not os.access(directory, os.W_OK | os.X_OK):
            self.fail(f"Directory {os.fsdecode(directory)!r} is not there or cannot be written to.", param, ctx)
        return path


class _Directory(click.Path):
    """A directory, by a path that is not empty: an empty variable of a script is not the working directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's signature
        if value == "":
            self.fail("it is empty", param, ctx)
        return super().convert(value, param, ctx)


def as_bytes(_context: click.Context, _option: click.Parameter, value: str | None) -> int | None:
    """The bytes of an option such as `512m` or `20G`."""
    size = size_bytes(value)
    if value is not None and size is None:
        raise click.BadParameter(f"{value!r} is not a size such as 512m or 20G.")
    return size


def as_platform(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """The platform of an option."""
    if value is not None and not is_platform(value):
        raise click.BadParameter(f"{value!r} is not a platform such as linux/amd64 or linux/arm64.")
    return value


def as_days(_context: click.Context, _option: click.Parameter, value: str | None) -> int | None:
    """The days of an option such as `30d` or `4w`."""
    if value is None:
        return None
    found = _DAYS.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"{value!r} is not a number of days or weeks such as 30d or 4w.")
    return int(found[1]) * _DAYS_OF[found[2]]


STORE: Final = click.option(
    "--store",
    type=_Directory(file_okay=False, path_type=Path),
    help="Keep results in this directory (default: $REEVAL_BUILD_HOME, else the user's cache directory).",
)

SANDBOX: Final = click.option(
    "--sandbox",
    type=click.Choice(["docker", "fake"]),
    default="docker",
    show_default=True,
    help="The machine of an environment that names none.",
)

PLATFORM: Final = click.option(
    "--platform",
    callback=as_platform,
    help="Use images for this platform, such as linux/arm64 (default: $DOCKER_DEFAULT_PLATFORM, else platform in "
    "[tool.reeval-build] of pyproject.toml, else the engine's own).",
)

AS_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose the store, the machines and what is read; the command gets them as `settings`."""

    @STORE
    @SANDBOX
    @click.option(
        "--jobs", type=click.IntRange(1), help="Do this many pieces of work at once (default: one a processor)."
    )
    @click.option(
        "--rehash", is_flag=True, help="Read files and directories of the host also when they look unchanged."
    )
    @PLATFORM
    @click.option(
        "--frozen",
        "is_frozen",
        is_flag=True,
        help=f"Refuse images and harnesses that are not in {LOCK_NAME}, and leave that as it is.",
    )
    @wraps(command)
    def with_settings(
        *args: Any,  # noqa: ANN401 - it passes on whatever click gives
        store: Path | None,
        sandbox: str,
        jobs: int | None,
        rehash: bool,
        platform: str | None,
        is_frozen: bool,
        **options: Any,  # noqa: ANN401 - as above
    ) -> Any:  # noqa: ANN401 - as above
        settings = Settings(store=store, sandbox=sandbox, rehash=rehash, platform=platform, is_frozen=is_frozen)
        if jobs is not None:
            settings = attrs.evolve(settings, jobs=jobs)
        return command(*args, settings=settings, **options)

    return with_settings
