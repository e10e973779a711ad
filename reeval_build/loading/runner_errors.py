"""What can go wrong when an eval file is loaded, each as one clause after the name of the file."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from reeval_build.errors import DefinitionError

if TYPE_CHECKING:
    from reeval_build.loading.runner_interpreters import Interpreter


class EvalFileError(DefinitionError):
    """An eval file cannot be loaded."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(problem, file=file)


class NotInProjectError(EvalFileError):
    """The file is not below the project's root, from where a runner loads files."""

    def __init__(self, file: str, root: str) -> None:
        super().__init__(file, f"it is not in the project {root}")
        self.root = root


class RaisedError(EvalFileError):
    """The file raised an exception while it was loaded. `message` is clean, and names the line where there is one."""

    def __init__(self, file: str, name: str, message: str, *, interpreter: Interpreter, root: str) -> None:
        problem = f"{name}: {message}"
        if name in {"ModuleNotFoundError", "ImportError"}:
            problem += f"; imports resolve from {root}, with {interpreter.shown}"
        elif message.endswith("is not JSON serializable"):
            problem += "; options of evals and what define_environment takes are data, not callbacks or other objects"
        super().__init__(file, problem)
        self.name, self.said = name, message


class RunnerEndedError(EvalFileError):
    """The runner ended without an answer. `code` is None when it only closed its output; `said` is its last line."""

    def __init__(self, file: str, code: int | None, said: str, *, loading: bool, interpreter: Interpreter) -> None:
        python = "the Python that loads it" if loading else interpreter.shown
        what = f"{python} closed its output" if code is None else f"{python} ended{_how(code)}"
        super().__init__(file, f"{what} before it was loaded" + (f": {said}" if said else ""))
        self.code, self.said = code, said


class NoReevalPythonError(EvalFileError):
    """The interpreter has no reeval-python."""

    def __init__(self, file: str, interpreter: Interpreter) -> None:
        super().__init__(
            file,
            f"reeval-python is not installed for {interpreter.shown} (install it: {interpreter.install}; "
            "or name another Python in REEVAL_PYTHON)",
        )
        self.interpreter = interpreter


class NotStartedError(EvalFileError):
    """The interpreter cannot be started."""

    def __init__(self, file: str, interpreter: Interpreter, reason: str) -> None:
        super().__init__(
            file,
            f"{interpreter.shown}, which is to load it, cannot be started: {reason} "
            "(REEVAL_PYTHON can name another Python)",
        )
        self.interpreter, self.reason = interpreter, reason


class NoInterpreterError(EvalFileError):
    """There is nothing to load it with."""

    def __init__(self, file: str) -> None:
        super().__init__(
            file,
            "there is no Python to load it with: no .venv in its project, and no python3 on the PATH "
            "(name one in REEVAL_PYTHON)",
        )


class OtherProtocolError(EvalFileError):
    """The runner and we do not understand each other. `sentence` is the runner's own where it has one."""

    def __init__(self, file: str, sentence: str) -> None:
        super().__init__(file, sentence)
        self.sentence = sentence


class TooSlowError(EvalFileError):
    """No answer came within the time."""

    def __init__(self, file: str, timeout_s: float, *, loading: bool, interpreter: Interpreter) -> None:
        limit = f"within {timeout_s:g} s"
        problem = (
            f"it did not load {limit} (what it does while it is imported must come to an end)"
            if loading
            else f"{interpreter.shown} was not ready to load it {limit}"
        )
        super().__init__(file, problem)
        self.timeout_s = timeout_s


class UnreadableAnswerError(EvalFileError):
    """The runner answered with something else than the protocol has. `reason` has the answer as its subject."""

    def __init__(self, file: str, reason: str, *, loading: bool, interpreter: Interpreter) -> None:
        subject = "what it declares" if loading else f"what {interpreter.shown} says first"
        super().__init__(file, f"{subject} {reason}")
        self.reason = reason


def _how(code: int) -> str:
    if code >= 0:
        return f" with exit code {code}"
    try:
        return f" by {signal.Signals(-code).name}"
    except ValueError:
        return f" by signal {-code}"
