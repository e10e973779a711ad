"""The engine that runs commands in a directory of the host, held to the contract of engines."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reeval_build.engines.fake.engine import FakeEngine
from reeval_build.model.spec import FakeSandbox
from reeval_build.stores.local import LocalStore
from tests.contract.engine_bench import Bench, run, succeed
from tests.contract.engine_suite import EngineContract
from tests.support.memory_store import MemoryObjects
from tests.support.users import not_root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.ports.objects import Objects


def bench_in(directory: Path, objects: Objects) -> Bench:
    scratch = directory / "scratch"
    scratch.mkdir()
    another = partial(FakeEngine, objects, scratch=scratch, scratch_in=lambda above: above)
    return Bench(
        engine=another(),
        another=another,
        objects=objects,
        sandbox=FakeSandbox(),
        leftovers=lambda: [path.name for path in scratch.iterdir()],
        traces=lambda _state: [path.name for path in scratch.iterdir()],
    )


class TestFakeEngine(EngineContract):
    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        with LocalStore(tmp_path / "store") as store:
            yield bench_in(tmp_path, store.objects)


def test_what_is_written_through_one_hard_link_is_read_through_the_other(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, MemoryObjects())
    state = bench.step(bench.workspace({"a": b"1"}), "ln a b; ln a c; rm a; printf 2 > a")

    assert bench.said(state, "printf 3 > b; cat a b c") == "233"


def test_a_file_that_was_touched_and_is_the_same_is_no_change(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, MemoryObjects())

    with bench.start(bench.workspace({"a": b"a", "d/f": b"f"})) as sandbox, bench.objects.batch() as batch:
        succeed(sandbox, "touch a d d/f; cp a t; mv t a; chmod 600 d/f; chmod 644 d/f")
        assert sandbox.capture(batch) == ()


def test_an_engine_needs_no_more_of_a_store_than_its_port(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, MemoryObjects())

    state = bench.step(bench.workspace({"a": b"a"}), "echo more >> a")

    assert bench.tree(state) == {b"a": "amore\n"}


def test_the_contract_holds_for_a_user_whom_permissions_stop(tmp_path: Path) -> None:
    chosen = "closed or placed or restored_from or modes or replaced or no_directory_any_more or did_to_the_workspace"
    suite = f"{__file__}::{TestFakeEngine.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'other'}"]

    done = subprocess.run(
        [*not_root(), *command, "-k", chosen, suite],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_nothing_is_written_through_a_workspace_that_became_a_link(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, MemoryObjects())
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "a").write_bytes(b"theirs")
    state = bench.step(bench.workspace({"a": b"a", "b": b"b"}), f"cd ..; rm -r workspace; ln -s {theirs} workspace")

    for again in (state, bench.place(state, bench.engine.layout.workspace, {"b": b"b"}, replaces=True)):
        with bench.start(again):
            assert {path.name: path.read_bytes() for path in theirs.iterdir()} == {"a": b"theirs"}

    assert bench.tree(state) == {}
    assert {path.name: path.read_bytes() for path in theirs.iterdir()} == {"a": b"theirs"}


BIND = f"""{sys.executable} -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])'"""


@pytest.mark.parametrize(
    ("script", "gone"),
    [
        (f"rm a; {BIND} a", {b"a"}),
        (f"rm -r d; {BIND} d", {b"d", b"d/f", b"d/e", b"d/e/g"}),
        (f"rm -r d/e; {BIND} d/e", {b"d/e", b"d/e/g"}),
        (f"rm -r d; mkdir d; {BIND} d/f", {b"d/f", b"d/e", b"d/e/g"}),
        (f"{BIND} new", set()),
        (f"cd ..; rm -r workspace; {BIND} workspace", {b"a", b"d", b"d/f", b"d/e", b"d/e/g"}),
    ],
    ids=["a file", "a directory", "a directory further down", "a file of an earlier directory", "nothing", "all"],
)
def test_a_socket_takes_the_place_of_what_was_there_and_is_not_kept(tmp_path: Path, script: str, gone: set[bytes]):
    bench = bench_in(tmp_path, MemoryObjects())
    before = bench.workspace({"a": b"a", "d/f": b"f", "d/e/g": b"g"})

    after = bench.step(before, script)

    assert bench.tree(after).keys() == bench.tree(before).keys() - gone
    with bench.start(after) as sandbox, bench.objects.batch() as batch:
        assert sandbox.capture(batch) == ()


def test_commands_see_nothing_of_the_host_but_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_in(tmp_path, MemoryObjects())
    said = []
    for value in ("C", "tr_TR.ISO-8859-9"):
        for name in ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "SHELL", "HOME", "TMPDIR", "PYTHONPATH"):
            monkeypatch.setenv(name, value)
        with bench.start(bench.workspace()) as sandbox:
            here = succeed(sandbox, "cd ..; pwd").strip()
            said.append(sorted(succeed(sandbox, "env").replace(here, "SANDBOX").splitlines()))

    assert said[0] == said[1]
    assert "LANG=C.UTF-8" in said[0]
    assert f"PATH={os.environ['PATH']}" in said[0]


def test_a_program_and_a_directory_that_are_not_there_may_be_called_any_bytes(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, MemoryObjects())
    with bench.start(bench.workspace()) as sandbox:
        no_program = run(sandbox, "/no/such/\udcff")
        no_directory = run(sandbox, "true", cwd="\udcff")

    assert no_program == (127, b"", b"/no/such/\xff: No such file or directory\n")
    assert no_directory[0] == 126
    assert no_directory[2].endswith(b"/workspace/\xff: No such file or directory\n")


def test_arguments_and_variables_may_be_any_bytes(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, MemoryObjects())
    with bench.start(bench.workspace({"é/a": b"here"})) as sandbox:
        said = run(sandbox, "/bin/sh", "-c", 'printf %s "$1$GIVEN"', "sh", "\udcff", GIVEN="\udcfe")
        there = run(sandbox, "cat", "a", cwd="é")

    assert said == (0, b"\xff\xfe", b"")
    assert there == (0, b"here", b"")
