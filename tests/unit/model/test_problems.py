"""All mistakes of a file are found in one run."""

from __future__ import annotations

from typing import Any

import pytest

from reeval_build import (
    claude_code,
    define_environment,
    directory,
    docker,
    fake_sandbox,
    file,
    git,
    mcp,
    plugin,
    podman,
    secret,
    skill,
    step,
)
from reeval_build.errors import DefinitionError
from reeval_build.model.problems import collecting_problems

BAD: Any = object()


def write_a_file_full_of_mistakes() -> None:
    base = define_environment("my env", {"workspace": git("https://user:hunter2@example.com/x"), "rules": BAD})
    child = base.extend("child", {"files": {**directory("no/such/directory"), "../x": file(BAD)}})
    child.extend_environment("grandchild", {"setup": [step("a", inputs=["/x"]), "b"], "sandbox": docker(install=BAD)})
    define_environment(
        "other",
        lambda helpers: {
            "skills": [helpers.skill.local(BAD), skill.registry("x")],
            "plugins": [plugin.marketplace("lint"), plugin.local(BAD)],
            "mcp": {"docs": mcp.stdio(""), "crm": mcp.http("x")},
            "env": {"A": secret(in_=["header"]), "B": secret.from_env("1")},
            "sandbox": fake_sandbox(id=BAD),
        },
    )
    claude_code(model="x", effort=BAD)
    define_environment(BAD, {}).extend("last", {"rules": BAD})


def test_a_file_runs_to_its_end_and_every_mistake_is_kept_once():
    with collecting_problems() as problems:
        write_a_file_full_of_mistakes()
        write_a_file_full_of_mistakes()

    assert [problem.partition(" (got")[0].split(": '")[0] for problem in problems] == [
        "git() has a password or token in its URL; pass the NAME of a host variable as token= instead",
        'defineEnvironment needs a name of letters, digits, ".", "_", "@", "+" or "-"',
        'rules in defineEnvironment("my env") must be markdown or file(path)',
        "directory() has nothing to copy: " + str(__file__).rpartition("/")[0] + "/no/such/directory is not there",
        "file() needs the path of a file",
        (
            'files["../x"] in defineEnvironment("child") has the segment \'..\', '
            'which is not a name: it is empty, "." or ".."'
        ),
        "inputs[0] in step() must be a path of the workspace",
        "install in docker() must be a list",
        "path in skill.local() must be a path of this machine",
        "id in skill.registry() must be 'owner/repo@skill'",
        "plugin.marketplace() needs 'name@source', e.g. plugin.marketplace('lint@github:acme/agent-plugins')",
        "path in plugin.local() must be a path of this machine",
        "command in mcp.stdio() must be the name of a program",
        "url in mcp.http() must be a URL of http or https",
        "in_ in secret() is only for a secret with hosts: it says where in a request to them",
        (
            'name in secret.from_env() must be the name of a host variable: letters, digits and "_", '
            'starting with a letter or "_"; never the secret itself'
        ),
        "id in fake_sandbox() must be text",
        'effort in claude_code() must be "low", "medium", "high", "xhigh" or "max"',
        'defineEnvironment needs a name of letters, digits, ".", "_", "@", "+" or "-"',
        'rules in defineEnvironment("last") must be markdown or file(path)',
    ]
    assert "hunter2" not in "".join(problems)


def test_afterwards_and_before_mistakes_are_raised_at_once():
    with collecting_problems():
        pass

    with pytest.raises(DefinitionError):
        git("")


def test_a_mistake_of_another_kind_passes_through():
    def define():
        with collecting_problems():
            git("")
            raise LookupError

    with pytest.raises(LookupError):
        define()
    with pytest.raises(DefinitionError):
        git("")


def test_what_is_right_is_what_it_is_otherwise():
    with collecting_problems() as problems:
        found = define_environment("e", {"rules": "r", "env": {"A": "1"}})

    assert problems == []
    assert found == define_environment("e", {"rules": "r", "env": {"A": "1"}})


def test_what_is_not_supported_yet_is_kept_too():
    with collecting_problems() as problems:
        define_environment("e", {"sandbox": podman()})

    (problem,) = problems
    assert problem.startswith('podman() in defineEnvironment("e") is not supported by this version of reeval-build yet')


def test_what_is_not_supported_yet_gives_way_to_mistakes_before_and_after_it():
    with collecting_problems() as problems:
        define_environment("e", {"sandbox": podman()})
        define_environment("e", {"rules": BAD})
        define_environment("f", {"sandbox": podman()})

    assert problems == ['rules in defineEnvironment("e") must be markdown or file(path) (got "<object>")']


def test_collecting_within_collecting_keeps_its_own():
    with collecting_problems() as outer:
        git("")
        with collecting_problems() as inner:
            docker(from_="")
        file("")

    assert (len(outer), len(inner)) == (2, 1)
