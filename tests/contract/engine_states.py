"""What a sandbox of any engine starts as."""

from __future__ import annotations

import secrets
import threading
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeval_build.digest import Digest
from reeval_build.ports.objects import LostObjectError
from reeval_build.state.state import PlacedTree, State, StepDelta
from tests.contract.engine_bench import Bench, listing, shell, succeed

_paths_drawn = st.sampled_from(["a", "b", "c", "d", "b/x", "b/y", "c/x", "c/x/y", "d/x"])
_commands = st.one_of(
    # Whoever writes into a fifo waits for a reader, so none of these does.
    st.builds("mkdir -p $(dirname {0}); [ -p {0} ] || echo {1} > {0}".format, _paths_drawn, st.integers(0, 3)),
    st.builds("[ -p {0} ] || echo more >> {0}".format, _paths_drawn),
    st.builds("rm -rf {}".format, _paths_drawn),
    st.builds("mkdir -p {}".format, _paths_drawn),
    st.builds("ln -s {} {}".format, st.sampled_from(["a", "../a", "b", "/abs", "missing"]), _paths_drawn),
    st.builds("ln {} {}".format, _paths_drawn, _paths_drawn),
    st.builds("mv {} {}".format, _paths_drawn, _paths_drawn),
    st.builds("rm -rf {1}; mv {0} {1}".format, _paths_drawn, _paths_drawn),
    st.builds("rm -rf {1}; cp -R {0} {1}".format, _paths_drawn, _paths_drawn),
    st.builds("[ -h {1} ] || chmod {0} {1}".format, st.sampled_from(["644", "755", "700", "4711"]), _paths_drawn),
    st.builds("[ -p {0} ] || touch {0}".format, _paths_drawn),
    st.builds("mkfifo {}".format, _paths_drawn),
)


