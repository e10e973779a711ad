"""Commands in a sandbox of any engine: what they see, what comes back, and how they end."""

from __future__ import annotations

import io
import threading
import time
from typing import TYPE_CHECKING

import pytest

from reeval_build.errors import CancelledError
from reeval_build.model.start_options import StartOptions
from reeval_build.ports.engine import CommandTimeoutError
from tests.contract.engine_bench import Bench, run, shell, succeed

if TYPE_CHECKING:
    from collections.abc import Callable


class CommandContract:
    """See `tests.contract.engine_suite`."""

    @pytest.mark.conforms("83")
    def test_a_command_runs_in_the_workspace_and_its_outputs_are_kept_apart(self, bench: Bench):
        with bench.start(bench.workspace({"a": b"in a file\n"})) as sandbox:
            assert shell(sandbox, "cat a; echo err >&2; echo out") == (0, b"in a file\nout\n", b"err\n")

    def test_the_exit_code_is_the_commands_or_says_which_signal_ended_it(self, bench: Bench):
        codes = {
            "true": 0,
            "exit 3": 3,
            "exit 255": 255,
            "kill -KILL $$": 137,
            "kill -TERM $$": 143,
            "no-such-one": 127,
        }

        with bench.start(bench.workspace()) as sandbox:
            assert {script: shell(sandbox, script)[0] for script in codes} == codes

    def test_a_command_that_failed_by_itself_was_not_killed_for_memory(self, bench: Bench):
        with bench.start(bench.workspace()) as sandbox:
            assert shell(sandbox, "exit 3")[0] == 3
            assert not sandbox.was_killed_for_memory()
            assert shell(sandbox, "kill -KILL $$")[0] == 137
            assert not sandbox.was_killed_for_memory()

    def test_what_a_sandbox_may_use_changes_nothing_of_what_a_command_leaves(self, bench: Bench):
        state = bench.workspace({"a": b"a"})
        options = StartOptions(
            cpus=500, memory_bytes=2**30, swap_bytes=0, pids=1000, capabilities=frozenset({"NET_ADMIN"})
        )

        with bench.start(state, options) as sandbox, bench.objects.batch() as batch:
            succeed(sandbox, "echo more >> a")
            limited = state.on_top(bench.capture(sandbox, batch))

        assert bench.tree(limited) == bench.tree(bench.step(state, "echo more >> a"))

    def test_a_program_that_is_not_there_is_an_exit_code_and_a_message(self, bench: Bench):
        with bench.start(bench.workspace()) as sandbox:
            code, stdout, stderr = run(sandbox, "/no/such/program")

        assert (code, stdout) == (127, b"")
        assert stderr

    @pytest.mark.parametrize("name", ["é", "\n"], ids=ascii)
    def test_a_program_and_a_directory_that_are_not_there_may_have_any_name(self, bench: Bench, name: str):
        with bench.start(bench.workspace()) as sandbox:
            no_program = run(sandbox, f"/no/such/{name}")
            no_directory = run(sandbox, "/bin/sh", "-c", "echo ran", cwd=name)

        assert (no_program[0], no_program[1]) == (127, b"")
        assert no_directory[0] != 0
        assert no_directory[1] == b""

    @pytest.mark.conforms("83")
    def test_a_relative_working_directory_is_in_the_workspace_and_an_absolute_one_is_not(self, bench: Bench):
        with bench.start(bench.workspace({"sub/deep/a": b"here"})) as sandbox:
            assert shell(sandbox, "cat a", cwd="sub/deep")[1] == b"here"
            assert shell(sandbox, "cat deep/a", cwd="./sub/")[1] == b"here"
            assert shell(sandbox, "pwd", cwd="/")[1] == b"/\n"

    def test_a_working_directory_that_is_not_there_fails_and_runs_nothing(self, bench: Bench):
        with bench.start(bench.workspace()) as sandbox:
            code, stdout, stderr = shell(sandbox, "echo ran", cwd="missing")

        assert code != 0
        assert stdout == b""
        assert b"missing" in stderr

    def test_a_variable_reaches_one_command_as_it_is_and_no_other(self, bench: Bench):
        value = "a 'b' \"c\" $HOME \\ é=\n\tend"
        with bench.start(bench.workspace()) as sandbox:
            said = shell(sandbox, 'printf %s "$GIVEN"; printf %s "[$EMPTY]"', GIVEN=value, EMPTY="")
            later = shell(sandbox, 'printf %s "${GIVEN-gone}"')

        assert said == (0, value.encode() + b"[]", b"")
        assert later == (0, b"gone", b"")

    def test_nothing_of_the_hosts_environment_reaches_a_command_but_path_and_home_are_there(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("REEVAL_BUILD_TEST_SECRET", "hunter2")
        with bench.start(bench.workspace()) as sandbox:
            code, stdout, _stderr = shell(sandbox, 'env; test -d "$HOME"; test -n "$PATH"')

        assert code == 0
        assert b"hunter2" not in stdout

    def test_arguments_reach_a_program_as_they_are(self, bench: Bench):
        arguments = ["a b", "", "$HOME", "'\"", "-n", "line\nbreak", "é", "*"]
        with bench.start(bench.workspace()) as sandbox:
            code, stdout, _stderr = run(sandbox, "/bin/sh", "-c", 'printf "[%s]" "$@"', "sh", *arguments)

        assert (code, stdout.decode()) == (0, "".join(f"[{argument}]" for argument in arguments))

    def test_standard_input_is_empty(self, bench: Bench):
        with bench.start(bench.workspace()) as sandbox:
            assert shell(sandbox, "cat; echo end")[1] == b"end\n"

    def test_much_output_on_both_sides_comes_whole(self, bench: Bench):
        script = 'i=0; while [ $i -lt 20000 ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); done'
        with bench.start(bench.workspace()) as sandbox:
            code, stdout, stderr = shell(sandbox, script)

        assert code == 0
        assert stdout == b"".join(b"out %d\n" % number for number in range(20000))
        assert stderr == b"".join(b"err %d\n" % number for number in range(20000))

    def test_output_may_be_any_bytes(self, bench: Bench):
        with bench.start(bench.workspace()) as sandbox:
            assert shell(sandbox, r"printf '\000\377\r\n\001'")[1] == b"\0\xff\r\n\1"

    def test_commands_of_one_sandbox_see_what_those_before_them_did(self, bench: Bench):
        with bench.start(bench.workspace()) as sandbox:
            succeed(sandbox, "echo one > a")
            succeed(sandbox, "echo two >> a")
            assert succeed(sandbox, "cat a") == "one\ntwo\n"

    def test_a_process_in_the_background_does_not_hold_up_the_end_of_a_command(self, bench: Bench):
        with bench.start(bench.workspace()) as sandbox:
            assert shell(sandbox, "sleep 1000 & echo started")[:2] == (0, b"started\n")

    @pytest.mark.conforms("86", "fault 34")
    def test_a_command_that_takes_too_long_is_ended_with_its_children_in_whatever_session(self, bench: Bench):
        script = (
            "echo early > early; (setsid sh -c 'sleep 2; echo late > late' &); (sleep 2; echo late > late2) & sleep 60"
        )
        state = bench.workspace()
        with bench.start(state) as sandbox, bench.objects.batch() as batch:
            with pytest.raises(CommandTimeoutError) as caught:
                shell(sandbox, script, timeout_s=1)
            time.sleep(2.5)
            after = state.on_top(bench.capture(sandbox, batch))

        assert caught.value.timeout_s == 1
        assert str(caught.value) == "timed out after 1 s"
        assert bench.tree(after) == {b"early": "early\n"}

    def test_a_time_limit_that_is_not_reached_changes_nothing(self, bench: Bench):
        with bench.start(bench.workspace()) as sandbox:
            assert shell(sandbox, "echo done", timeout_s=1000)[:2] == (0, b"done\n")

    @pytest.mark.conforms("fault 34")
    def test_what_is_still_running_is_ended_before_changes_are_read(self, bench: Bench):
        state = bench.workspace()
        with bench.start(state) as sandbox, bench.objects.batch() as batch:
            succeed(sandbox, "echo now > now; (setsid sh -c 'sleep 1; echo late > late' > /dev/null 2>&1 &)")
            after = state.on_top(bench.capture(sandbox, batch))
            time.sleep(1.5)
            again = state.on_top(bench.capture(sandbox, batch))

        assert bench.tree(after) == bench.tree(again) == {b"now": "now\n"}

    @pytest.mark.conforms("fault 37")
    def test_a_command_ends_when_the_run_is_told_to_stop(self, bench: Bench):
        cancel = threading.Event()
        started = _Reached(b"started\n", cancel.set)

        with (
            bench.engine.start(bench.workspace(), cancel=cancel) as sandbox,
            pytest.raises(CancelledError),
        ):
            sandbox.execute(
                ["/bin/sh", "-c", "echo started; sleep 1000"], cwd=".", env={}, stdout=started, stderr=io.BytesIO()
            )

        assert bench.leftovers() == []

    @pytest.mark.conforms("fault 33")
    @pytest.mark.parametrize("script", ["true", "mkdir d; touch d/f; chmod 555 d", "mkdir -p d/e; chmod 0 d/e d"])
    def test_nothing_is_left_of_a_sandbox_even_when_its_block_fails_and_its_directories_are_closed(
        self, bench: Bench, script: str
    ):
        with bench.start(bench.workspace({"a": b"x"})) as sandbox:
            succeed(sandbox, script)
        assert bench.leftovers() == []

        with pytest.raises(LookupError):
            _fail_in_a_sandbox(bench, script)

        assert bench.leftovers() == []


def _fail_in_a_sandbox(bench: Bench, script: str) -> None:
    with bench.start(bench.workspace({"a": b"x"})) as sandbox:
        succeed(sandbox, script)
        raise LookupError


class _Reached(io.BytesIO):
    """A stream that calls when a text has been written to it."""

    def __init__(self, text: bytes, call: Callable[[], None]) -> None:
        super().__init__()
        self._text, self._call = text, call

    def write(self, data) -> int:
        written = super().write(data)
        if self._text in self.getvalue():
            self._call()
        return written
