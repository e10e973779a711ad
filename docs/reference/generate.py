"""Writes docs/reference/commands.md from the commands themselves; with --check, fails when it is out of date."""

from __future__ import annotations

import argparse
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reeval_build.cli import cli

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PAGE = Path(__file__).with_name("commands.md")
COMMAND = "reeval-build"
HEAD = """\
# Commands

<!-- Written by docs/reference/generate.py from the commands' own help; edit that, then run it. -->

Results go to standard output, progress and messages to standard error.
"""
FOOT = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | all is well |
| 2 | a mistake in a definition or on the command line; nothing was built |
| 3 | a cell failed because a step, an engine, a repository or a file did; the other cells were finished |
| 130 | stopped by Ctrl-C; what was finished is kept |
| 129, 143 | stopped by SIGHUP or SIGTERM; what was finished is kept |
| 141 | whoever read the output closed it |

`reeval-build run` ends with the code of the command it ran (128 + N when signal N ended it), when it got so far.
"""

# What click puts before lines that it must not fill.
_KEEP_LINES = "\b\n"


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_sections(), FOOT])


def _sections() -> Iterator[str]:
    context = click.Context(cli, info_name=COMMAND)
    yield _section(cli, context)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None, "it is in the list"
        yield _section(command, click.Context(command, info_name=name, parent=context))


def _section(command: click.Command, context: click.Context) -> str:
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    parts = [f"## {context.command_path}", f"```text\n{usage}\n```", _prose(command.help or "")]
    options = [_option(option) for option in command.get_params(context) if isinstance(option, click.Option)]
    parts.append("\n".join(["| option | meaning |", "|---|---|", *options]))
    if command.epilog:
        parts.append(f"```text\n{command.epilog.replace(_KEEP_LINES, '')}\n```")
    return "\n\n".join(parts) + "\n"


def _prose(text: str) -> str:
    """Paragraphs, each on a line."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n"))


def _option(option: click.Option) -> str:
    described = option.to_info_dict()
    sentences = [option.help.strip()] if option.help else []
    if isinstance(option.type, click.Choice):
        sentences.append(f"One of {_codes(option.type.choices)}.")
    default = described["default"]
    if isinstance(default, (str, list, tuple)) and default:
        sentences.append(f"Default: {_codes([default] if isinstance(default, str) else default)}.")
    value = "" if option.is_flag else f" {_value(option)}"
    return f"| `{', '.join(option.opts)}{value}` | {' '.join(sentences)} |"


def _value(option: click.Option) -> str:
    if isinstance(option.type, click.Path):
        return "PATH"
    if isinstance(option.type, click.IntRange):
        return "NUMBER"
    return option.opts[0].lstrip("-").upper()


def _codes(values: Iterable[str]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when the page is out of date, and change nothing")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == page():
        return 0
    print(f"{PAGE} is out of date: run `python {Path(__file__).name}` in its directory", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
