"""Builds that are killed at any moment: the next one is right, without repair, and leaves nothing."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import assert_nothing_is_left, kill
from tests.support.index import assert_index_is_sound
from tests.support.torture import seeds

if TYPE_CHECKING:
    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

CHECK = "cat a b; wc -c < large; cat main.txt; git fsck --no-progress 2>&1"


def make(project: Project) -> None:
    files = {f"{directory}/{number}.txt": f"{number}\n" * 20 for directory in "xyz" for number in range(30)}
    project.repository("app", {"main.txt": "main\n", **files}).git("tag", "v1.0.0")
    project.define(
        """
        for number in range(2):
            globals()[f"e{number}"] = define_environment(f"e{number}", {
                "sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0", init=True), "rules": "Be good.",
                "env": {"NUMBER": str(number)},
                "setup": ["echo $NUMBER > a", "cat a > b; head -c 600000 /dev/zero > large"],
            })
        """
    )


@pytest.mark.torture
@pytest.mark.conforms("fault 21", "fault 33")
@pytest.mark.parametrize("group", [True, False], ids=["whole-group", "main-process-only"])
@pytest.mark.parametrize("seed", seeds(7))
def test_after_a_build_was_killed_a_run_is_right_and_leaves_nothing(
    project: Project, reeval: ReevalBuild, seed: int, *, group: bool
) -> None:
    make(project)
    chance = random.Random(f"{seed} {group}")  # noqa: S311 - a moment is no secret
    process = reeval.start("build")
    assert process.stderr is not None
    process.stderr.readline()
    time.sleep(chance.uniform(0, 0.2))
    kill(process, group=group)

    done = reeval("run", "e1@fake", "--", "sh", "-c", CHECK)

    assert done.stdout == "1\n1\n600000\nmain\ne1@fake: nothing changed since the snapshot\n"
    assert done.messages == []
    assert_nothing_is_left(reeval.store)
    assert_index_is_sound(reeval.store)
