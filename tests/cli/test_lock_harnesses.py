"""Harnesses are the versions that they are locked as, and the lock file says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from tests.cli.harness_world import LOCK, HarnessWorld, harness_world
from tests.sources.npm_registry import sha512
from tests.sources.npm_world import NEEDS_NPM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.projects import Project

pytestmark = NEEDS_NPM

PACKAGE: Final = "@openai/codex"


@pytest.fixture
def world(tmp_path: Path, project: Project) -> Iterator[HarnessWorld]:
    with harness_world(tmp_path, project) as made:
        yield made


def test_a_build_locks_the_version_that_a_tag_is_and_its_integrity(world):
    archive = world.registry.publish(PACKAGE, "1.2.3")

    world.lock()

    assert world.locked == {
        "codex": {"integrity": sha512(archive), "package": PACKAGE, "requested": "latest", "version": "1.2.3"}
    }


def test_a_tag_that_moved_is_what_it_is_locked_as_until_it_is_locked_anew(world):
    world.registry.publish(PACKAGE, "1.2.3")
    world.lock()
    before = world.graph("--frozen")
    world.registry.publish(PACKAGE, "1.3.0")

    assert world.graph() == before == "codex 1.2.3"
    assert world.check() == f"{LOCK} is up to date\n"
    said = world.reeval("lock update", "codex").stdout

    assert said == f"harness codex  {PACKAGE}@1.3.0, was {PACKAGE}@1.2.3\n"
    assert world.graph("--frozen") == "codex 1.3.0"


def test_a_harness_that_is_locked_needs_no_registry_and_no_npm(world, tmp_path):
    world.registry.publish(PACKAGE, "1.2.3")
    world.lock()
    world.reeval.env["PATH"] = str(tmp_path / "nothing-here")
    world.registry.requests.clear()

    assert world.graph() == "codex 1.2.3"
    assert world.registry.requests == []


def test_a_plan_writes_nothing(world):
    world.registry.publish(PACKAGE, "1.2.3")

    assert world.graph() == "codex 1.2.3"
    assert not (world.project.directory / LOCK).exists()


def test_frozen_refuses_what_is_not_locked_as_it_is_asked_for(world):
    world.registry.publish(PACKAGE, "1.2.3")
    world.lock()
    before = (world.project.directory / LOCK).read_text()
    world.say('version = "1.2.3"')

    for command in ("graph", "build"):
        done = world.reeval(command, "--harness", "codex", "--frozen", code=2)
        hint = "build once without --frozen to lock it, and commit the file"
        assert done.messages == [f"reeval: harness 'codex' is not in {LOCK} as '1.2.3' ({hint})"]
    assert (world.project.directory / LOCK).read_text() == before


def test_a_version_that_is_asked_for_is_locked_with_its_integrity_in_place_of_the_other(world):
    world.registry.publish(PACKAGE, "1.2.3")
    archive = world.registry.publish(PACKAGE, "1.2.4", tag="next")
    world.lock()
    world.say('version = "1.2.4"')

    assert "harness codex is not locked\n" in world.check(code=2)
    world.lock()

    assert world.locked["codex"]["requested"] == world.locked["codex"]["version"] == "1.2.4"
    assert world.locked["codex"]["integrity"] == sha512(archive)
    world.check()


def test_check_compares_what_is_asked_for_with_what_is_locked(world):
    world.registry.publish(PACKAGE, "1.2.3")
    world.lock()
    assert json.loads(world.check("--json"))["harnesses"] == {"missing": [], "unused": [], "moved": None}

    world.say(kind="pi")

    assert world.check(code=2).splitlines() == [
        "harness pi is not locked",
        "harness codex is locked, and nothing asks for it",
        f"{LOCK} is not up to date: `reeval-build lock update`",
    ]
    assert json.loads(world.check("--json", code=2))["harnesses"] == {
        "missing": ["pi"],
        "unused": ["codex"],
        "moved": None,
    }


def test_check_asks_the_registry_what_has_moved_there(world):
    world.registry.publish(PACKAGE, "1.2.3")
    world.project.define('e = define_environment("e", {"sandbox": fake_sandbox()})')
    world.reeval("lock update")
    assert json.loads(world.check("--upstream", "--json"))["harnesses"]["moved"] == []
    world.registry.publish(PACKAGE, "1.3.0")

    said = world.check("--upstream")
    (moved,) = json.loads(world.check("--upstream", "--json"))["harnesses"]["moved"]

    assert f"harness codex is 1.3.0 in its registry now, and locked as 1.2.3\n{LOCK} is up to date\n" == said
    assert (moved["kind"], moved["now"]["version"], moved["locked"]) == ("codex", "1.3.0", world.locked["codex"])


def test_check_says_when_a_version_was_published_again(world):
    world.registry.publish(PACKAGE, "1.2.3")
    world.project.define('e = define_environment("e", {"sandbox": fake_sandbox()})')
    world.reeval("lock update")
    world.registry.publish(PACKAGE, "1.2.3", b"other bytes")

    said = world.check("--upstream")

    assert "harness codex has other bytes of 1.2.3 in its registry now, and locked as 1.2.3\n" in said


def test_update_locks_what_is_asked_for_and_nothing_else(world):
    world.registry.publish(PACKAGE, "1.2.3")
    world.registry.publish("opencode-ai", "7.0.0")
    world.project.define('e = define_environment("e", {"sandbox": fake_sandbox()})')
    assert world.reeval("lock update").stdout == f"harness codex  {PACKAGE}@1.2.3\n"
    assert world.reeval("lock update").stdout == f"harness codex  {PACKAGE}@1.2.3, unchanged\n"
    world.say(kind="opencode")

    value = json.loads(world.reeval("lock update", "--json").stdout)

    assert list(world.locked) == ["opencode"]
    assert value["images"] == []
    assert [(one["kind"], one["before"] is None, one["after"] is None) for one in value["harnesses"]] == [
        ("codex", False, True),
        ("opencode", True, False),
    ]
    world.say(kind="")
    assert world.reeval("lock update").stdout == "harness opencode  removed, was opencode-ai@7.0.0\n"
    assert "harnesses" not in json.loads((world.project.directory / LOCK).read_text())


@pytest.mark.parametrize(
    ("kind", "lines", "problem"),
    [
        ("codex", ["install = 'make'"], "harness 'codex' is installed by commands of the project: there is nothing to"),
        (
            "pi",
            [],
            (
                "harness 'codex' is locked, and no [tool.reeval-build.harness.codex] asks for it (`reeval-build lock "
                "update` without a name removes it)"
            ),
        ),
    ],
)
def test_update_says_what_it_cannot_do(world, kind, lines, problem):
    world.registry.publish(PACKAGE, "1.2.3")
    world.lock()
    before = world.locked
    world.say(*lines, kind=kind)

    assert problem in world.reeval("lock update", "codex", code=2).stderr
    assert world.locked == before


def test_update_knows_what_a_name_was_meant_to_be(world):
    done = world.reeval("lock update", "codx", code=2)

    assert f"image 'codx:latest' is not in {LOCK} (did you mean 'codex'?)" in done.stderr


@pytest.mark.parametrize("version", ["1.2.3;id", "$(id)", "1.2.3 x"])
def test_a_registry_that_lies_about_a_version_has_no_word_in_a_command(world, version):
    world.registry.publish(PACKAGE, version)

    done = world.reeval.build("--harness", "codex", code=3)

    assert "harness" in done.phases("failed")
    assert world.locked == {}


def test_update_writes_nothing_unless_all_was_found(world):
    world.registry.publish(PACKAGE, "1.2.3")
    world.project.define('e = define_environment("e", {"sandbox": fake_sandbox()})')
    world.reeval("lock update")
    before = (world.project.directory / LOCK).read_text()
    world.registry.publish(PACKAGE, "1.3.0")
    world.project.write(
        "pyproject.toml", "[tool.reeval-build.harness.codex]\n[tool.reeval-build.harness.pi]\nversion = '9.9.9'\n"
    )

    done = world.reeval("lock update", code=3)

    assert 'npm package "@earendil-works/pi-coding-agent@9.9.9" is not in its registry' in done.stderr
    assert (world.project.directory / LOCK).read_text() == before


def test_a_version_that_is_not_there_fails_the_cells_of_that_harness_alone(world):
    world.say('version = "9.9.9"')
    world.registry.publish(PACKAGE, "1.2.3")

    done = world.reeval.build("--harness", "codex", "--harness", "goose", code=3)

    (message,) = done.messages
    assert message.startswith(f'reeval: env.py: e@codex: npm package "{PACKAGE}@9.9.9" has no such version')
    assert done.snapshots["e@goose"] is not None
    assert world.locked == {}


def test_without_npm_it_is_said_what_to_do(world, tmp_path):
    world.reeval.env["PATH"] = str(tmp_path / "nothing-here")

    done = world.reeval.build("--harness", "codex", code=3)

    assert (
        f'npm package "{PACKAGE}@latest" needs npm, which is not installed (install Node.js with npm 9' in done.stderr
    )


def test_the_fake_sandbox_and_the_fake_harness_ask_for_nothing(world):
    fake = world.reeval.build("--harness", "fake")
    world.project.define('e = define_environment("e", {"sandbox": fake_sandbox()})')
    sandbox = world.reeval.build("--harness", "codex")

    assert "harness" not in fake.phases("ran") + sandbox.phases("ran")
    assert world.registry.requests == []
    assert world.locked == {}


def test_a_mistake_in_the_table_stops_every_command(world):
    world.say('version = "^1"')

    for command in ("build", "graph", "lock update"):
        assert "version of [tool.reeval-build.harness.codex] is '^1', which is" in world.reeval(command, code=2).stderr
    world.reeval.names_store = False
    assert "is '^1', which is not one version" in world.reeval("lock check", code=2).stderr


def test_commands_of_the_project_need_no_lock(world):
    world.say("install = 'make codex'", "version = '7'")

    assert world.graph("--frozen", code=2).count("not in") == 1, "the image is not locked"
    world.lock()

    assert world.graph("--frozen") == "codex 7"
    assert world.locked == {}
