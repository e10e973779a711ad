"""Runs the blocks of a page as its reader would, and compares what is printed with what the page says.

A block ```` ```console ```` has commands after `$ ` (lines after `> ` continue them) and what they print; a block
```` ```python FILE ```` (or another language) is a file that the reader makes. A page is one session, from its first
block to its last. What differs from run to run (digests, seconds) may differ, lines may come in another order,
`/home/you` is wherever the reader's home is, and `...` stands for any lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import attrs

from tests.docs.pages import CHECKOUT, Block, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONSOLE: Final = "console"
_ANY_LINES: Final = "..."
_HOME: Final = "/home/you"
_LIMIT_S: Final = 120
_VARIABLE: Final = (
    (re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b|\b[0-9a-f]{12}\b"), "<digest>"),
    (re.compile(r"\b\d+\.\d+ s\b"), "<seconds>"),
)


@attrs.frozen
class Command:
    """A command of a page, and the lines that the page says it prints."""

    text: str
    printed: tuple[str, ...]
    line: int


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block."""
    text: list[str] = []
    printed: list[str] = []
    began = block.line
    for at, line in enumerate(block.text.splitlines(), start=block.line + 1):
        if line.startswith("$ "):
            if text:
                yield Command("\n".join(text), tuple(printed), began)
            text, printed, began = [line[2:]], [], at
        elif line.startswith("> ") and not printed:
            text.append(line[2:])
        else:
            printed.append(line)
    if text:
        yield Command("\n".join(text), tuple(printed), began)


def play(page: Path, directory: Path, *, env: Mapping[str, str]) -> list[str]:
    """Do in `directory` what `page` says, and list where what happens is something else.

    A command that fails must be followed by `echo $?`.
    """
    outputs = directory.parent / "outputs"
    outputs.mkdir()
    script: list[str] = []
    played: list[Command] = []
    for block in blocks(page):
        if block.language == CONSOLE:
            for command in commands(block):
                script.append(_run(command, outputs / str(len(played))))
                played.append(command)
        elif block.argument:
            script.append(_write(block))
    subprocess.run(["sh", "-c", "\n".join(script)], cwd=directory, env=dict(env), check=True, timeout=_LIMIT_S)
    return list(_differences(page, played, outputs, home=env["HOME"]))


def environment(directory: Path) -> dict[str, str]:
    """The environment of a reader with nothing but this program, python3 and git; made below `directory`."""
    programs, home = directory / "bin", directory / "home"
    for made in (programs, home):
        made.mkdir()
    program = programs / "reeval-build"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{CHECKOUT}" exec "{sys.executable}" -m reeval_build "$@"\n')
    program.chmod(0o755)
    path = (str(programs), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Reader"), ("EMAIL", "reader@example.com"))
    }
    return {
        "PATH": os.pathsep.join(path),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TMPDIR": str(directory),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **identity,
    }


def _run(command: Command, output: Path) -> str:
    """The command in braces, so that the session stays in one shell, with `$?` left for the one after it."""
    return f'{{ (exit "${{code:-0}}")\n{command.text}\n}} >"{output}" 2>&1\ncode=$?\necho "$code" >"{output}.code"'


def _write(block: Block) -> str:
    directory = PurePosixPath(block.argument).parent
    return f"mkdir -p '{directory}'\ncat >'{block.argument}' <<'END OF BLOCK'\n{block.text}END OF BLOCK"


def _differences(page: Path, played: list[Command], outputs: Path, *, home: str) -> Iterator[str]:
    for at, command in enumerate(played):
        where = f"{page.relative_to(CHECKOUT)}:{command.line}: $ {command.text}"
        said = (outputs / str(at)).read_text(encoding="utf-8").replace(home, _HOME)
        code = (outputs / f"{at}.code").read_text().strip()
        asked = at + 1 < len(played) and played[at + 1].text == "echo $?"
        if code != "0" and not asked:
            yield f"{where}\nended with {code}:\n{said}"
        elif not _is_as_printed(command.printed, said.splitlines()):
            yield f"{where}\nprinted:\n{said}"


def _is_as_printed(expected: tuple[str, ...], found: list[str]) -> bool:
    wanted = Counter(_without_what_varies(line) for line in expected if line.strip() != _ANY_LINES)
    there = Counter(_without_what_varies(line) for line in found)
    return wanted <= there if any(line.strip() == _ANY_LINES for line in expected) else wanted == there


def _without_what_varies(line: str) -> str:
    for pattern, name in _VARIABLE:
        line = pattern.sub(name, line)
    return line.rstrip()
