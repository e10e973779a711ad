"""Runs the real command in a process of its own, on a store of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

import reeval_build
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CHECKOUT: Final = Path(reeval_build.__file__).parents[1]
_TIMEOUT_S: Final = 120.0

# What runs under nohup, or in the background of a script, ignores these signals, and so would every child. A handler,
# unlike that, is not passed on.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda _signal, _frame: None)


@attrs.frozen
class Done:
    """How a command ended and what it wrote; bytes that are not UTF-8 are surrogates."""

    code: int
    stdout: str
    stderr: str

    @property
    def messages(self) -> list[str]:
        """The lines of standard error that are said to the user, rather than progress."""
        return [line for line in self.stderr.splitlines() if line.startswith("reeval: ")]


@attrs.frozen
class Built(Done):
    """A `build --json` that ended."""

    @property
    def value(self) -> Any:
        """The object on standard output."""
        return json.loads(self.stdout)

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The nodes."""
        nodes: list[dict[str, Any]] = self.value["nodes"]
        return nodes

    @property
    def summary(self) -> dict[str, float]:
        """How many nodes ended how."""
        summary: dict[str, float] = self.value["summary"]
        return summary

    def labels(self, status: str) -> list[str]:
        """`PHASE LABEL` of every node that ended so, sorted."""
        return sorted(f"{node['phase']} {node['label']}" for node in self.nodes if node["status"] == status)

    def phases(self, status: str) -> list[str]:
        """The phase of every node that ended so, sorted."""
        return sorted(node["phase"] for node in self.nodes if node["status"] == status)

    @property
    def ran(self) -> list[str]:
        """`PHASE LABEL` of every node that ran."""
        return self.labels("ran")

    @property
    def snapshots(self) -> dict[str, str | None]:
        """The snapshot of each cell, by name."""
        return {cell["name"]: cell["snapshot"] for cell in self.value["cells"]}

    @property
    def keys(self) -> dict[str, str]:
        """Every key there is, by what has it."""
        cells = {f"cell {cell['name']}": cell["key"] for cell in self.value["cells"]}
        return cells | {f"{node['phase']} {node['label']} {node['cells']}": node["key"] for node in self.nodes}


class ReevalBuild:
    """The command, run in `directory` with `store` as its store.

    Its environment is nothing of what the tests run in but where programs are, and `env`; it is started by way of
    the command `prefix`. Without `names_store` the command chooses the store itself.
    """

    def __init__(
        self,
        directory: Path,
        store: Path,
        *,
        env: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
        names_store: bool = True,
    ) -> None:
        self.directory = directory
        self.store = store
        self.env = dict(env or {})
        self.prefix = list(prefix)
        self.names_store = names_store

    def __call__(self, command: str, *arguments: str | Path, code: int = 0, **options: Any) -> Done:
        """The command, run to its end, which must have this exit code."""
        done = finish(self.start(command, *arguments, **options))
        assert done.code == code, f"exit code {done.code}\n{done.stdout}\n{done.stderr}"
        return done

    def build(self, *arguments: str | Path, code: int = 0, **options: Any) -> Built:
        """`build --json`."""
        done = self("build", *arguments, "--json", code=code, **options)
        return Built(done.code, done.stdout, done.stderr)

    def copied(self, cell: str, directory: Path, **options: Any) -> Path:
        """A copy in `directory` of what a cell on the fake sandbox starts with: its `workspace` and its `home`."""
        directory.mkdir()
        self("run", cell, "--", "sh", "-c", 'cp -a . "$0/workspace" && cp -a ~ "$0/home"', directory, **options)
        return directory

    def start(self, command: str, *arguments: str | Path, **options: Any) -> subprocess.Popen[bytes]:
        """The command, running in a process group of its own; `options` are Popen's."""
        place = [] if command.startswith("-") or not self.names_store else ["--store", str(self.store)]
        defaults = {
            "cwd": self.directory,
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "process_group": 0,
        }
        env = {**self.surroundings(), **options.pop("env", {})}
        program = [*self.prefix, sys.executable, "-m", "reeval_build"]
        started: subprocess.Popen[bytes] = subprocess.Popen(
            [*program, *command.split(), *place, *map(str, arguments)], env=env, **{**defaults, **options}
        )
        return started

    def surroundings(self) -> dict[str, str]:
        """The environment of the command."""
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(_CHECKOUT),
            "LANG": "C.UTF-8",
            "HOME": str(self.directory),
            **self.env,
        }


def finish(process: subprocess.Popen[bytes]) -> Done:
    """How a command that was started ends. None of them may ever show a traceback."""
    try:
        stdout, stderr = process.communicate(timeout=_TIMEOUT_S)
    except BaseException:
        kill(process)
        raise
    done = Done(process.returncode, _text(stdout), _text(stderr))
    assert "Traceback" not in done.stderr + done.stdout, done.stderr + done.stdout
    return done


def kill(process: subprocess.Popen[bytes], *, group: bool = True) -> None:
    """Kill a command, by default with its whole process group, and wait for its end."""
    with suppress(ProcessLookupError):
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def sandbox_processes(store: Path) -> list[int]:
    """The processes that run in sandboxes of a store."""
    mark = b"REEVAL_BUILD_SANDBOX=" + os.fsencode(store.resolve()) + b"/"
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


def end_sandboxes(store: Path) -> None:
    """End what a test that failed left running."""
    for pid in sandbox_processes(store):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def assert_nothing_is_left(store: Path) -> None:
    """A store in which nothing runs has no temporary file, lock, lease or sandbox; it need not have been made yet."""
    left = [str(path) for name in ("tmp", "locks", "leases") for path in (store / name).rglob("*")]
    assert left == [], left
    wait_until(lambda: not sandbox_processes(store))


def _text(output: bytes | None) -> str:
    return (output or b"").decode("utf-8", "surrogateescape")
