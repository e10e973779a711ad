"""Eval files that do not load: one clause that says why, and nothing left running."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import reeval_build
from reeval_build.loading.runner_errors import OtherProtocolError, RunnerEndedError, TooSlowError
from reeval_build.loading.runner_interpreters import Interpreter
from tests.loading.conftest import BARE, FILE, OWN
from tests.support.users import checked_by_permissions
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from tests.loading.conftest import EvalProject

SECRET = "s3cret-v@lue"

# It does not know which descriptor the runner answers on.
WRITES_BETWEEN = """
import contextlib, os
for descriptor in range(3, 20):
    with contextlib.suppress(OSError):
        os.write(descriptor, b'mine' + b'\\n')
"""

# It and its child hold a lock together, which the system frees when both are gone.
HANGS = """
import fcntl, subprocess, time
lock = open("lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
subprocess.Popen(["sleep", "600"], pass_fds=[lock.fileno()])
open("loading", "w").close()
time.sleep(600)
"""


def assert_nothing_is_left(project: EvalProject) -> None:
    with (project.directory / "lock").open("w") as lock:
        wait_until(lambda: _can_lock(lock.fileno()))


def _can_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def answering(text: str) -> Interpreter:
    """A program that says this in place of a runner, and then reads what it is told until the end."""
    return Interpreter(("sh", "-c", f"printf '%s\\n' '{text}'; cat >/dev/null"), "")


# Exceptions ----------------------------------------------------------------------------------------------------------


@pytest.mark.conforms("127")
def test_an_exception_is_said_with_its_line(project: EvalProject) -> None:
    assert project.refusal('a = 1\nraise ValueError("no  such\\n thing")') == "ValueError: no such thing (line 3)"


def test_the_line_is_the_eval_file_s_when_what_it_calls_raises(project: EvalProject) -> None:
    project.write("evals/__init__.py", "")
    project.write("evals/more.py", "\n\ndef fail():\n    raise KeyError('x')\n")

    assert project.refusal("from evals.more import fail\ndef f(): fail()\nf()") == "KeyError: 'x' (line 3)"


def test_an_exception_without_a_message_is_said(project: EvalProject) -> None:
    assert project.refusal("raise AssertionError") == "AssertionError: no message (line 2)"


def test_an_exception_that_cannot_be_printed_is_no_harm(project: EvalProject) -> None:
    text = "class Bad(Exception):\n    def __str__(self): raise ValueError('bad')\nraise Bad"

    assert (
        project.refusal(text)
        == "the Python that loads it ended with exit code 1 before it was loaded: ValueError: bad (line 3)"
    )


def test_an_error_of_syntax_is_said_with_its_line(project: EvalProject) -> None:
    assert project.refusal("def f(:\n") == "SyntaxError: invalid syntax (line 2)"


def test_an_error_of_syntax_elsewhere_names_the_file(project: EvalProject) -> None:
    project.write("more.py", "\n\ndef f(:\n")

    assert project.refusal("import more") == "SyntaxError: invalid syntax (line 3 of more.py)"


def test_an_import_that_fails_says_where_imports_resolve(project: EvalProject) -> None:
    project.write("evals/environments.py", "")

    assert project.refusal("import environments") == (
        "ModuleNotFoundError: No module named 'environments' (line 2); imports resolve from ~, with PYTHON"
    )


def test_bytes_that_are_no_source_are_refused(project: EvalProject) -> None:
    file = project.write(FILE, b"\xff\xfe\x00")

    assert project.refusal_of(file).startswith(("UnicodeDecodeError: ", "SyntaxError: ", "ValueError: "))


def test_a_file_that_may_not_be_read_is_refused(project: EvalProject) -> None:
    file = project.file("")
    file.chmod(0)
    checked = Interpreter((*checked_by_permissions(), sys.executable), "")

    assert project.refusal_of(file, candidates=(checked,)).startswith("PermissionError: [Errno 13] Permission denied")


def test_two_evals_of_one_name_are_refused_in_reeval_python_s_words(project: EvalProject) -> None:
    said = project.refusal('@evaluate("a")\ndef a(c): ...\n@evaluate("a")\ndef b(c): ...')

    assert said.startswith("ValueError: evaluate('a') is declared twice in this file.")
    assert said.endswith(" (line 4)")


def test_a_callback_as_a_spec_is_refused_with_the_reason(project: EvalProject) -> None:
    said = project.refusal('@evaluate("a", {"environment": define_environment("e", lambda h: {})})\ndef a(c): ...')

    assert said == (
        "TypeError: Object of type function is not JSON serializable; "
        "options of evals and what define_environment takes are data, not callbacks or other objects"
    )


def test_options_without_an_end_are_refused(project: EvalProject) -> None:
    text = 'deep = []\nfor _ in range(5000): deep = [deep]\n@evaluate("a", {"tags": deep})\ndef a(c): ...'

    assert project.refusal(text).startswith("RecursionError: ")


def test_reading_standard_input_is_an_exception(project: EvalProject) -> None:
    assert project.refusal("input()") == "EOFError: EOF when reading a line (line 2)"


def test_what_cannot_be_printed_is_escaped_and_what_is_long_is_cut(project: EvalProject) -> None:
    said = project.refusal('raise ValueError("\\x1b[31m\\ud800" + "x" * 10_000)')

    assert said.startswith("ValueError: \\x1b[31m\\ud800xxx")
    assert len(said) < 600


# Deaths --------------------------------------------------------------------------------------------------------------


@pytest.mark.conforms("127")
def test_sys_exit_is_said_with_the_code_and_the_last_line_and_no_traceback(
    project: EvalProject, capsys: pytest.CaptureFixture[str]
) -> None:
    said = project.refusal('import sys\nprint("before")\nsys.exit("not today")')

    assert said == (
        "the Python that loads it ended with exit code 1 before it was loaded: SystemExit: not today (line 4)"
    )
    assert capsys.readouterr().err == "before\n"


@pytest.mark.parametrize(
    ("death", "how"),
    [
        ("os._exit(7)", "with exit code 7"),
        ("os._exit(0)", "with exit code 0"),
        ("os.kill(os.getpid(), 9)", "by SIGKILL"),
        ("raise KeyboardInterrupt", "with exit code 1"),
        ("raise type('Own', (BaseException,), {})('mine')", "with exit code 1"),
    ],
)
def test_any_other_death_is_said_too(
    project: EvalProject, capsys: pytest.CaptureFixture[str], death: str, how: str
) -> None:
    said = project.refusal(f"import os\n{death}")

    assert said.startswith(f"the Python that loads it ended {how} before it was loaded")
    assert "Traceback" not in capsys.readouterr().err


def test_what_it_said_before_it_died_is_passed_on(project: EvalProject, capsys: pytest.CaptureFixture[str]) -> None:
    text = "import sys, traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()\nsys.exit(1)"

    said = project.refusal(text)

    assert said.endswith(": SystemExit: 1 (line 7)")
    assert capsys.readouterr().err.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_a_child_that_holds_the_pipe_does_not_keep_a_death_secret(project: EvalProject) -> None:
    said = project.refusal("import os, time\nif os.fork() == 0: time.sleep(600)\nos._exit(3)")

    assert said == "the Python that loads it ended with exit code 3 before it was loaded"


def test_a_runner_that_closes_its_output_is_not_waited_for(project: EvalProject) -> None:
    said = project.refusal("import os, time\nos.closerange(3, 100)\ntime.sleep(600)")

    assert said.startswith("the Python that loads it closed its output before it was loaded")


# No runner, or another one -------------------------------------------------------------------------------------------


def test_a_python_without_reeval_python_is_said_with_what_to_do(
    project: EvalProject, capsys: pytest.CaptureFixture[str]
) -> None:
    said = project.refusal("", candidates=(BARE,))

    assert said == (
        "reeval-python is not installed for PYTHON -S "
        "(install it: install it here; or name another Python in REEVAL_PYTHON)"
    )
    assert capsys.readouterr().err == ""


def test_the_next_python_is_tried_when_one_has_no_reeval_python(
    project: EvalProject, capsys: pytest.CaptureFixture[str]
) -> None:
    assert project.collect("", candidates=(BARE, OWN)) == {"children": []}
    assert capsys.readouterr().err == ""


def test_the_first_python_is_named_when_none_has_it(project: EvalProject) -> None:
    other = Interpreter((sys.executable, "-S", "-E"), "")

    assert "for PYTHON -S (" in project.refusal("", candidates=(BARE, other))


def test_without_any_python_that_is_said(project: EvalProject) -> None:
    assert project.refusal("", candidates=()).startswith("there is no Python to load it with")


def test_a_python_that_is_not_there_is_named(project: EvalProject) -> None:
    gone = Interpreter(("/nowhere/python",), "")

    assert project.refusal("", candidates=(gone, OWN)) == (
        "/nowhere/python, which is to load it, cannot be started: No such file or directory "
        "(REEVAL_PYTHON can name another Python)"
    )


def test_a_python_that_is_no_program_is_named(project: EvalProject) -> None:
    text = project.write("python", "not a program", executable=True)

    assert "cannot be started: Exec format error" in project.refusal("", candidates=(Interpreter((str(text),), ""),))


def test_a_python_that_ends_at_once_is_said_with_its_last_line(project: EvalProject) -> None:
    broken = Interpreter(("sh", "-c", "echo first >&2; echo 'too old' >&2; exit 4"), "")

    assert project.refusal("", candidates=(broken,)).endswith(" ended with exit code 4 before it was loaded: too old")


@pytest.mark.conforms("127")
def test_another_protocol_is_said_in_the_runner_s_own_sentence(
    project: EvalProject, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Interpreter(("env", "REEVAL_RUNNER_PROTOCOL=2", sys.executable), "")

    said = project.refusal("", candidates=(other,))

    assert said.startswith("reeval-python 0.14.")
    assert said.endswith(
        " speaks runner protocol 3, but the reeval that started it speaks 2: "
        "use the reeval-python version that matches reeval."
    )
    assert capsys.readouterr().err == ""


def test_a_runner_that_greets_with_another_protocol_is_refused(project: EvalProject) -> None:
    with pytest.raises(OtherProtocolError) as caught:
        project.collect("", candidates=(answering('{"t":"hello","protocol":4,"version":"0.15.0"}'),))

    assert caught.value.message == (
        "reeval-python 0.15.0 speaks runner protocol 4, but reeval-build speaks 3: "
        "use a reeval-python version that matches it."
    )


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("hello there", 'is not JSON at line 1 column 1: Expecting value ("hello there")'),
        ('{"t":"hello","t":"hello"}', 'has the key "t" twice in one object'),
        ("[]", "is not a message of its protocol"),
        ("{}", "is not a hello"),
    ],
)
def test_what_is_not_a_hello_is_refused(project: EvalProject, said: str, reason: str) -> None:
    assert reason in project.refusal("", candidates=(answering(said),))


@pytest.mark.parametrize(
    "answer",
    [
        "{}",
        '{"t":"declared"}',
        '{"t":"declared","file":"evals/x.eval.py","tree":[]}',
        '{"t":"declared","file":"evals/y.eval.py","tree":{"children":[]}}',
        '{"t":"load-error","error":{"name":3}}',
        '{"t":"load-error","error":null}',
    ],
)
def test_an_answer_that_is_none_is_refused(project: EvalProject, answer: str) -> None:
    hello = '{"t":"hello","protocol":3,"version":"0"}'

    said = project.refusal("", candidates=(answering(f"{hello}\n{answer}"),))

    assert said == "what it declares is not a declaration"


def test_a_file_that_writes_between_the_messages_is_refused(project: EvalProject) -> None:
    assert project.refusal(WRITES_BETWEEN).startswith(
        'what it declares is not JSON at line 1 column 1: Expecting value ("mine'
    )


def test_a_number_that_json_does_not_have_is_refused(project: EvalProject) -> None:
    said = project.refusal('@evaluate("a", {"sandbox": docker(cpus=float("nan"))})\ndef a(c): ...')

    assert said.startswith("what it declares has NaN, which is not JSON")


def test_two_keys_that_json_spells_alike_are_refused(project: EvalProject) -> None:
    said = project.refusal('@evaluate("a", {"env": {1: "a", "1": "b"}})\ndef a(c): ...')

    assert said.startswith('what it declares has the key "1" twice in one object')


def test_a_declaration_of_more_than_64_mib_is_refused(project: EvalProject) -> None:
    said = project.refusal(f'@evaluate("a", {{"tags": ["x" * {64 * 1024 * 1024}]}})\ndef a(c): ...')

    assert said == "what it declares is longer than 64 MiB"


def test_an_answer_without_an_end_is_refused(project: EvalProject) -> None:
    endless = Interpreter(("sh", "-c", "tr '\\0' x </dev/zero"), "")

    assert project.refusal("", candidates=(endless,)).endswith(" says first is longer than 64 MiB")


# Files that never end ------------------------------------------------------------------------------------------------


@pytest.mark.conforms("128")
def test_a_file_that_does_not_end_is_given_up_and_leaves_nothing_running(project: EvalProject) -> None:
    with pytest.raises(TooSlowError) as caught:
        project.collect(HANGS, timeout_s=0.5)

    assert caught.value.message == (
        "it did not load within 0.5 s (what it does while it is imported must come to an end)"
    )
    assert_nothing_is_left(project)


def test_a_runner_that_never_greets_is_given_up(project: EvalProject) -> None:
    silent = Interpreter(("sh", "-c", "sleep 600"), "")

    said = project.refusal("", candidates=(silent,), start_timeout_s=0.1)

    assert said == "sh -c sleep 600 was not ready to load it within 0.1 s"


def test_a_file_that_dies_leaves_nothing_running(project: EvalProject) -> None:
    project.refusal(HANGS.replace("time.sleep(600)", "raise SystemExit"))

    assert_nothing_is_left(project)


def test_a_file_that_loads_leaves_nothing_running(project: EvalProject) -> None:
    project.collect(HANGS.replace("time.sleep(600)", ""))

    assert_nothing_is_left(project)


def test_a_file_that_prints_without_end_is_given_up(project: EvalProject, capfd: pytest.CaptureFixture[str]) -> None:
    assert project.refusal("while True: print('y')", timeout_s=0.5).startswith("it did not load within 0.5 s")
    assert set(capfd.readouterr().err.splitlines()) <= {"y"}


def test_an_interrupt_ends_the_runner_too(project: EvalProject) -> None:
    file = project.file(HANGS)
    program = (
        "import pathlib, sys\nfrom reeval_build.loading.runner import collect\n"
        "from reeval_build.loading.runner_interpreters import Interpreter\n"
        "collect(pathlib.Path(sys.argv[1]), root=pathlib.Path(sys.argv[2]), "
        "candidates=[Interpreter((sys.executable,), '')])"
    )
    loading = subprocess.Popen(
        [sys.executable, "-c", program, str(file), str(project.directory)],
        env={**os.environ, "PYTHONPATH": str(Path(reeval_build.__file__).parents[1])},
        stderr=subprocess.DEVNULL,
    )
    wait_until((project.directory / "loading").exists)

    loading.send_signal(signal.SIGINT)

    assert loading.wait(timeout=60) == -signal.SIGINT
    assert_nothing_is_left(project)


# Files that are not there --------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_said(project: EvalProject) -> None:
    assert project.refusal_of(project.directory / "none.eval.py") == "there is no such file"
    assert project.refusal_of(project.file("") / "below") == "there is no such file"


def test_what_is_not_a_file_is_said(project: EvalProject) -> None:
    os.mkfifo(project.directory / "pipe")

    assert project.refusal_of(project.directory) == "it is not a file"
    assert project.refusal_of(project.directory / "pipe") == "it is not a file"


def test_a_name_that_no_file_can_have_is_said(project: EvalProject) -> None:
    assert project.refusal_of(project.directory / "a\0b") == "its name has a NUL in it"
    assert project.refusal_of(project.directory / ("a" * 1000)) == "it cannot be read: File name too long"


def test_a_file_outside_the_root_is_refused(project: EvalProject, tmp_path: Path) -> None:
    outside = tmp_path / "x.eval.py"
    outside.write_text("")

    assert project.refusal_of(outside) == "it is not in the project ~"
    assert project.refusal_of(project.directory / ".." / "x.eval.py") == "it is not in the project ~"


# Secrets -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "import os\nraise ValueError(f'bad {os.environ[\"SOME_TOKEN\"]}')",
        "import os\nraise SystemExit(os.environ['SOME_TOKEN'])",
        "import os\nraise ValueError(os.environ['SOME_TOKEN'].replace(' ', '\\n'))",
        "import os\nraise type(os.environ['SOME_TOKEN'], (Exception,), {})()",
        WRITES_BETWEEN.replace("b'mine'", "os.environb[b'SOME_TOKEN']"),
    ],
)
def test_no_message_has_a_secret_of_the_host(project: EvalProject, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SOME_TOKEN", SECRET)

    said = project.refusal(text)

    assert SECRET not in said
    assert "…" in said


def test_no_message_has_what_stands_before_the_host_of_a_url(project: EvalProject) -> None:
    said = project.refusal("raise ValueError('in https://user:pass@example.com/ and ssh://me@example.com')")

    assert said == "ValueError: in https://…@example.com/ and ssh://…@example.com (line 2)"


def test_every_line_of_a_secret_is_hidden(project: EvalProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_KEY", "-----BEGIN-----\nfirst-half\nsecond-half\n")

    said = project.refusal("import os\nraise SystemExit(os.environ['DEPLOY_KEY'])")

    assert "half" not in said


def test_a_short_value_is_a_word_and_not_hidden(project: EvalProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USE_KEY", "1")

    assert project.refusal("raise ValueError(1)") == "ValueError: 1 (line 2)"


def test_a_death_is_not_taken_for_a_missing_package(project: EvalProject) -> None:
    with pytest.raises(RunnerEndedError):
        project.collect("raise SystemExit('No module named reeval_python')", candidates=(OWN, BARE))
