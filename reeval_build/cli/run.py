"""`reeval-build run`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import BinaryIO, cast

import click

from reeval_build.app import Settings, opened
from reeval_build.cli.options import FileToWrite, settings_options
from reeval_build.execute.failures import killed_for_memory
from reeval_build.loading.selection import select_cell
from reeval_build.render.changes import changes_json, changes_text
from reeval_build.render.progress import Progress


@click.command(
    epilog="""\b
Examples:
  reeval-build run base@claude-code -- ls -la
  reeval-build run env.py::base@fake --diff-json changes.json -- sh -c 'echo hi > new.txt'"""
)
@click.argument("cell")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
@settings_options
@click.option(
    "--diff-json",
    type=FileToWrite(dir_okay=False, writable=True, path_type=Path),
    help="Write what the command changed to this file, as JSON.",
)
def run(cell: str, command: tuple[str, ...], settings: Settings, diff_json: Path | None) -> int:
    """Run COMMAND in the workspace of a sandbox started from the snapshot of CELL, and list what it changed.

    CELL is NAME@HARNESS, or FILE::NAME@HARNESS; it is built first if it has to be. For a harness that an eval declares,
    HARNESS is its id, such as codex:gpt-5, or its kind when only one is of it. Where evals make several cells of an
    environment, #EVAL behind it says which. The exit code is the command's.
    Paths that the workspace's own .gitignore files leave out do not count as changes.
    """
    chosen = select_cell(cell, settings.sandbox)
    with opened(settings) as app:
        graph = app.plan([chosen])
        output = _Lines(sys.stdout.buffer)
        done = app.attempt(graph, command, Progress(graph), stdout=cast("BinaryIO", output), stderr=sys.stderr.buffer)
    if done.was_killed_for_memory:
        sentence = killed_for_memory(chosen.start.memory_bytes)
        click.echo(f"reeval: {chosen.file}: {chosen.name}: the command {sentence}", err=True)
    click.echo(output.missing_newline + changes_text(chosen, done))
    if diff_json is not None:
        diff_json.write_text(changes_json(chosen, done) + "\n", encoding="utf-8")
    return done.exit_code


class _Lines(io.RawIOBase):
    """Passes bytes on, and knows whether the last line was ended."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        self.missing_newline = ""

    def write(self, data: bytes | memoryview, /) -> int:  # type: ignore[override]  # what engines write
        """Pass `data` on."""
        if data:
            self.missing_newline = "" if bytes(data[-1:]) == b"\n" else "\n"
        return self._target.write(data)

    def flush(self) -> None:
        """Pass on what is held back."""
        self._target.flush()
