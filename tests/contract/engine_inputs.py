"""Steps that see only what they declare, in sandboxes of any engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reeval_build.execute.inputs import MissingInputError, merged, narrowed
from reeval_build.plan.work import InputsWork, MergeWork

if TYPE_CHECKING:
    from reeval_build.state.state import State
    from tests.contract.engine_bench import Bench

FILES = {"a": b"a", "b/x": b"bx", "b/y*": b"by", "c/d/x": b"cdx", "c/d/y": b"cdy", "c/e": b"ce"}
# `b` is declared as a whole, of `c/d` only one file. Nothing here touches what is not, through a link neither.
DECLARED = ("b", "c/d/x")
_declared_paths = st.sampled_from(["b/x", "b/y", "b/new", "b/new/x", "b", "c/d/x"])
_new_paths = st.sampled_from(["c/d/new", "c/new/x", "n/x", "c/d/link"])
_commands = st.one_of(
    st.builds("mkdir -p $(dirname {0}); echo {1} > {0}".format, _declared_paths | _new_paths, st.integers(0, 3)),
    st.builds("rm -rf {}".format, _declared_paths | _new_paths),
    st.builds("rm -rf {0}; mkdir -p {0}; echo again > {0}/again".format, st.sampled_from(["b", "b/new", "c/d/new"])),
    st.builds("mv {} {}".format, _declared_paths, _declared_paths),
    st.builds("ln {} {}".format, _declared_paths, _declared_paths | _new_paths),
    st.builds("ln -s x {}".format, _declared_paths | _new_paths),
    st.builds("chmod {} {}".format, st.sampled_from(["644", "755"]), _declared_paths),
    st.builds("cat {} >> {}".format, _declared_paths, _declared_paths | _new_paths),
)


def seen(bench: Bench, state: State, *inputs: str) -> State:
    work = InputsWork(at=bench.engine.layout.workspace, inputs=tuple(sorted(inputs)), run="the step", engine="any")
    return narrowed(work, state, bench.objects)


def stepped(bench: Bench, state: State, script: str, *inputs: str) -> State:
    """The whole after a step that declares its inputs."""
    sight = seen(bench, state, *inputs)
    work = MergeWork(at=bench.engine.layout.workspace, engine="any")
    return merged(work, state, sight, bench.step(sight, script), bench.objects)


class InputsContract:
    """See `tests.contract.engine_suite`."""

    def test_a_step_sees_what_it_declares_and_nothing_else_of_the_workspace(self, bench: Bench):
        home = bench.place(bench.workspace(FILES), bench.engine.layout.home, {"kept": b"k"}, replaces=False)

        sight = seen(bench, home, *DECLARED)

        assert bench.said(sight, "find . -type f | sort; cat ~/kept") == "./b/x\n./b/y\n./c/d/x\nk"

    @pytest.mark.timeout(600)
    def test_a_step_that_touches_only_what_it_declares_leaves_what_it_would_have_left_on_the_whole(self, bench: Bench):
        @settings(
            max_examples=bench.random_sequences,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(st.lists(_commands, min_size=1, max_size=6))
        def law(commands: list[str]) -> None:
            whole, script = bench.workspace(FILES), "\n".join([*commands, "true"])
            assert bench.tree(stepped(bench, whole, script, *DECLARED)) == bench.tree(bench.step(whole, script))

        law()

    def test_a_directory_that_is_removed_stays_for_what_was_not_seen_of_it(self, bench: Bench):
        left = stepped(bench, bench.workspace(FILES), "rm -r c; echo made > made", "c/d/x")

        assert bench.tree(left) == bench.tree(bench.step(bench.workspace(FILES), "rm c/d/x; echo made > made"))

    def test_a_directory_that_is_made_anew_keeps_what_was_not_seen_of_it(self, bench: Bench):
        left = stepped(bench, bench.workspace(FILES), "rm -r c; mkdir -p c/d; echo new > c/d/new", "c/d/x")

        assert bench.tree(left) == bench.tree(bench.step(bench.workspace(FILES), "rm c/d/x; echo new > c/d/new"))

    def test_what_a_step_writes_wins_over_what_it_did_not_see(self, bench: Bench):
        whole = bench.workspace(FILES)

        left = stepped(bench, whole, "echo mine > a; echo mine > c; mkdir -p b/x; echo mine > b/x/deep")

        assert bench.tree(left) == {
            b"a": "mine\n",
            b"b": "directory",
            b"b/x": "directory",
            b"b/x/deep": "mine\n",
            b"b/y": "executable by",
            b"c": "mine\n",
        }

    def test_what_is_left_can_be_run_on(self, bench: Bench):
        left = stepped(
            bench, bench.workspace(FILES), "rm -r c; echo made > made; echo more >> b/x; ln b/x b/z", *DECLARED
        )

        assert bench.said(left, "cat made b/x c/d/y; find . -type f | sort | tr '\\n' ' '") == (
            "made\nbxmore\ncdy./a ./b/x ./b/y ./b/z ./c/d/y ./c/e ./made "
        )

    def test_what_a_step_does_outside_of_the_workspace_stays(self, bench: Bench):
        before = bench.step(bench.workspace(FILES), "echo before > ~/before; echo x > b/made; ln b/made ~/linked")

        left = stepped(bench, before, "cat ~/before ~/linked > ~/after", "a")

        assert bench.said(left, "cat ~/after b/made") == "before\nx\nx\n"

    def test_nothing_else_of_the_workspace_is_part_of_what_is_seen(self, bench: Bench):
        before = bench.step(bench.workspace(FILES), "echo ~ > /dev/null; echo x > ~/tool; echo x > made")
        other = bench.step(bench.workspace({**FILES, "a": b"edited", "new": b""}), "echo x > ~/tool; mkdir -p q/r")

        assert seen(bench, before, *DECLARED).content == seen(bench, other, *DECLARED).content
        assert seen(bench, before, "a").content != seen(bench, other, "a").content

    def test_an_input_that_an_earlier_step_made_is_seen(self, bench: Bench):
        before = bench.step(bench.workspace(FILES), "mkdir deps; echo 1 > deps/one")

        assert bench.said(seen(bench, before, "deps"), "find . -type f -exec cat {} +") == "1\n"

    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("none", "is not in the workspace"),
            ("b/none", "is not in the workspace"),
            ("a/deep", "is not in the workspace: 'a' is no directory"),
            ("link/x", "is not in the workspace: 'link' is a link, which is not followed"),
        ],
    )
    def test_an_input_that_is_not_there_is_named(self, bench: Bench, path: str, reason: str):
        state = bench.step(bench.workspace(FILES), "ln -s b link")

        with pytest.raises(MissingInputError) as caught:
            seen(bench, state, "a", path)

        assert caught.value.path == path
        assert caught.value.message == f'the input "{path}" of the setup step "the step" {reason}'
