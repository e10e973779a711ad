"""What a sandbox may use: it sees its limits, and is ended by them in a way that can be told."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from reeval_build.engines.docker.connection import EngineRefusalError
from reeval_build.model.start_options import StartOptions
from tests.support.cli import ReevalBuild
from tests.support.engine import PrivateEngine, restore_base_images
from tests.support.projects import Project
from tests.support.workbench import Workbench, run, succeed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reeval_build.state.state import State

MIB = 1024**2
# Control groups are one tree, or one for each thing that is limited.
_LIMITS = """
cd /sys/fs/cgroup
if [ -e cgroup.controllers ]; then cat memory.max memory.swap.max pids.max cpu.max
else
  cat memory/memory.limit_in_bytes memory/memory.memsw.limit_in_bytes pids/pids.max
  cat cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us
fi
"""
# More than a small limit, in one piece.
_HOG = "dd if=/dev/zero of=/dev/null bs=256M count=1"


@pytest.fixture(scope="module")
def bench(engine: PrivateEngine, tmp_path_factory) -> Iterator[Workbench]:
    restore_base_images(engine)
    with closing(Workbench(engine.url, tmp_path_factory.mktemp("bench"))) as made:
        yield made


@pytest.fixture(scope="module")
def state(bench: Workbench, engine: PrivateEngine) -> State:
    return bench.place(bench.base(engine.busybox), "workspace", {})


def test_a_sandbox_sees_its_limits(bench, state):
    options = StartOptions(cpus=1.5, memory_bytes=64 * MIB, swap_bytes=16 * MIB, pids=30)

    with bench.sandbox(state, options) as sandbox:
        memory, swap, pids, *cpus = succeed(sandbox, _LIMITS).split()

    assert int(memory) == 64 * MIB
    assert int(swap) in {16 * MIB, 80 * MIB}
    assert int(pids) == 30
    assert cpus == [b"150000", b"100000"]


def test_more_processors_than_there_are_is_all_of_them(bench, state):
    with bench.sandbox(state, StartOptions(cpus=4096)) as sandbox:
        assert succeed(sandbox, "nproc") == bench.run(state, "nproc").stdout


def test_a_sandbox_may_have_only_so_many_processes(bench, state):
    with bench.sandbox(state, StartOptions(pids=20)) as sandbox:
        result = run(sandbox, "for each in $(seq 40); do sleep 1000 & done")

    assert result.code != 0
    assert b"fork" in result.stderr


def test_a_capability_that_is_asked_for_is_there(bench, state):
    def may_administer_the_network(*capabilities: str) -> bool:
        with bench.sandbox(state, StartOptions(capabilities=frozenset(capabilities))) as sandbox:
            effective = succeed(sandbox, "grep CapEff /proc/self/status").split()[1]
        return bool(int(effective, 16) & 1 << 12)

    assert not may_administer_the_network()
    assert may_administer_the_network("NET_ADMIN")


@pytest.mark.parametrize("script", [_HOG, f"{_HOG} || exit 1", f"sh -c '{_HOG}'; exit 4"])
def test_a_command_that_uses_up_its_memory_is_told_apart(bench, state, script):
    with bench.sandbox(state, StartOptions(memory_bytes=32 * MIB, swap_bytes=0)) as sandbox:
        result = run(sandbox, script)
        assert result.code != 0
        assert sandbox.was_killed_for_memory()


def test_a_command_that_stays_below_its_limit_is_not_killed(bench, state):
    with bench.sandbox(state, StartOptions(memory_bytes=512 * MIB, swap_bytes=0)) as sandbox:
        assert run(sandbox, f"{_HOG}; exit 5").code == 5
        assert not sandbox.was_killed_for_memory()


@pytest.mark.parametrize(("first", "was_killed"), [("true", False), (_HOG, True)])
def test_it_can_be_told_of_a_sandbox_in_which_nothing_can_be_started_any_more(bench, state, first, was_killed):
    with bench.sandbox(state, StartOptions(memory_bytes=32 * MIB, swap_bytes=0, pids=10)) as sandbox:
        assert run(sandbox, f"{first}; while :; do sleep 1000 & done").code != 0
        assert sandbox.was_killed_for_memory() == was_killed


def test_what_the_engine_refuses_is_said_in_its_words(bench, state):
    with pytest.raises(EngineRefusalError, match=r"could not start a sandbox: .*[Mm]emory"):  # noqa: SIM117
        with bench.sandbox(state, StartOptions(memory_bytes=4096, swap_bytes=0)):
            pass


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def reeval(project: Project, engine: PrivateEngine, tmp_path: Path) -> ReevalBuild:
    return ReevalBuild(project.directory, tmp_path / "store", env={"DOCKER_HOST": engine.url})


@pytest.mark.conforms("fault 36")
def test_how_a_step_failed_is_told_apart(project, reeval, engine):
    project.define(
        f"""
        def failing(name, *, run, timeout="5m", image="{engine.busybox}"):
            return define_environment(name, {{
                "sandbox": docker(from_=image, memory="32m", swap=0),
                "setup": [{{"run": run, "timeout": timeout}}],
            }})

        ends = failing("ends", run="exit 1")
        lasts = failing("lasts", run="sleep 1000", timeout="1s")
        hogs = failing("hogs", run="{_HOG}")
        refused = define_environment("refused", {{
            "sandbox": docker(from_="{engine.busybox}", memory="4k"), "setup": ["true"],
        }})
        """
    )

    built = reeval.build(code=3)

    failures = {node["label"]: node["failure"] for node in built.nodes if node["failure"] is not None}
    assert {label: failure["category"] for label, failure in failures.items()} == {
        "exit 1": "exit",
        "sleep 1000": "timeout",
        _HOG: "memory",
        "true": "engine",
    }
    assert f'setup step "{_HOG}" was killed for memory (limit 32m) (its output is in ' in failures[_HOG]["message"]


@pytest.mark.conforms("78")
def test_install_steps_run_without_the_limits_of_their_sandbox(project, reeval, engine):
    project.define(
        f"""
        narrow = define_environment("narrow", {{
            "sandbox": docker(from_="{engine.busybox}", install=["{_HOG}; echo there > /installed"], memory="32m"),
            "setup": ["cat /installed > seen"],
        }})
        """
    )

    reeval.build()

    project.edit("env.py", 'memory="32m"', 'memory="64m", pids=50, cpus=1')
    assert reeval.build().ran == []


def test_run_has_the_limits_of_its_sandbox_and_says_when_they_ended_it(project, reeval, engine):
    project.define(
        f"""
        narrow = define_environment("narrow", {{"sandbox": docker(from_="{engine.busybox}", memory="32m", swap=0)}})
        """
    )

    reeval("lock update")

    done = reeval("run", "narrow@fake", "--", "sh", "-c", f"echo x > x; {_HOG}", code=137)

    assert done.messages == ["reeval: env.py: narrow@fake: the command was killed for memory (limit 32m)"]
    assert "added    x" in done.stdout
