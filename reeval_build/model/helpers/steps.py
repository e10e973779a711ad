"""`step`: a command of setup that says what it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reeval_build.model.options import duration, is_said, many
from reeval_build.model.reading import Option, Refused, Shape, make
from reeval_build.model.shown import got, is_text
from reeval_build.model.spec import SetupStep
from reeval_build.paths import PathError, parse_destination

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reeval_build.model.site import Site
    from reeval_build.model.written import Duration


def step(
    run: str, *, inputs: Sequence[str] | None = None, timeout: Duration | None = None, cwd: str | None = None
) -> SetupStep:
    """A shell command of setup. reeval has no such helper: `inputs` is an extension.

    Args:
        run: the command.
        inputs: the files and directories of the workspace that it reads. It then sees no others, and runs again only
            when one of these has changed. By default it sees, and depends on, the whole workspace.
        timeout: how long it may take: seconds, a timedelta, or text such as `"10m"`; the default is 5 minutes.
        cwd: the directory it runs in, relative to the workspace (the default) or absolute.

    Raises:
        DefinitionError: with everything that is not as above.
    """
    return make(STEP, {"run": run}, {"inputs": inputs, "timeout": timeout, "cwd": cwd})


def command(value: object, _site: Site) -> str:
    """A shell command."""
    if not is_said(value):
        raise Refused(f"must be a command {got(value)}")
    return value


def working_directory(value: object, _site: Site) -> str:
    """A directory of the sandbox."""
    if not is_text(value) or not value:
        raise Refused(f"has a bad cwd; it is a directory, relative to the workspace or absolute {got(value)}")
    return value


def _input(value: object, _site: Site) -> str:
    if not is_text(value):
        raise Refused(f"must be a path of the workspace {got(value)}")
    try:
        destination = parse_destination(value)
    except PathError as error:
        raise Refused(f"must be a path of the workspace: {error}") from error
    if destination.root != "workspace":
        raise Refused(f"must be a path of the workspace, not of the home directory {got(value)}")
    return value


def inputs(value: object, site: Site) -> tuple[str, ...]:
    """Paths of the workspace, sorted."""
    return tuple(sorted(many(_input, "paths of the workspace")(value, site)))


STEP: Final = Shape(
    called="step()",
    options={
        "run": Option("run", command, required=True),
        "inputs": Option("inputs", inputs),
        "timeout": Option("timeout_s", duration("5m"), called="timeout"),
        "cwd": Option("cwd", working_directory),
    },
    build=SetupStep,
    instead=SetupStep(run=""),
)
