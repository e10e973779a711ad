"""Results with the value of a secret in them, when runs are killed, stopped or side by side, or a store lost some."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.support.cli import Built, assert_nothing_is_left, finish, kill
from tests.support.secrecy import places
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

TOKEN = "hunter2-f00d"


@pytest.fixture
def signals(project: Project, reeval: ReevalBuild, tmp_path: Path) -> Path:
    """A step that leaves a value, large enough for a file of its own, and one that says it has begun and waits."""
    signals = tmp_path / "signals"
    signals.mkdir()
    wait = f"touch {signals}/begun; until [ -e {signals}/end ]; do sleep 0.01; done; cat big small | wc -c > size"
    steps = ["head -c 400000 /dev/zero > big; echo $TOKEN >> big; echo $TOKEN > small", wait]
    env = '{"TOKEN": secret()}'
    project.define(f'one = define_environment("one", {{"sandbox": fake_sandbox(), "env": {env}, "setup": {steps!r}}})')
    reeval.env["TOKEN"] = TOKEN
    return signals


def test_what_a_killed_build_had_of_it_is_removed_by_the_next_one(reeval: ReevalBuild, signals: Path) -> None:
    process = reeval.start("build")
    wait_until((signals / "begun").exists)
    kill(process)
    left = places(reeval.store, TOKEN)

    (signals / "end").touch()
    built = reeval.build()

    assert left != []
    assert all(place.startswith("tmp/") for place in left)
    assert built.phases("ran") == ["setup", "setup", "snapshot"]
    assert places(reeval.store, TOKEN) == []
    assert_nothing_is_left(reeval.store)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_a_build_that_is_stopped_leaves_nothing_of_it(reeval: ReevalBuild, signals: Path, sign: signal.Signals) -> None:
    process = reeval.start("build")
    wait_until((signals / "begun").exists)

    os.kill(process.pid, sign)

    finish(process)
    assert places(reeval.store, TOKEN) == []
    assert_nothing_is_left(reeval.store)


def test_builds_side_by_side_each_have_their_own(reeval: ReevalBuild, signals: Path) -> None:
    (signals / "end").touch()

    done = [finish(process) for process in [reeval.start("build", "--json") for _ in range(3)]]

    for each in done:
        built = Built(each.code, each.stdout, each.stderr)
        assert each.code == 0, each.stderr
        assert [cell["kept"] for cell in built.value["cells"]] == [False]
        assert len(built.messages) == 1
    assert places(reeval.store, TOKEN) == []
    assert_nothing_is_left(reeval.store)


def test_it_is_built_again_on_what_the_store_has_lost(project: Project, reeval: ReevalBuild) -> None:
    project.write("large.txt", "large " * 100_000)
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "files": {"large": file("large.txt")}, "env": {"TOKEN": secret()},
            "setup": ["echo before > before", "echo $TOKEN > small", "cat large small before | wc -c > size"],
        })
        """
    )
    reeval.env["TOKEN"] = TOKEN
    reeval.build()
    for path in (reeval.store / "packs").iterdir():
        path.unlink()

    built = reeval.build()
    done = reeval("run", "one@fake", "--", "cat", "size")

    assert [cell["kept"] for cell in built.value["cells"]] == [False]
    assert done.stdout.startswith(f"{600_000 + len(TOKEN) + 1 + len('before') + 1}\n")
    assert places(reeval.store, TOKEN) == []
    assert_nothing_is_left(reeval.store)
