"""Commands in a sandbox: what they see, what comes back, and how they are ended."""

from __future__ import annotations

import io
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import docker
import pytest

from reeval_build.errors import CancelledError
from reeval_build.ports.engine import CommandTimeoutError
from tests.support.engine import PrivateEngine, restore_base_images
from tests.support.workbench import Workbench, run, succeed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.engines.docker.sandbox import ContainerSandbox
    from reeval_build.state.state import State


@pytest.fixture(scope="module")
def bench(engine: PrivateEngine, tmp_path_factory) -> Iterator[Workbench]:
    restore_base_images(engine)
    with closing(Workbench(engine.url, tmp_path_factory.mktemp("bench"))) as made:
        yield made


@pytest.fixture(scope="module")
def state(bench: Workbench, engine: PrivateEngine) -> State:
    return bench.place(bench.base(engine.busybox), "workspace", {"sub/file": b"in the workspace\n"})


@pytest.fixture(scope="module")
def shared(bench: Workbench, state: State) -> Iterator[ContainerSandbox]:
    """A sandbox that no test ends."""
    with bench.sandbox(state) as sandbox:
        yield sandbox


class Reached(io.BytesIO):
    """A stream that tells when a text has been written to it."""

    def __init__(self, text: bytes) -> None:
        super().__init__()
        self._text = text
        self.event = threading.Event()

    def write(self, data) -> int:
        written = super().write(data)
        if self._text in self.getvalue():
            self.event.set()
        return written


@pytest.mark.parametrize(
    ("script", "code"),
    [("true", 0), ("exit 3", 3), ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("no-such-program", 127)],
)
def test_the_exit_code_is_what_a_shell_would_say(shared, script, code):
    assert run(shared, script).code == code


@pytest.mark.parametrize("command", ["no-such-program", "/no/such/program"])
def test_a_missing_program_is_127_and_a_message(shared, command):
    stderr = io.BytesIO()

    code = shared.execute([command], cwd=".", env={}, stdout=io.BytesIO(), stderr=stderr)

    assert code == 127
    assert b"not found" in stderr.getvalue()


def test_the_two_outputs_arrive_apart_and_whole(shared):
    result = run(shared, "seq 1 100000; seq 1 50000 >&2")

    assert result.stdout == b"".join(b"%d\n" % number for number in range(1, 100001))
    assert result.stderr == b"".join(b"%d\n" % number for number in range(1, 50001))


def test_output_arrives_while_the_command_runs(shared):
    stdout = Reached(b"first\n")
    answer = threading.Thread(target=lambda: stdout.event.wait(60) and run(shared, "touch /tmp/go"))
    answer.start()

    code = shared.execute(
        ["sh", "-c", "echo first; while [ ! -e /tmp/go ]; do usleep 10000; done; echo second"],
        cwd=".",
        env={},
        stdout=stdout,
        stderr=io.BytesIO(),
    )

    answer.join()
    assert (code, stdout.getvalue()) == (0, b"first\nsecond\n")


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [(".", b"/workspace\n"), ("sub", b"/workspace/sub\n"), ("/tmp", b"/tmp\n"), ("sub/..", b"/workspace\n")],  # noqa: S108
)
def test_commands_run_where_they_are_told_to(shared, cwd, expected):
    assert run(shared, "pwd", cwd=cwd).stdout == expected


def test_a_directory_that_is_not_there_is_an_error_of_the_command(shared):
    result = run(shared, "echo ran", cwd="no such directory")

    assert result.code != 0
    assert result.stdout == b""
    assert b"/workspace/no such directory" in result.stderr


def test_a_command_sees_its_environment_and_the_home_directory(shared):
    result = run(shared, "echo $HOME $COLOUR; id -u", COLOUR="dark green")

    assert result.stdout == b"/root dark green\n0\n"


def test_the_environment_of_one_command_does_not_reach_the_next(shared):
    run(shared, "true", COLOUR="green")

    assert run(shared, "echo ${COLOUR-none}").stdout == b"none\n"


def test_home_can_be_given(shared):
    assert run(shared, "echo $HOME", HOME="/elsewhere").stdout == b"/elsewhere\n"


def test_arguments_arrive_as_they_are(shared):
    stdout = io.BytesIO()
    arguments = ["a b", "", "$HOME", "'\"", "-n", "line\nbreak", "é"]

    shared.execute(["printf", "[%s]", *arguments], cwd=".", env={}, stdout=stdout, stderr=io.BytesIO())

    assert stdout.getvalue().decode() == "".join(f"[{argument}]" for argument in arguments)


def test_standard_input_is_empty(shared):
    assert run(shared, "cat; echo end").stdout == b"end\n"


def test_a_process_in_the_background_does_not_hold_up_the_end_of_its_command(shared):
    assert run(shared, "sleep 1000 & echo started").stdout == b"started\n"


def test_a_process_whose_parent_ended_is_collected(shared):
    succeed(shared, "(true & echo $! > /tmp/orphan)")

    assert run(shared, "while kill -0 $(cat /tmp/orphan); do usleep 10000; done", timeout_s=60).code == 0


def test_a_command_that_takes_too_long_ends_with_all_it_started(bench, state, engine):
    with bench.sandbox(state) as sandbox, closing(docker.APIClient(base_url=engine.url)) as client:
        with pytest.raises(CommandTimeoutError) as caught:
            run(sandbox, "setsid sh -c 'sleep 2; echo late > /workspace/late' & sleep 1000", timeout_s=0.5)
        is_running = client.inspect_container(sandbox.container)["State"]["Running"]
        with bench.objects.batch() as batch:
            changes = sandbox.capture(batch)

    assert caught.value.timeout_s == 0.5
    assert not is_running
    assert changes == ()


def test_a_time_limit_that_is_not_reached_changes_nothing(shared):
    assert run(shared, "echo in time", timeout_s=600).stdout == b"in time\n"


def test_a_command_ends_when_the_run_is_told_to_stop(bench, state, engine):
    stdout = Reached(b"started\n")
    stop = threading.Thread(target=lambda: stdout.event.wait(60) and bench.cancel.set())
    stop.start()
    try:
        with bench.sandbox(state) as sandbox, closing(docker.APIClient(base_url=engine.url)) as client:
            with pytest.raises(CancelledError):
                sandbox.execute(
                    ["sh", "-c", "echo started; exec sleep 1000"], cwd=".", env={}, stdout=stdout, stderr=io.BytesIO()
                )
            assert not client.inspect_container(sandbox.container)["State"]["Running"]
    finally:
        stop.join()
        bench.cancel.clear()


def test_reading_the_changes_ends_what_is_still_running(bench, state):
    with bench.sandbox(state) as sandbox, bench.objects.batch() as batch:
        succeed(sandbox, "setsid sh -c 'while :; do date > /workspace/now; done' > /dev/null 2>&1 &")
        succeed(sandbox, "while [ ! -s /workspace/now ]; do usleep 10000; done")
        first = sandbox.capture(batch)
        second = sandbox.capture(batch)

    assert first == second


def test_a_sandbox_is_gone_after_its_block_even_when_that_fails(bench, state, engine):
    def fail() -> None:
        with bench.sandbox(state) as sandbox:
            names.append(sandbox.container)
            raise LookupError

    names: list[str] = []
    with pytest.raises(LookupError):
        fail()

    with closing(docker.APIClient(base_url=engine.url)) as client, pytest.raises(docker.errors.NotFound):
        client.inspect_container(names[0])
