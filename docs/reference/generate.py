"""Writes the pages that are made from the program itself; with --check, fails when one of them is out of date."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from reeval_build.cli import cli
from reeval_build.model.harness_recipes import NPM_PROGRAMS
from reeval_build.model.harnesses import HARNESSES
from reeval_build.model.plugins import PLUGIN_PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = Path(__file__).parent
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
| 2 | a mistake in a definition, in the lock file or on the command line; nothing was built |
| 3 | a cell failed because a step, an engine, a repository or a file did; the other cells were finished |
| 130 | stopped by Ctrl-C; what was finished is kept |
| 129, 143 | stopped by SIGHUP or SIGTERM; what was finished is kept |
| 141 | whoever read the output closed it |

`reeval-build run` ends with the code of the command it ran (128 + N when signal N ended it), when it got so far.
"""

ALL = tuple(HARNESSES.values())
ACCEPTED = {True: "yes", False: "refused"}
# A line break within a paragraph.
_PARAGRAPH = re.compile(r"(?<=[^\n])\n(?=[^\n])")

# What click puts before lines that it must not fill.
_KEEP_LINES = "\b\n"


def commands() -> str:
    """The page of the commands."""
    return "\n".join([HEAD, *_sections(), FOOT])


def _sections() -> Iterator[str]:
    yield from _group(cli, click.Context(cli, info_name=COMMAND))


def _group(group: click.Group, context: click.Context) -> Iterator[str]:
    yield _section(group, context)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, "it is in the list"
        below = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _group(command, below)
        else:
            yield _section(command, below)


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


HARNESSES_PAGE = """\
# Harnesses

<!-- Written by docs/reference/generate.py from reeval_build/model/harnesses.py; edit that, then run it. -->

What a harness decides of a sandbox, and what it is refused. What is not named
under [From where this is known](#from-where-this-is-known) is from reeval's
documentation, with one exception: where the skills of a workspace go is our
choice.

A fake harness with a `layout` has the rules file and the skill directories of
that kind, and takes every part and every hook of plugins.

## Places

Paths are in the workspace, or with `~/` in the home directory.

{places}

## Plugins

A plugin with a part that is not loaded is refused, and so is one with a
manifest that the harness would read in place of `.claude-plugin/plugin.json`.
The other columns say what of a plugin's items is accepted: MCP servers that
read a variable of the host, two servers of one name, two other items of one
name, ChatGPT apps.

{plugins}

## Hooks

The types of hooks that are run, and the events. `fake` takes every hook; a
kind that loads no hooks is not here.

{hooks}

## MCP servers

The file that they are written into; [what becomes of secrets](mcp-files.md) is
a page of its own. A name with `:` is that of a plugin's server. `fake` is given
its servers otherwise, and `fx` none.

{servers}

## Programs

What is installed for a kind that has a table in `pyproject.toml` ([how](../how-to/install-harnesses.md)): the package
of npm, and the command that says whether it works. The packages are those that the npm registry had on 2026-12-01.
Other kinds need commands of the project's own, and `fake` has no program.

{programs}

## From where this is known

Sources were read on 2026-11-30.

{origins}
"""


def harnesses() -> str:
    """The page of the harnesses."""
    tables = {
        "places": _places,
        "plugins": _plugins,
        "hooks": _hooks,
        "servers": _servers,
        "programs": _programs,
        "origins": _origins,
    }
    prose = _PARAGRAPH.sub(" ", HARNESSES_PAGE)
    return prose.format(**{name: table() for name, table in tables.items()})


def _places() -> str:
    head = ("harness", "rules", "skills it reads", "skills of the workspace")
    return _table(head, ((one.kind, *map(_code, (one.rules_file, one.skills, one.workspace_skills))) for one in ALL))


def _plugins() -> str:
    head = ("harness", "parts it loads", "its own manifest", "host variables", "servers alike", "items alike", "apps")
    return _table(
        head,
        (
            (
                one.kind,
                _codes(part for part in PLUGIN_PARTS if part in one.plugin_parts),
                _code(one.own_manifest),
                *map(
                    ACCEPTED.get,
                    (
                        one.takes_plugin_variables,
                        one.server_names_may_repeat,
                        one.item_names_may_repeat,
                        not one.offers_apps,
                    ),
                ),
            )
            for one in ALL
        ),
    )


def _hooks() -> str:
    hooks = [(one.kind, one.hooks) for one in ALL if one.hooks is not None]
    rows = ((kind, _codes(sorted(found.types)), _codes(sorted(found.events))) for kind, found in hooks)
    return _table(("harness", "types", "events"), rows)


def _servers() -> str:
    head = ("harness", "file", "form", "a variable", "SSE", "a name with `:`")
    files = [(one, one.mcp_file) for one in ALL if one.mcp_file is not None]
    return _table(
        head,
        (
            (
                one.kind,
                _code(file.path),
                file.form,
                _code(file.variable),
                file.sse if one.has_sse else "refused",
                "without the plugin" if file.has_bare_names else "kept",
            )
            for one, file in files
        ),
    )


def _programs() -> str:
    rows = ((kind, _code(program.package), _code(program.smoke)) for kind, program in NPM_PROGRAMS.items())
    return _table(("harness", "package", "is tried with"), rows)


def _origins() -> str:
    head = ("harness", "what", "source", "not certain")
    return _table(head, ((one.kind, *attrs.astuple(origin)) for one in ALL for origin in one.origins))


def _table(head: Iterable[str], rows: Iterable[Iterable[str | None]]) -> str:
    """A table whose first column is a kind of harness."""
    cells: list[list[str | None]] = [list(head), *([_code(kind), *rest] for kind, *rest in rows)]
    lines = ["| " + " | ".join(cell or "" for cell in row) + " |" for row in cells]
    lines.insert(1, "|" + "---|" * len(cells[0]))
    return "\n".join(line.replace("  ", " ") for line in lines)


def _code(text: str | None) -> str:
    return f"`{text}`" if text else ""


PAGES = {"commands.md": commands, "harnesses.md": harnesses}


def main() -> int:
    """Write the pages, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when the page is out of date, and change nothing")
    if not parser.parse_args().check:
        for name, page in PAGES.items():
            (HERE / name).write_text(page(), encoding="utf-8")
        return 0
    old = [name for name, page in PAGES.items() if (HERE / name).read_text(encoding="utf-8") != page()]
    for name in old:
        print(f"{HERE / name} is out of date: run `python {Path(__file__).name}` in its directory", file=sys.stderr)
    return bool(old)


if __name__ == "__main__":
    sys.exit(main())
