"""The one place where errors become messages and exit codes."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from reeval_build.errors import CancelledError, DefinitionError, HostError, InfraError, PlanError, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEFINITION: Final = 2
INFRA: Final = 3
INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141


def exit_code_of(command: Callable[[], object]) -> int:
    """Run `command`; its exit code, after the message of whatever the user can act on went to standard error."""
    try:
        result = command()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except DefinitionError as error:
        for problem in error.problems:
            say(f"{error.file}: {problem}" if error.file else problem)
        return DEFINITION
    except PlanError as error:
        say(str(error))
        return DEFINITION
    except InfraError as error:
        say(str(error))
        return INFRA
    except OSError as error:
        _give_up_output()
        say(str(HostError(error)))
        return INFRA
    except (KeyboardInterrupt, click.Abort, CancelledError):
        # Who presses Ctrl-C again has what they want.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        say("stopped; what was finished is kept")
        return INTERRUPTED
    return result if isinstance(result, int) else 0


@contextmanager
def output_may_close() -> Iterator[None]:
    """End quietly when nobody reads the output any more, as programs do that a signal ends; click has a 1 for that."""
    try:
        yield
    except BrokenPipeError:
        _give_up_output()
        raise click.exceptions.Exit(_BROKEN_PIPE) from None


def _give_up_output() -> None:
    """Drop what cannot be written, or Python tries again when it ends, and complains."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(message: str) -> None:
    """Say something to the user on standard error, as reeval does, in one line."""
    click.echo(f"reeval: {printable(message)}", err=True)