class StateContract:
    """See `tests.contract.engine_suite`."""

    @pytest.mark.conforms("33")
    def test_files_are_placed_with_fixed_modes_whatever_the_umask(self, bench: Bench):
        state = bench.workspace({"a": b"x", "d/run*": b"#!/bin/sh\necho ran\n"})

        with bench.start(state) as sandbox:
            found = listing(sandbox)
            ran = succeed(sandbox, "d/run")

        assert [line for line in found if not line.startswith("sum")] == [
            "directory drwxr-xr-x .",
            "directory drwxr-xr-x ./d",
            "file -rw-r--r-- 1 1 ./a",
            "file -rwxr-xr-x 1 19 ./d/run",
        ]
        assert ran == "ran\n"

    def test_a_workspace_replaces_what_was_there_and_a_home_is_put_over_it(self, bench: Bench):
        layout = bench.engine.layout
        state = bench.workspace({"a": b"1", "b": b"1"})
        state = bench.place(state, layout.home, {"kept": b"1", "changed": b"1"}, replaces=False)
        state = bench.step(state, 'echo step > c; echo step > "$HOME/stepped"')
        state = bench.place(state, layout.workspace, {"b": b"2"}, replaces=True)
        state = bench.place(state, layout.home, {"changed": b"2"}, replaces=False)

        assert bench.said(state, 'ls; cat b; cat "$HOME/kept" "$HOME/changed" "$HOME/stepped"') == "b\n212step\n"
        assert bench.tree(state) == {b"b": "2"}

    @pytest.mark.conforms("38")
    def test_the_home_directory_is_kept_and_is_no_part_of_the_workspace(self, bench: Bench):
        state = bench.step(bench.workspace(), 'mkdir -p "$HOME/.cache"; echo x > "$HOME/.cache/y"')

        assert bench.said(state, 'cat "$HOME/.cache/y"') == "x\n"
        assert bench.tree(state) == {}

    def test_modes_hard_links_fifos_and_times_of_files_are_restored(self, bench: Bench):
        state = bench.step(
            bench.workspace({"p": b"p"}),
            """
            echo x > f; chmod 4751 f; ln f g; mkfifo q; mkdir d; chmod 1770 d; mkdir closed; touch closed/z
            chmod 555 closed; chmod 600 p; echo new > new; echo old > old; touch -t 200001010000 old
            """,
        )

        with bench.start(state) as sandbox:
            found = listing(sandbox)
            times = succeed(sandbox, "[ old -ot new ] && echo older")

        assert [line for line in found if not line.startswith("sum")] == [
            "directory dr-xr-xr-x ./closed",
            "directory drwxr-xr-x .",
            "directory drwxrwx--T ./d",
            "fifo prw-r--r-- ./q",
            "file -rw------- 1 1 ./p",
            "file -rw-r--r-- 1 0 ./closed/z",
            "file -rw-r--r-- 1 4 ./new",
            "file -rw-r--r-- 1 4 ./old",
            "file -rwsr-x--x 2 2 ./f",
            "file -rwsr-x--x 2 2 ./g",
        ]
        assert times == "older\n"

    def test_directories_that_a_step_closed_are_in_the_way_of_no_later_step(self, bench: Bench):
        state = bench.workspace({"d/f": b"f"})
        for script in (
            "mkdir d/e; echo x > d/e/g; chmod 555 d/e; chmod 555 d",
            "echo more > n",
            "chmod 755 d; echo y > d/h; chmod 555 d",
            "chmod 755 d d/e; rm -r d/e; chmod 500 d",
            "chmod 755 .; chmod 555 .",
        ):
            state = bench.step(state, script)

        with bench.start(state) as sandbox:
            found = listing(sandbox)
        assert [line for line in found if line.startswith("directory")] == [
            "directory dr-x------ ./d",
            "directory dr-xr-xr-x .",
        ]
        assert bench.tree(state) == {b"d": "directory", b"d/f": "f", b"d/h": "y\n", b"n": "more\n"}
        assert bench.leftovers() == []

    def test_hard_links_are_kept_apart_when_one_of_them_is_replaced(self, bench: Bench):
        state = bench.step(bench.workspace({"a": b"1"}), "ln a b; ln a c")
        state = bench.step(state, "rm a; printf 2 > a")

        assert bench.said(state, "cat a b c") == "211"
        assert bench.tree(state) == {b"a": "2", b"b": "1", b"c": "1"}

    def test_steps_add_up(self, bench: Bench):
        state = bench.workspace({"a": b"0", "d/x": b"0"})
        for script in ("echo 1 > a", "rm -r d; ln -s a d", "rm d; mkdir d; echo 3 > d/y", "rm a", "echo 5 > a"):
            state = bench.step(state, script)

        assert bench.tree(state) == {b"a": "5\n", b"d": "directory", b"d/y": "3\n"}
        assert bench.said(state, "cat a d/y; ls d") == "5\n3\ny\n"

    def test_sandboxes_of_one_state_know_nothing_of_each_other(self, bench: Bench):
        state = bench.workspace({"a": b"1"})

        with bench.start(state) as one, bench.start(state) as other:
            succeed(one, 'printf 2 > a; echo x > b; echo x > "$HOME/h"')
            assert succeed(other, 'cat a; ls; ls "$HOME"') == "1a\n"

        assert bench.said(state, "cat a; ls") == "1a\n"

    def test_a_base_is_the_same_whenever_it_is_asked_for(self, bench: Bench):
        first, again = (bench.engine.resolve(bench.sandbox, cancel=threading.Event()) for _ in range(2))

        assert (first.identity, first.platform) == (again.identity, again.platform)

    def test_nothing_of_a_private_state_is_left_when_its_engine_is_closed(self, bench: Bench):
        below = bench.workspace({"a": secrets.token_hex(8).encode()})
        state = bench.place(below, bench.engine.layout.home, {"b": b"2"}, replaces=False)
        # One delta further than what is started: a state on the way gets an image, too.
        top = bench.place(state, bench.engine.layout.home, {"c": b"3"}, replaces=False)
        top = bench.place(top, bench.engine.layout.home, {"d": b"4"}, replaces=False)

        with closing(bench.another()) as engine:
            engine.resolve(bench.sandbox, cancel=threading.Event())
            engine.keep_private(state)
            for each in (top, state, below):
                with engine.start(each, cancel=threading.Event()) as sandbox:
                    succeed(sandbox, "cat a")

        between = State(top.base, top.deltas[:-1])
        assert [bench.traces(each) for each in (state, between, top)] == [[], [], []]
        assert bench.said(top, 'cat "$HOME/b" "$HOME/c" "$HOME/d"') == "234"

    @pytest.mark.conforms("fault 22")
    def test_a_state_with_a_piece_that_the_store_lacks_is_not_started(self, bench: Bench):
        nothing = Digest(bytes(32))
        placed = PlacedTree(at=bench.engine.layout.workspace, tree=nothing, replaces=True)

        for delta in (placed, StepDelta(delta=nothing, times=nothing)):
            with pytest.raises(LostObjectError), bench.start(bench.base().on_top(delta)):
                pytest.fail("it started without a piece of its state")

        assert bench.leftovers() == []

    @pytest.mark.timeout(600)
    def test_a_restored_state_is_what_was_captured_after_any_commands(self, bench: Bench):
        @settings(
            max_examples=bench.random_sequences,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(st.lists(_commands, min_size=1, max_size=8), st.lists(_commands, min_size=1, max_size=8))
        def law(first: list[str], second: list[str]) -> None:
            state = bench.workspace({"a": b"a", "b/x": b"x", "b/y*": b"y", "c/x/y": b"deep"})
            for commands in (first, second):
                with bench.start(state) as sandbox, bench.objects.batch() as batch:
                    shell(sandbox, "\n".join(commands), timeout_s=60)
                    left = listing(sandbox)
                    state = state.on_top(bench.capture(sandbox, batch))
                with bench.start(state) as sandbox, bench.objects.batch() as batch:
                    assert listing(sandbox) == left
                    nothing = state.on_top(bench.capture(sandbox, batch))
                assert bench.tree(nothing) == bench.tree(state)
                assert set(bench.tree(state)) == _paths(left)

        law()


def _paths(lines: list[str]) -> set[bytes]:
    """The paths of a listing that can be in a tree."""
    found = (line.split(" -> ")[0].split(" ")[-1] for line in lines if not line.startswith(("sum", "fifo")))
    return {path.removeprefix("./").encode() for path in found} - {b"."}
