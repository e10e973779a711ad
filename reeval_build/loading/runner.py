"""Loads an eval file in a Python of its project, through the runner of reeval-python (protocol 3)."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build.loading.declarations_json import JsonError, parse_json
from reeval_build.loading.eval_names import quoted
from reeval_build.loading.runner_errors import (
    EvalFileError,
    NoInterpreterError,
    NoReevalPythonError,
    NotInProjectError,
    NotStartedError,
    OtherProtocolError,
    RaisedError,
    RunnerEndedError,
    TooSlowError,
    UnreadableAnswerError,
)
from reeval_build.loading.runner_interpreters import Interpreter, interpreters, project_root
from reeval_build.loading.runner_messages import Clause, line_of, with_line
from reeval_build.loading.runner_output import NOT_INSTALLED, OTHER_PROTOCOL, RunnerOutput
from reeval_build.loading.runner_process import MOST_LINE_BYTES, RunnerProcess, Silence
from reeval_build.paths import display

if TYPE_CHECKING:
    from collections.abc import Sequence

PROTOCOL: Final = 3
LOAD_TIMEOUT_S: Final = 60.0
# uv may have to make the project's environment first.
START_TIMEOUT_S: Final = 300.0


def collect(
    file: Path,
    *,
    shown: str | None = None,
    root: Path | None = None,
    candidates: Sequence[Interpreter] | None = None,
    timeout_s: float = LOAD_TIMEOUT_S,
    start_timeout_s: float = START_TIMEOUT_S,
) -> Mapping[str, Any]:
    """The declaration tree of an eval file, as JSON says it. One process, which is gone when this returns.

    What the file prints goes to our standard error.

    Args:
        file: the eval file.
        shown: how messages name it; the default is `file` as it is.
        root: where its imports resolve from; by default `project_root(file)`.
        candidates: the Pythons to load it with, each tried when those before it have no reeval-python; by default
            `interpreters(root, os.environ)`.
        timeout_s: how long the file may take to load.
        start_timeout_s: how long the runner may take to be ready.

    Raises:
        EvalFileError: when the file is not there or not below `root`, fails or does not end while it is loaded, ends
            the runner, or there is no runner that speaks our protocol.
    """
    shown = display(os.fsencode(file)) if shown is None else shown
    _check_is_file(file, shown)
    root = (project_root(file) if root is None else root).absolute()
    relative = _relative(file, root, shown)
    candidates = interpreters(root, os.environ) if candidates is None else candidates
    if not candidates:
        raise NoInterpreterError(shown)
    missing: NoReevalPythonError | None = None
    for interpreter in candidates:
        load = _Load(file=root / relative, shown=shown, root=root, interpreter=interpreter)
        try:
            return load.run(timeout_s=timeout_s, start_timeout_s=start_timeout_s)
        except NoReevalPythonError as error:
            missing = missing or error
    assert missing is not None, "every candidate lacks it"
    raise missing


def _check_is_file(file: Path, shown: str) -> None:
    try:
        mode = file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise EvalFileError(shown, "there is no such file") from error
    except OSError as error:
        raise EvalFileError(shown, f"it cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise EvalFileError(shown, "its name has a NUL in it") from error
    if not stat.S_ISREG(mode):
        raise EvalFileError(shown, "it is not a file")


def _relative(file: Path, root: Path, shown: str) -> Path:
    """The path of a file below the root. The file itself may be a link; where its directory is decides."""
    file = file.absolute()
    if ".." not in file.parts and file.is_relative_to(root):
        return file.relative_to(root)
    directory, resolved_root = file.parent.resolve(), root.resolve()
    if not directory.is_relative_to(resolved_root):
        raise NotInProjectError(shown, display(os.fsencode(root)))
    return directory.relative_to(resolved_root) / file.name


@attrs.frozen(kw_only=True)
class _Load:
    """One attempt to load one file with one interpreter."""

    file: Path
    shown: str
    root: Path
    interpreter: Interpreter

    clean: Clause = attrs.field(factory=lambda: Clause(os.environ))
    output: RunnerOutput = attrs.field(factory=lambda: RunnerOutput(sys.stderr))

    def run(self, *, timeout_s: float, start_timeout_s: float) -> Mapping[str, Any]:
        try:
            runner = RunnerProcess(
                (*self.interpreter.command, "-m", "reeval_python"), cwd=self.root, env=self._env(), output=self.output
            )
        except OSError as error:
            raise NotStartedError(self.shown, self.interpreter, error.strerror or "no reason given") from error
        died = False
        try:
            with runner:
                self._check_hello(self._receive(runner, start_timeout_s, loading=False))
                relative = str(self.file.relative_to(self.root))
                runner.send(json.dumps({"t": "collect", "file": relative}).encode())
                tree = self._tree(self._receive(runner, timeout_s, loading=True), relative)
                runner.end()
                return tree
        except (NoReevalPythonError, OtherProtocolError, RunnerEndedError):
            died = True
            raise
        finally:
            self.output.finish(died=died)

    def _env(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
        return {
            **inherited,
            "REEVAL_RUNNER": "stdio",
            "REEVAL_RUNNER_PROTOCOL": str(PROTOCOL),
            "REEVAL_PROJECT_ROOT": str(self.root),
            # Python tells what it compiled by size and second: an edit that comes quickly would not be seen.
            "PYTHONDONTWRITEBYTECODE": "1",
            # Tracebacks are read here.
            "PYTHON_COLORS": "0",
        }

    def _receive(self, runner: RunnerProcess, timeout_s: float, *, loading: bool) -> Mapping[str, Any]:
        line = runner.receive(timeout_s)
        if line is Silence.TIME:
            raise TooSlowError(self.shown, timeout_s, loading=loading, interpreter=self.interpreter)
        if line is Silence.ENDED:
            raise self._ended(runner, loading=loading)
        reason = f"is longer than {MOST_LINE_BYTES // 1024 // 1024} MiB"
        if isinstance(line, bytes):
            try:
                value = parse_json(line)
            except JsonError as error:
                reason = f"{error} ({quoted(self.clean(line[:200].decode('utf-8', 'backslashreplace')))})"
            else:
                if isinstance(value, Mapping):
                    return value
                reason = "is not a message of its protocol"
        raise UnreadableAnswerError(self.shown, self.clean(reason), loading=loading, interpreter=self.interpreter)

    def _ended(self, runner: RunnerProcess, *, loading: bool) -> EvalFileError:
        code = runner.end()
        said = self.output.last_line
        if not loading and NOT_INSTALLED in said:
            return NoReevalPythonError(self.shown, self.interpreter)
        if not loading and OTHER_PROTOCOL in said:
            return OtherProtocolError(self.shown, self.clean(said))
        clause = with_line(self.clean(said), line_of(self.file, self.output.held), file=self.file)
        return RunnerEndedError(self.shown, code, clause, loading=loading, interpreter=self.interpreter)

    def _check_hello(self, message: Mapping[str, Any]) -> None:
        if message.get("t") != "hello":
            raise UnreadableAnswerError(self.shown, "is not a hello", loading=False, interpreter=self.interpreter)
        if message.get("protocol") != PROTOCOL:
            theirs, version = (self.clean(str(message.get(name))) for name in ("protocol", "version"))
            sentence = (
                f"reeval-python {version} speaks runner protocol {theirs}, but reeval-build speaks {PROTOCOL}: "
                "use a reeval-python version that matches it."
            )
            raise OtherProtocolError(self.shown, sentence)

    def _tree(self, message: Mapping[str, Any], relative: str) -> Mapping[str, Any]:
        match message:
            case {"t": "declared", "file": str(file), "tree": dict(tree)} if file == relative:
                return tree
            case {"t": "load-error", "error": {"name": str(name), "message": str(text), **rest}}:
                line = line_of(self.file, str(rest.get("stack", "")))
                clause = with_line(self.clean(text) or "no message", line, file=self.file)
                root = display(os.fsencode(self.root))
                raise RaisedError(self.shown, self.clean(name), clause, interpreter=self.interpreter, root=root)
        raise UnreadableAnswerError(self.shown, "is not a declaration", loading=True, interpreter=self.interpreter)
