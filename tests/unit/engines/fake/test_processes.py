from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reeval_build.engines.fake import processes
from reeval_build.engines.fake.processes import ProcessesRemainError, end_processes, run
from reeval_build.engines.fake.removal import discard
from reeval_build.errors import CancelledError
from reeval_build.ports.engine import CommandTimeoutError
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")

ESCAPE = [
    sys.executable,
    "-c",
    "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)",
]


@pytest.fixture
def left(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the sandbox at `tmp_path`."""
    env = {"REEVAL_BUILD_SANDBOX": str(tmp_path)}
    with subprocess.Popen(["sleep", "1000"], env=env, start_new_session=True) as process:
        try:
            wait_until(lambda: b"REEVAL" in Path(f"/proc/{process.pid}/environ").read_bytes())
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def ignored(_pid: int, _signal: int) -> None:
    """What a process that hangs in the kernel makes of a signal."""


def forbidden(_pid: int, _signal: int) -> None:
    """What another user's process makes of it."""
    raise PermissionError


@pytest.fixture(params=[ignored, forbidden])
def kill(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Nothing can be killed any more but through what this is: the true `os.kill`."""
    kill = os.kill
    monkeypatch.setattr("reeval_build.engines.fake.processes.os.kill", request.param)
    monkeypatch.setattr(processes, "_END_WITHIN_S", 0.2)
    return kill


def test_a_process_of_a_sandbox_or_of_one_below_it_is_ended(left, tmp_path):
    end_processes(tmp_path.parent)

    assert left.wait(10) == -signal.SIGKILL


def test_a_process_of_another_sandbox_whose_name_starts_alike_is_not(left, tmp_path):
    end_processes(tmp_path.with_name(tmp_path.name[:-1]))

    assert left.poll() is None


@pytest.mark.usefixtures("kill")
def test_processes_that_cannot_be_ended_are_named_after_a_while(left, tmp_path):
    with pytest.raises(ProcessesRemainError, match=str(left.pid)) as caught:
        end_processes(tmp_path)

    assert caught.value.pids == (left.pid,)


@pytest.mark.usefixtures("kill", "left")
def test_a_leftover_directory_is_removed_though_a_process_of_it_cannot_be_ended(tmp_path):
    (tmp_path / "scratch").mkdir()

    discard(tmp_path / "scratch")

    assert not (tmp_path / "scratch").exists()


def execute(sandbox: Path, command: list[str], *, timeout_s: float | None = None, cancel: bool = False) -> int:
    event = threading.Event()
    if cancel:
        event.set()
    return run(
        command,
        sandbox=sandbox,
        cwd=bytes(sandbox),
        env={},
        stdout=io.BytesIO(),
        stderr=io.BytesIO(),
        timeout_s=timeout_s,
        cancel=event,
    )


def test_a_command_that_leaves_a_process_that_cannot_be_ended_fails_with_its_number(kill, tmp_path):
    with pytest.raises(ProcessesRemainError) as caught:
        execute(tmp_path, ESCAPE)

    for pid in caught.value.pids:
        kill(pid, signal.SIGKILL)
    assert caught.value.pids


@pytest.mark.parametrize(
    ("limits", "expected"), [({"timeout_s": 0.1}, CommandTimeoutError), ({"cancel": True}, CancelledError)]
)
@pytest.mark.usefixtures("kill", "left")
def test_a_process_that_cannot_be_ended_does_not_hide_why_the_command_was_stopped(tmp_path, limits, expected):
    with pytest.raises(expected):
        execute(tmp_path, ["sleep", "1000"], **limits)
