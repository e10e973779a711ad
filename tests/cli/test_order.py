"""In which order a build does things."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.cli import finish
from tests.support.index import opened_index

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

TOOK_S = {"quick": 1000, "slow": 3000, "middling": 2000}


def define(project: Project, trace: Path, *, rules: str) -> None:
    """Environments whose steps leave their names outside as they begin."""
    project.define(
        "".join(
            f"""
{name} = define_environment("{name}", {{
    "sandbox": fake_sandbox(), "rules": "{rules}", "setup": ["echo {name} >> {trace}"],
}})
"""
            for name in TOOK_S
        )
    )


def test_what_took_longest_the_last_time_begins_first(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    define(project, trace, rules="Be good.")
    for name, seconds in TOOK_S.items():
        reeval.build(f"env.py::{name}")
        with opened_index(reeval.store) as database:
            # What was written down just now: a machine that is busy cannot make one of them take longer than another.
            database.execute("UPDATE durations SET seconds = ? WHERE phase = 'setup' AND seconds < 1000", (seconds,))
    trace.unlink()
    define(project, trace, rules="Be better.")

    again = reeval.build("--jobs", "1")

    assert len(again.phases("ran")) > len(TOOK_S)
    assert trace.read_text().split() == ["slow", "middling", "quick"]


def test_a_chain_begins_before_what_nothing_waits_for(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    project.define(
        f"""
        one = define_environment("one", {{"sandbox": fake_sandbox(), "setup": ["echo one >> {trace}"]}})
        chain = define_environment("chain", {{
            "sandbox": fake_sandbox(), "setup": [f"echo chain-{{at}} >> {trace}" for at in range(3)],
        }})
        """
    )

    reeval.build("--jobs", "1")

    assert trace.read_text().split()[0] == "chain-0"


def test_what_waits_for_a_sandbox_does_not_hold_up_what_needs_none(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    """The steps that may not run together each wait until the workspace of another environment has been read."""
    project.repository("app", {"main.txt": "main\n"}).git("tag", "v1.0.0")
    seen = f"until grep -q workspace {tmp_path}/said; do sleep 0.05; done"
    project.define(
        f"""
        for at in range(3):
            globals()[f"e{{at}}"] = define_environment(f"e{{at}}", {{
                "sandbox": fake_sandbox(max_concurrent=1), "setup": ["{seen} # {{at}}"],
            }})
        z = define_environment("z", {{"sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0")}})
        """
    )
    with (tmp_path / "said").open("wb") as said:
        process = reeval.start("build", "--jobs", "2", stderr=said)

    assert finish(process).code == 0
