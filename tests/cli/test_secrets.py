"""Secrets: from the host's variables to commands, and to nothing that is written or kept."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from reeval_build.plan.secrets import placeholder
from tests.support.cli import ReevalBuild, assert_nothing_is_left
from tests.support.projects import listing
from tests.support.secrecy import places

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import Built, Done
    from tests.support.projects import Project

TOKEN = "hunter2-f00d/cafe+bar"
OTHER = "quite-another-value"
WARNING = "reeval: warning: base@fake: "


def define(project: Project, *setup: str, env: str = '{"TOKEN": secret()}', more: str = "") -> None:
    """An environment `base`, and `plain` without secrets."""
    project.define(
        f"""
        from reeval_build import secret

        base = define_environment("base", {{"sandbox": fake_sandbox(), "env": {env}, "setup": {list(setup)!r}}})
        plain = define_environment("plain", {{"sandbox": fake_sandbox(), "setup": ["echo plain > plain"]}})
        {more}
        """
    )


def using(reeval: ReevalBuild, **variables: str) -> ReevalBuild:
    """The command on a host with these variables."""
    return ReevalBuild(reeval.directory, reeval.store, env=variables)


def log(reeval: ReevalBuild) -> str:
    """What steps wrote."""
    return "".join(path.read_text() for path in sorted((reeval.store / "logs").iterdir()))


def said(reeval: ReevalBuild, *command: str, code: int = 0) -> Done:
    return reeval("run", "base@fake", "--", *command, code=code)


def statuses(built: Built) -> dict[str, tuple[str, bool]]:
    """How each cell ended, and whether it is kept."""
    return {cell["name"]: (cell["status"], cell["kept"]) for cell in built.value["cells"]}


@pytest.fixture
def env(project: Project, reeval: ReevalBuild) -> Any:
    """What a setup step, and then a command, find in each variable of an environment: None when it is not there."""

    def look(text: str, **variables: str) -> dict[str, tuple[str | None, str | None]]:
        define(project, "env > seen", env=text)
        there = using(reeval, **variables)
        done = said(there, "sh", "-c", "cat seen; echo --; env")
        setup, agent = (
            dict(line.partition("=")[::2] for line in part.splitlines() if "=" in line)
            for part in done.stdout.split("--\n")
        )
        return {name: (setup.get(name), agent.get(name)) for name in ("A", "B", "C")}

    return look


# What commands see ----------------------------------------------------------------------------------------------------


@pytest.mark.conforms("18")
def test_a_secret_is_the_variable_of_its_key_or_of_its_name(env):
    # Too short to be redacted.
    found = env('{"A": secret(), "B": secret.from_env("X"), "C": "c"}', A="1", B="2", X="3")

    assert found == {"A": ("1", "1"), "B": ("3", "3"), "C": ("c", "c")}


@pytest.mark.conforms("21", "90")
def test_a_secret_for_checks_is_seen_by_setup_and_not_there_for_the_command(env):
    found = env('{"A": secret(to="checks"), "B": secret(to="checks", hosts=["h"])}', A="1", B="2")

    assert found == {"A": ("1", None), "B": (placeholder("B"), None), "C": (None, None)}


@pytest.mark.conforms("22", "23")
def test_a_secret_with_hosts_is_a_placeholder_whatever_its_value(env):
    text = '{"A": secret(hosts=["h"])}'

    assert env(text, A=TOKEN)["A"] == env(text, A=OTHER)["A"] == (placeholder("A"), placeholder("A"))


@pytest.mark.conforms("20")
def test_an_optional_secret_that_is_not_set_is_not_there(env):
    found = env('{"A": secret(optional=True), "B": secret(optional=True), "C": secret(optional=True)}', B="2", C="")

    assert found == {"A": (None, None), "B": ("2", "2"), "C": ("", "")}


def test_install_steps_and_the_host_s_own_variables_are_not_seen(env):
    assert env('{"A": "a"}', B=TOKEN, C=TOKEN) == {"A": ("a", "a"), "B": (None, None), "C": (None, None)}


# What is missing ------------------------------------------------------------------------------------------------------


@pytest.mark.conforms("19")
def test_a_missing_variable_fails_the_cells_that_need_it_and_no_other(project, reeval):
    define(project, "echo never", env='{"NPM_TOKEN": secret.from_env("HOST_TOKEN")}')

    built = reeval.build(code=3)

    assert statuses(built) == {"base@fake": ("failed", False), "plain@fake": ("ran", True)}
    assert built.messages == [
        (
            "reeval: env.py: base@fake: env.NPM_TOKEN needs the host variable HOST_TOKEN, which is not set "
            "(export it, or make the secret optional)"
        )
    ]
    assert built.labels("failed") == ["setup echo never"]
    assert [node["failure"]["category"] for node in built.nodes if node["failure"]] == ["secret"]


@pytest.mark.conforms("19")
@pytest.mark.parametrize("options", ["", 'hosts=["h"]', 'to="checks"'])
def test_a_run_without_a_variable_fails_before_anything_is_done(project, reeval, options):
    define(project, "echo ran > ran", env=f'{{"TOKEN": secret({options})}}')

    done = said(reeval, "true", code=3)

    assert done.stderr.splitlines() == [
        (
            "reeval: env.py: base@fake: env.TOKEN needs the host variable TOKEN, which is not set "
            "(export it, or make the secret optional)"
        )
    ]
    assert listing(reeval.store / "logs") == listing(reeval.store / "packs") == []


def test_what_is_built_needs_no_value(project, reeval):
    define(project, "echo made > made")
    using(reeval, TOKEN=TOKEN).build()

    built = reeval.build()

    assert (built.ran, built.messages) == ([], [])


def test_a_plan_needs_no_value(project, reeval):
    define(project, "echo made > made")

    assert "setup" in reeval("graph").stdout
    there = ReevalBuild(reeval.directory, reeval.store, names_store=False)
    assert json.loads(there("export", "env.py::base").stdout)["layers"][0]["spec"]["env"] == {
        "TOKEN": {"kind": "secret"}
    }


def test_a_cell_without_steps_is_built_without_values(project, reeval):
    define(project)

    assert reeval.build("env.py::base").summary["failed"] == 0


# What keys depend on --------------------------------------------------------------------------------------------------


@pytest.mark.conforms("24", "fault 13")
def test_a_changed_value_changes_no_key_and_runs_nothing(project, reeval):
    define(project, "echo made > made")
    first = using(reeval, TOKEN=TOKEN).build()

    second = using(reeval, TOKEN=OTHER).build()

    assert second.keys == first.keys
    assert second.snapshots == first.snapshots
    assert second.ran == []


@pytest.mark.conforms("25")
def test_an_optional_secret_that_comes_and_goes_has_two_results(project, reeval):
    define(project, "echo ${TOKEN:-none} | wc -c > length", env='{"TOKEN": secret(optional=True)}')
    without = reeval.build()

    with_it = using(reeval, TOKEN=TOKEN).build()

    assert [label for label in with_it.ran if label.startswith("setup")] != []
    assert with_it.snapshots["base@fake"] != without.snapshots["base@fake"]
    assert reeval.build().ran == []


@pytest.mark.conforms("26")
def test_a_secret_that_is_brokered_from_now_on_runs_setup_again(project, reeval):
    define(project, "echo made > made")
    there = using(reeval, TOKEN=TOKEN)
    there.build()
    define(project, "echo made > made", env='{"TOKEN": secret(hosts=["h"])}')

    assert "setup echo made > made" in there.build().ran


# What is written ------------------------------------------------------------------------------------------------------


@pytest.mark.conforms("28")
def test_a_value_that_a_step_prints_is_in_no_log(project, reeval):
    define(
        project,
        'echo "out $TOKEN"; echo "err $TOKEN" >&2; echo "$TOKEN" | base64; printf hunter2-; printf f00d/cafe+bar\\\\n',
        "printf hunter2-; printf f00d/cafe+bar >&2",
    )

    built = using(reeval, TOKEN=TOKEN).build()

    assert "out [secret TOKEN]" in log(reeval)
    assert "err [secret TOKEN]" in log(reeval)
    assert places(reeval.store, TOKEN) == []
    assert TOKEN not in built.stdout + built.stderr
    assert statuses(built)["base@fake"] == ("ran", True)


def test_a_failing_step_shows_no_value(project, reeval):
    define(project, "echo $TOKEN; mkdir \"$(printf 'a%.0s' $(seq 200))\"; $TOKEN; exit 3")

    built = using(reeval, TOKEN=TOKEN).build(code=3)

    assert "[secret TOKEN]" in log(reeval)
    assert places(reeval.store, TOKEN) == []
    assert TOKEN not in built.stdout + built.stderr


def test_an_error_that_names_a_file_after_a_value_does_not_show_it(project, reeval):
    define(project, 'touch ".wh.$TOKEN"')

    built = using(reeval, TOKEN="hunter2-f00d").build(code=3)

    assert "workspace/.wh.[secret TOKEN] in the sandbox cannot be kept" in built.stderr
    assert "hunter2-f00d" not in built.stdout + built.stderr


@pytest.mark.conforms("28")
def test_what_a_run_prints_is_redacted(project, reeval):
    define(project, env='{"TOKEN": secret(), "CHECK": secret(to="checks")}')
    there = using(reeval, TOKEN=TOKEN, CHECK=OTHER)

    done = said(
        there, "sh", "-c", f"echo out $TOKEN; echo err $TOKEN >&2; echo {OTHER}; printf hunter2-f; exit 4", code=4
    )

    assert done.stdout.splitlines()[:3] == ["out [secret TOKEN]", "[secret CHECK]", "hunter2-f"]
    assert "err [secret TOKEN]" in done.stderr.splitlines()


def test_changes_of_a_run_show_no_value(project, reeval, tmp_path):
    define(project)
    there, report = using(reeval, TOKEN="hunter2-f00d"), tmp_path / "changes.json"
    script = 'mkdir -p "d-$TOKEN"; echo x > "d-$TOKEN/$TOKEN"; ln -s "/$TOKEN" link'

    done = there("run", "base@fake", "--diff-json", report, "--", "sh", "-c", script)

    changes = json.loads(report.read_text())["changes"]
    assert [change["path"] for change in changes] == ["d-[secret TOKEN]/[secret TOKEN]", "link"]
    assert changes[0]["after"]["digest"] is not None
    assert changes[1]["after"] == {"type": "symlink", "target": "/[secret TOKEN]"}
    assert "hunter2" not in done.stdout + done.stderr + report.read_text()


def test_the_digest_of_a_changed_file_with_a_value_in_it_is_not_shown(project, reeval, tmp_path):
    define(project)
    report = tmp_path / "changes.json"

    using(reeval, TOKEN=TOKEN)("run", "base@fake", "--diff-json", report, "--", "sh", "-c", "printf $TOKEN > a")

    (change,) = json.loads(report.read_text())["changes"]
    assert (change["path"], change["after"]["size"], change["after"]["digest"]) == ("a", len(TOKEN), None)


def test_a_command_that_is_given_a_value_is_not_written_down_with_it(project, reeval, tmp_path):
    define(project)
    report = tmp_path / "changes.json"

    using(reeval, TOKEN=TOKEN)("run", "base@fake", "--diff-json", report, "--", "true", TOKEN)

    assert json.loads(report.read_text())["command"] == ["true", "[secret TOKEN]"]


# What is not kept -----------------------------------------------------------------------------------------------------

LEAK = "echo //registry/:_authToken=$TOKEN > .npmrc"


@pytest.mark.conforms("29", "17", "fault 13", "fault 45")
def test_a_step_that_leaves_a_value_is_used_and_not_kept(project, reeval):
    define(project, "echo before > before", LEAK, "cat .npmrc | wc -c > after")
    there = using(reeval, TOKEN=TOKEN)

    built = there.build()

    assert statuses(built) == {"base@fake": ("ran", False), "plain@fake": ("ran", True)}
    assert built.messages == [
        (
            f'{WARNING}setup step "{LEAK}" leaves the value of env.TOKEN in workspace/.npmrc: '
            "neither its result nor what stands on it is kept, and the next build runs it again"
        )
    ]
    kept = {node["label"]: node["kept"] for node in built.nodes if node["phase"] in {"setup", "snapshot"}}
    assert kept == {
        "echo before > before": True,
        LEAK: False,
        "cat .npmrc | wc -c > after": False,
        "base": False,
        "echo plain > plain": True,
        "plain": True,
    }
    assert built.snapshots["base@fake"] is None
    assert places(reeval.store, TOKEN) == []
    assert TOKEN not in built.stdout + built.stderr
    assert_nothing_is_left(reeval.store)


@pytest.mark.conforms("29", "fault 13")
def test_the_next_build_runs_it_again_and_only_it_and_what_stands_on_it(project, reeval):
    define(project, "echo before > before", LEAK, "echo after > after")
    there = using(reeval, TOKEN=TOKEN)
    there.build()

    again = there.build()

    assert again.ran == [f"setup {LEAK}", "setup echo after > after", "snapshot base"]
    assert len(again.messages) == 1


@pytest.mark.conforms("29")
def test_a_step_that_leaves_the_value_no_more_is_kept(project, reeval):
    define(project, LEAK)
    using(reeval, TOKEN=TOKEN).build()
    define(project, LEAK, "rm .npmrc")
    still = using(reeval, TOKEN=TOKEN).build()
    define(project, f"{LEAK}; rm .npmrc")

    cleaned = using(reeval, TOKEN=TOKEN).build()

    assert statuses(still)["base@fake"] == ("ran", False)
    assert (statuses(cleaned)["base@fake"], cleaned.messages) == (("ran", True), [])
    assert using(reeval, TOKEN=TOKEN).build().ran == []


def test_a_run_works_on_what_is_not_kept(project, reeval):
    define(project, LEAK, "echo after > after")

    done = said(using(reeval, TOKEN=TOKEN), "sh", "-c", "cat .npmrc after; echo new > new")

    assert done.stdout.splitlines() == [
        "//registry/:_authToken=[secret TOKEN]",
        "after",
        "base@fake: 1 changed since the snapshot",
        "  added    new",
    ]
    assert len(done.messages) == 1
    assert places(reeval.store, TOKEN) == []
    assert_nothing_is_left(reeval.store)


def test_the_summary_says_what_is_not_kept(project, reeval):
    define(project, LEAK)

    done = using(reeval, TOKEN=TOKEN)("build", "env.py::base")

    assert done.stdout.splitlines()[0] == "base@fake  ran     not kept"


def test_the_record_of_a_cell_that_is_not_kept_has_no_hash_of_the_value(project, reeval, tmp_path):
    define(project, LEAK)

    using(reeval, TOKEN=TOKEN).build("env.py::base", "--record-dir", tmp_path / "records")

    record = json.loads((tmp_path / "records" / "base@fake" / "record.json").read_text())
    assert record["snapshot"] is None
    with closing(sqlite3.connect(reeval.store / "store.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM cells").fetchone() == (0,)


@pytest.mark.conforms("fault 13")
@pytest.mark.parametrize(
    ("script", "path"),
    [
        ("echo $TOKEN > ~/.netrc", "home/.netrc"),
        ('mkdir "d-$TOKEN"', "workspace/d-[secret TOKEN]"),
        ('mkdir "d-$TOKEN"; echo > "d-$TOKEN/file"', "workspace/d-[secret TOKEN]"),
        ('ln -s "/nowhere/$TOKEN" link', "workspace/link"),
        ('mkfifo "$TOKEN"', "workspace/[secret TOKEN]"),
        ("echo $TOKEN > a; ln a b", "workspace/a, workspace/b"),
        ("echo $TOKEN | base64 > a", "workspace/a"),
        ("printf user:$TOKEN | base64 > a", "workspace/a"),
        ("head -c 1048570 /dev/zero > big; printf $TOKEN >> big", "workspace/big"),
        ("head -c 262140 /dev/zero > big; printf $TOKEN >> big; head -c 2000000 /dev/zero >> big", "workspace/big"),
        (
            "for at in 1 2 3 4 5 6 7; do echo $TOKEN > $at; done",
            ", ".join(f"workspace/{at}" for at in range(1, 6)) + " and 2 more",
        ),
    ],
)
def test_wherever_a_step_leaves_a_value_it_is_found(project, reeval, script, path):
    define(project, script)

    built = using(reeval, TOKEN="hunter2-f00d").build("env.py::base")

    (message,) = built.messages
    assert f"leaves the value of env.TOKEN in {path}: " in message
    assert "hunter2-f00d" not in built.stdout + built.stderr
    assert places(reeval.store, "hunter2-f00d") == []


@pytest.mark.conforms("fault 45")
def test_a_token_in_the_configuration_of_git_is_not_kept_and_not_in_the_log(project, reeval):
    define(project, 'git init -q; git remote add origin "https://x:$TOKEN@example.com/r"; git remote -v')

    built = using(reeval, TOKEN=TOKEN).build("env.py::base")

    assert "leaves the value of env.TOKEN in workspace/.git/config: " in built.messages[0]
    assert log(reeval).splitlines()[0] == "origin\thttps://x:[secret TOKEN]@example.com/r (fetch)"
    assert places(reeval.store, TOKEN) == []


def test_a_value_in_what_the_step_removes_is_not_left(project, reeval):
    define(project, "echo $TOKEN > a; rm a; echo b > b")

    built = using(reeval, TOKEN=TOKEN).build("env.py::base")

    assert (statuses(built)["base@fake"], built.messages) == (("ran", True), [])


def test_a_value_of_several_lines_is_found_and_redacted(project, reeval):
    key = "-----BEGIN-----\nAbCdEfGhIjKl\nMnOpQrStUvWx\n-----END-----\n"
    define(project, 'echo "$TOKEN"; echo $TOKEN; echo "$TOKEN" > key')

    built = using(reeval, TOKEN=key).build("env.py::base")

    assert "in workspace/key" in built.messages[0]
    assert log(reeval).split("\n") == ["[secret TOKEN]", "", "[secret TOKEN]", ""]
    assert places(reeval.store, "AbCdEfGhIjKl") == []


def test_two_steps_that_leave_values_are_named_each(project, reeval):
    define(project, "echo $A > a", "echo $B > b; echo $A >> a", env='{"A": secret(), "B": secret(to="checks")}')

    built = using(reeval, A=TOKEN, B=OTHER).build("env.py::base")

    assert [message.partition(" leaves ")[2].partition(":")[0] for message in built.messages] == [
        "the value of env.A in workspace/a",
        "the values of env.A and env.B in workspace/a, workspace/b",
    ]


def test_a_placeholder_may_be_left(project, reeval):
    define(project, LEAK, env='{"TOKEN": secret(hosts=["h"])}')
    there = using(reeval, TOKEN=TOKEN)

    built = there.build("env.py::base")

    assert (statuses(built)["base@fake"], built.messages) == (("ran", True), [])
    assert said(there, "cat", ".npmrc").stdout.startswith(f"//registry/:_authToken={placeholder('TOKEN')}\n")


def test_a_short_value_is_not_looked_for(project, reeval):
    define(project, LEAK)

    built = using(reeval, TOKEN="abc").build("env.py::base")

    assert (statuses(built)["base@fake"], built.messages) == (("ran", True), [])


def test_cells_on_a_shared_step_are_all_not_kept(project, reeval):
    define(
        project,
        LEAK,
        more='child = base.extend("child", {"setup": ["echo child > child"]})',
    )
    there = using(reeval, TOKEN=TOKEN)

    built = there.build("--harness", "fake", "--harness", "codex")

    assert {name for name, (_status, kept) in statuses(built).items() if not kept} == {
        f"{environment}@{harness}" for environment in ("base", "child") for harness in ("fake", "codex")
    }
    assert len(built.messages) == 1
    assert built.phases("ran").count("setup") == 3


def test_a_build_with_secrets_records_their_names_and_no_value(project, reeval):
    define(project, "echo made > made", env='{"TOKEN": secret.from_env("HOST_TOKEN")}')

    using(reeval, HOST_TOKEN=TOKEN).build("env.py::base")

    assert "store.sqlite" in places(reeval.store, "TOKEN")
    assert places(reeval.store, TOKEN) == []


def test_a_value_that_is_not_text_reaches_the_command_and_is_redacted(project, reeval):
    binary = b"\xff\xfe-not-text".decode("utf-8", "surrogateescape")
    define(project, 'echo "$TOKEN"; printf %s "$TOKEN" | wc -c > length')

    using(reeval, TOKEN=binary).build("env.py::base")

    assert log(reeval) == "[secret TOKEN]\n"
    assert said(using(reeval, TOKEN=binary), "cat", "length").stdout.split()[0] == "11"


def test_a_plain_step_with_no_secret_of_its_own_is_not_looked_at(project, reeval, tmp_path: Path):
    define(
        project,
        env="{}",
        more='other = define_environment("other", {"sandbox": fake_sandbox(), "env": {"TOKEN": secret()}})',
    )
    (tmp_path / "elsewhere").write_text(TOKEN)

    built = using(reeval, TOKEN=TOKEN).build()

    assert built.messages == []
