"""The command `reeval-build`."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from importlib import import_module
from typing import Final, NoReturn

import click

from reeval_build import __version__
from reeval_build.cli.boundary import exit_code_of, output_may_close
from reeval_build.errors import StopRequest

_COMMANDS: Final = {
    "build": "Build the snapshots of environments.",
    "cache": "Look at the store, check it, and get room back.",
    "doctor": "Look at all that builds need, and what killed runs left.",
    "export": "Write environments as JSON that build reads.",
    "graph": "Show the phases that builds need, shared ones once.",
    "lock": "Lock what images are, and see whether they are locked.",
    "run": "Run a command in a sandbox started from a snapshot.",
}


# How many more objects there are when unused cycles of them are looked for. Starting makes fewer, and keeps them all.
_OBJECTS_OF_STARTING: Final = 100_000


class _LazyGroup(click.Group):
    """Imports a command when it is used, so that help is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"reeval_build.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        with output_may_close():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=_LazyGroup,
    epilog="""\b
Examples:
  reeval-build build evals/                        every environment below evals/, and what eval files declare
  reeval-build build evals/env.py::base --json     one environment, for a program
  reeval-build graph evals/env.py                  what it is made of
  reeval-build run base@claude-code -- git status  a look around in a sandbox""",
)
@click.version_option(__version__, prog_name="reeval-build", message="%(prog)s %(version)s")
def cli() -> None:
    """Turn agent-eval environments into sandbox snapshots, each piece of work done once.

    Exit codes: 0, all is well; 2, a mistake in a definition, in the lock file or on the command line, nothing was
    built; 3, a cell failed because a step, an engine, a repository or a file did; 130, stopped by Ctrl-C.
    """


def _stop(number: int, _frame: object) -> NoReturn:
    """End as the signal would have it, but by way of everything that cleans up."""
    raise StopRequest(128 + number)


def _open_missing_streams() -> None:
    """Python has None for a stream that was closed when it began, and whoever opens a file then gets its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - it stays open


def main() -> None:
    """Run the command line and exit with its code."""
    gc.set_threshold(_OBJECTS_OF_STARTING, *gc.get_threshold()[1:])
    _open_missing_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Not every locale has every letter, and a command must not fail for that.
        sys.stdout.reconfigure(errors="backslashreplace")
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    code = exit_code_of(lambda: cli.main(prog_name="reeval-build", standalone_mode=False))
    # Else Python would look for cycles in all there is, twice, before it ends.
    gc.freeze()
    sys.exit(code)
