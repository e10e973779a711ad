"""`run`: a command in a sandbox from a snapshot, and exactly what it changed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from reeval_build.model.harnesses import HARNESSES
from tests.support.cli import ReevalBuild, assert_nothing_is_left, finish
from tests.support.projects import Project, listing
from tests.support.users import checked_by_permissions
from tests.support.waiting import wait_until

Change = dict[str, str]
LATIN = b"latin-\xe9".decode("utf-8", "surrogateescape")

IGNORES = """\
*.log
build/
/root-only
!keep.log
nested/*
!nested/shown
"""


def make(project: Project) -> None:
    """One environment with a bit of everything."""
    app = project.repository(
        "app",
        {
            ".gitignore": IGNORES,
            "README.md": "read me\n",
            "src/main.py": "print(1)\n",
            "src/tool.sh": "#!/bin/sh\n",
            "src/.gitignore": "*.tmp\n!important.tmp\nmain.py\n",
            "tracked.log": "tracked though ignored\n",
            "nested/shown": "",
            "picture.bin": bytes(range(256)) * 4,
            "with space": "",
        },
    )
    (app.directory / "link").symlink_to("README.md")
    app.commit()
    app.git("tag", "v1.0.0")
    project.define(
        """
        base = define_environment("base", {
            "sandbox": fake_sandbox(),
            "workspace": git("app", ref="v1.0.0"),
            "env": {"GREETING": "hello  world", "EMPTY": ""},
            "files": {"~/.tool/config": "on\\n", "placed.txt": "placed\\n", "build/placed": ""},
            "rules": "Be good.\\n",
            "setup": [
                "echo made > made.txt; mkdir build 2>/dev/null; echo out > build/out; echo log > setup.log",
                "mkdir empty; echo cache > ~/.cache-of-tool",
            ],
        })
        """
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ReevalBuild:
    """The command on a project that nobody changes, whose environment is built."""
    directory = tmp_path_factory.mktemp("built")
    project = Project(directory / "project")
    make(project)
    reeval = ReevalBuild(project.directory, directory / "store")
    reeval.build("--harness", "fake", "--harness", "codex")
    return reeval


@pytest.fixture
def own(project: Project, reeval: ReevalBuild) -> ReevalBuild:
    """The command on a project of the test's own."""
    make(project)
    return reeval


def changes(reeval: ReevalBuild, script: str, *, code: int = 0) -> Change:
    """What a shell script changed in the workspace: how, by path; both ways of listing it must agree."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "changes.json"
        done = reeval("run", "base@fake", "--diff-json", file, "--", "sh", "-c", script, code=code)
        found: Change = {change["path"]: change["change"] for change in json.loads(file.read_text())["changes"]}
    assert list(found) == sorted(found)
    listed = done.stdout.partition("base@fake: ")[2].splitlines()
    assert listed[0] == (f"{len(found)} changed since the snapshot" if found else "nothing changed since the snapshot")
    assert listed[1:] == [f"  {how:<8} {path}" for path, how in found.items()]
    return found


def test_the_user_s_own_ignore_file_does_not_count(built: ReevalBuild, tmp_path: Path) -> None:
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "ignore").write_text("*.secret\n")
    theirs = ReevalBuild(built.directory, built.store, env={"XDG_CONFIG_HOME": str(tmp_path)})

    assert changes(theirs, "echo 1 > n.secret") == {"n.secret": "added"}


def test_two_names_that_differ_in_an_escape_are_listed_apart(built: ReevalBuild) -> None:
    done = built("run", "base@fake", "--", "touch", "a\nb", "a\\nb")

    assert sorted(done.stdout.splitlines()[1:]) == ["  added    a\\\\nb", "  added    a\\nb"]


def test_a_command_that_replaces_the_workspace_is_said_to_have_done_so(built: ReevalBuild) -> None:
    done = built("run", "base@fake", "--", "sh", "-c", "cd ..; mv workspace w; ln -s w workspace", code=3)

    assert "put something else in the place of the workspace" in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_standard_streams_are_no_trouble(built: ReevalBuild, closed: str) -> None:
    command = f"exec {sys.executable} -m reeval_build run base@fake --sandbox fake -- true {closed}"
    env = {**os.environ, "REEVAL_BUILD_HOME": str(built.store)}
    done = subprocess.run(["sh", "-c", command], cwd=built.directory, env=env, capture_output=True, check=False)

    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)


def test_the_list_of_changes_begins_a_line_of_its_own(built: ReevalBuild) -> None:
    assert built("run", "base@fake", "--", "printf", "x").stdout.startswith("x\nbase@fake: ")
    assert built("run", "base@fake", "--", "printf", "x\\n").stdout.startswith("x\nbase@fake: ")
    assert built("run", "base@fake", "--", "true").stdout.startswith("base@fake: ")


@pytest.mark.conforms("91")
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("true", {}),
        (
            "echo x > new; echo x > src/new; mkdir -p a/b/c only/dirs; touch a/b/c/d; head -c 300000 /dev/zero > l",
            {"a/b/c/d": "added", "l": "added", "new": "added", "src/new": "added"},
        ),
        ("chmod 600 README.md; chmod 640 src/tool.sh; touch src/main.py; mkfifo pipe", {}),
        ("cp README.md copy; rm README.md; mv copy README.md; echo x > placed.txt; echo placed > placed.txt", {}),
        (
            "printf 'READ ME\\n' > README.md; rm 'with space' tracked.log made.txt",
            {"README.md": "changed", "made.txt": "deleted", "tracked.log": "deleted", "with space": "deleted"},
        ),
        ("echo edited >> README.md", {"README.md": "changed"}),
        ("rm README.md", {"README.md": "deleted"}),
        ("rm -r src", {f"src/{name}": "deleted" for name in (".gitignore", "main.py", "tool.sh")}),
        ("chmod +x README.md", {"README.md": "chmod"}),
        ("chmod +x README.md; echo more >> README.md", {"README.md": "changed"}),
        ("mv README.md renamed.md", {"README.md": "deleted", "renamed.md": "added"}),
        ("mv src moved", None),
        ("printf '\\0\\377' | dd of=picture.bin bs=1 seek=100 conv=notrunc 2>/dev/null", {"picture.bin": "changed"}),
        # What the workspace's own .gitignore files leave out.
        (
            "echo x > a.log; mkdir -p x deep/build; echo x > x/b.log; echo x > deep/build/x; echo x > keep.log",
            {"keep.log": "added"},
        ),
        ("echo x > root-only; mkdir x; echo x > x/root-only", {"x/root-only": "added"}),
        ("echo x > nested/hidden; echo x > nested/shown", {"nested/shown": "changed"}),
        (
            "echo x > src/a.tmp; echo x > src/important.tmp; echo x > a.tmp",
            {"a.tmp": "added", "src/important.tmp": "added"},
        ),
        # Names that git would take for patterns.
        (
            "echo x > ':!x'; mkdir : ':!build'; echo x > :/y; echo x > ':!build/z'",
            {":!build/z": "added", ":!x": "added", ":/y": "added"},
        ),
        ("mkdir -p build; echo x > ':build'; echo x > build/x", {":build": "added"}),
        # A repository that the command clones or makes.
        ("git init -q made 2>/dev/null; echo x > made/y", {"made/y": "added"}),
        # What was placed is tracked, whatever they say.
        ("echo x > tracked.log; echo x >> src/main.py", {"src/main.py": "changed", "tracked.log": "changed"}),
        (
            "echo x > build/placed; echo x > placed.txt; echo x > AGENTS.md",
            {"AGENTS.md": "changed", "build/placed": "changed", "placed.txt": "changed"},
        ),
        # What setup made shows only when it is changed and not left out.
        ("echo x > made.txt", {"made.txt": "changed"}),
        ("echo x > setup.log; echo x > build/out; rm -r empty", {}),
        # What was left out in the snapshot decides, so that nothing can be hidden by leaving it out.
        ("echo '*' > .gitignore; echo x > hidden", {".gitignore": "changed", "hidden": "added"}),
        ("rm .gitignore; echo x > a.log", {".gitignore": "deleted"}),
        ("echo '!*.log' > .gitignore; echo x > a.log", {".gitignore": "changed"}),
        ("mkdir own; echo '*' > own/.gitignore; echo x > own/x", {"own/.gitignore": "added", "own/x": "added"}),
        # Links.
        (
            "ln -s / root; ln -s .. up; ln -s nowhere dangling; ln README.md hard",
            {"dangling": "added", "hard": "added", "root": "added", "up": "added"},
        ),
        ("ln -sf src/main.py link", {"link": "changed"}),
        ("rm link; echo file > link", {"link": "changed"}),
        ("ln -s src linked; rm link; ln -s README.md link", {"linked": "added"}),
        # Files and directories in each other's place.
        ("rm README.md; mkdir README.md; echo x > README.md/x", {"README.md": "deleted", "README.md/x": "added"}),
        ("rm -r nested; echo x > nested", {"nested": "added", "nested/shown": "deleted"}),
        (
            "rm -r src; ln -s nested src",
            {"src": "added", "src/.gitignore": "deleted", "src/main.py": "deleted", "src/tool.sh": "deleted"},
        ),
        # Names.
        (
            "touch -- 'a b' '-rf' 'quo\"te' \"it's\" 'back\\slash' '*' '~'",
            {
                "*": "added",
                "-rf": "added",
                "a b": "added",
                r"back\\slash": "added",
                "it's": "added",
                'quo"te': "added",
                "~": "added",
            },
        ),
        ("touch \"$(printf 'new\\nline')\" \"$(printf 'tab\\there')\"", {"new\\nline": "added", "tab\\there": "added"}),
        (
            "touch \"$(printf 'latin-\\351')\" \"$(printf 'caf\\303\\251')\"",
            {"caf\u00e9": "added", "latin-\\xe9": "added"},
        ),
        # What is no file, and what is not in the workspace.
        ("rm README.md; mkfifo README.md", {"README.md": "deleted"}),
        ('echo x > ~/elsewhere; rm -r ~/.tool; echo x > "$TMPDIR"/y', {}),
        ("mkdir .git; echo x > .git/x; git init -q . 2>/dev/null", {}),
    ],
)
def test_exactly_what_the_command_changed_is_listed(built: ReevalBuild, script: str, expected: Change | None) -> None:
    found = changes(built, script)

    if expected is None:
        names = (".gitignore", "main.py", "tool.sh")
        expected = {f"moved/{name}": "added" for name in names} | {f"src/{name}": "deleted" for name in names}
        # src/.gitignore says main.py, and what it says holds for src only.
    assert found == expected


def test_everything_in_the_workspace_can_be_deleted(built: ReevalBuild) -> None:
    found = changes(built, "rm -rf ./* ./.gitignore")

    assert set(found.values()) == {"deleted"}
    assert {"README.md", "src/main.py", "tracked.log", "made.txt", "AGENTS.md", "link", ".gitignore"} <= set(found)
    assert "setup.log" not in found


def test_the_json_has_what_was_before_and_what_is_after(built: ReevalBuild, tmp_path: Path) -> None:
    script = "echo edited > README.md; chmod +x placed.txt; rm made.txt; ln -s a b; touch new"
    built("run", "base@fake", "--diff-json", tmp_path / "it.json", "--", "sh", "-c", script + "; exit 3", code=3)

    value = json.loads((tmp_path / "it.json").read_text())

    assert list(value) == ["cell", "command", "exit_code", "killed_for_memory", "changes"]
    assert value["cell"] == "base@fake"
    assert value["command"] == ["sh", "-c", script + "; exit 3"]
    assert value["exit_code"] == 3
    assert value["killed_for_memory"] is False
    by_path = {change["path"]: change for change in value["changes"]}
    assert {tuple(change) for change in value["changes"]} == {("path", "change", "before", "after")}
    assert _file(by_path["README.md"]["before"]) == {"type": "file", "executable": False, "size": 8}
    assert _file(by_path["README.md"]["after"]) == {"type": "file", "executable": False, "size": 7}
    assert by_path["placed.txt"]["before"]["digest"] == by_path["placed.txt"]["after"]["digest"]
    assert (by_path["placed.txt"]["before"]["executable"], by_path["placed.txt"]["after"]["executable"]) == (
        False,
        True,
    )
    assert by_path["made.txt"]["after"] is None
    assert by_path["b"]["before"] is None
    assert by_path["b"]["after"] == {"type": "symlink", "target": "a"}
    assert _file(by_path["new"]["after"]) == {"type": "file", "executable": False, "size": 0}


def _file(entry: dict[str, Any]) -> dict[str, Any]:
    assert len(entry["digest"]) == 64
    return {name: value for name, value in entry.items() if name != "digest"}


def test_the_json_can_hold_any_argument(built: ReevalBuild, tmp_path: Path) -> None:
    file = tmp_path / f"{LATIN}.json"

    built("run", "base@fake", "--diff-json", file, "--", "printf", "%s", LATIN, "\u00fc\n")

    assert json.loads(file.read_text())["command"][-1] == "\u00fc\n"


def test_a_place_for_the_json_that_cannot_be_written_is_refused_before_the_command_runs(
    built: ReevalBuild, tmp_path: Path
) -> None:
    done = built(
        "run", "base@fake", "--diff-json", tmp_path / "no" / "such" / "it.json", "--", "touch", tmp_path / "ran", code=2
    )

    assert str(tmp_path / "no" / "such") in done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("code", [1, 3, 130, 255])
def test_the_exit_code_is_the_commands(built: ReevalBuild, code: int) -> None:
    assert changes(built, f"touch new; exit {code}", code=code) == {"new": "added"}


def test_a_command_that_a_signal_ends_has_128_and_the_signal_as_its_code(built: ReevalBuild) -> None:
    assert changes(built, "touch new; kill -TERM $$", code=143) == {"new": "added"}


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("no-such-program", 127, "No such file or directory"),
        ("./README.md", 126, "Permission denied"),
        ("./src", 126, "Permission denied"),
        (LATIN, 127, "No such file or directory"),
    ],
    ids=ascii,
)
def test_a_program_that_cannot_be_started_has_the_code_a_shell_gives(
    built: ReevalBuild, program: str, code: int, said: str
) -> None:
    done = built("run", "base@fake", "--", program, code=code)

    assert any(program in line and said in line for line in done.stderr.splitlines())
    assert done.stdout == "base@fake: nothing changed since the snapshot\n"


def test_output_and_errors_of_the_command_are_kept_apart(own: ReevalBuild) -> None:
    own.build()

    done = own("run", "base@fake", "--", "sh", "-c", "echo one; echo two >&2; printf three; printf four >&2")

    assert done.stdout == "one\nthree\nbase@fake: nothing changed since the snapshot\n"
    assert done.stderr.endswith("two\nfour")


def test_output_is_passed_on_byte_for_byte_and_in_full(built: ReevalBuild) -> None:
    script = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4096); sys.stderr.buffer.write(b'\\xff' * 300000)"
    process = built.start("run", "base@fake", "--", "python3", "-c", script)
    stdout, stderr = process.communicate()

    assert process.returncode == 0
    assert stdout.startswith(bytes(range(256)) * 4096 + b"\nbase@fake: ")
    assert stderr.count(b"\xff") == 300000


def test_output_is_passed_on_while_the_command_runs(built: ReevalBuild, tmp_path: Path) -> None:
    process = built.start(
        "run", "base@fake", "--", "sh", "-c", f"echo first; until [ -e {tmp_path}/go ]; do sleep 0.01; done; echo last"
    )
    assert process.stdout is not None

    assert process.stdout.readline() == b"first\n"
    (tmp_path / "go").touch()

    assert process.stdout.readline() == b"last\n"
    finish(process)


def test_the_command_sees_the_variables_and_nothing_of_the_hosts(built: ReevalBuild) -> None:
    script = 'echo "[$GREETING][$EMPTY][${EMPTY+set}]"; env'

    done = built("run", "base@fake", "--", "sh", "-c", script, env={"AWS_SECRET_ACCESS_KEY": "topsecret"})

    assert done.stdout.startswith("[hello  world][][set]\n")
    assert "topsecret" not in done.stdout
    assert {line.partition("=")[0] for line in done.stdout.splitlines() if "=" in line} <= {
        *("GREETING", "EMPTY", "PATH", "LANG", "HOME", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_", "REEVAL_BUILD_SANDBOX"),
    }


def test_files_of_the_home_directory_are_there_with_what_setup_added(built: ReevalBuild) -> None:
    done = built("run", "base@fake", "--", "sh", "-c", "cat ~/.tool/config ~/.cache-of-tool; echo $HOME")

    on, cache, home, *_ = done.stdout.splitlines()
    assert (on, cache) == ("on", "cache")
    assert home.startswith(str(built.store))


def test_each_run_starts_from_the_snapshot(built: ReevalBuild) -> None:
    for _ in range(2):
        assert changes(built, "test ! -e new && touch new && echo x >> ~/.tool/config") == {"new": "added"}

    assert built.build().ran == []


def test_what_the_command_leaves_running_is_ended(built: ReevalBuild, tmp_path: Path) -> None:
    script = f"(until [ -e {tmp_path}/go ]; do sleep 0.01; done; touch {tmp_path}/late) & setsid sleep 1000 & echo done"

    done = built("run", "base@fake", "--", "sh", "-c", script)
    (tmp_path / "go").touch()

    assert done.stdout.startswith("done\n")
    assert_nothing_is_left(built.store)
    assert not (tmp_path / "late").exists()


@pytest.mark.conforms("64")
def test_with_init_the_workspace_is_a_repository_of_one_commit_whose_directory_never_shows(
    project: Project, own: ReevalBuild
) -> None:
    project.edit("env.py", 'ref="v1.0.0"', 'ref="v1.0.0", init=True')
    git = "git -c user.name=a -c user.email=a@example.com"

    done = own(
        "run", "base@fake", "--", "sh", "-c", f"git rev-list --count --all; git status --porcelain; {git} remote"
    )

    assert done.stdout.startswith("1\n")
    assert "README.md" not in done.stdout
    assert changes(own, f"echo x > new; git add new; {git} commit -qm new; git gc -q") == {"new": "added"}


def test_a_nested_repository_without_a_name_of_ours_is_listed(built: ReevalBuild) -> None:
    found = changes(built, "mkdir sub; echo x > sub/.git; echo x > sub/y")

    assert found["sub/y"] == "added"


def test_a_cell_is_built_when_it_has_to_be_and_only_it(project: Project, own: ReevalBuild, tmp_path: Path) -> None:
    with (project.directory / "env.py").open("a") as file:
        file.write(f'other = base.extend("other", {{"setup": ["touch {tmp_path}/ran"]}})\n')

    own("run", "base@claude-code", "--", "test", "-e", "CLAUDE.md")

    assert not (tmp_path / "ran").exists()
    built = own.build("env.py::base", "--harness", "claude-code")
    assert built.ran == []


@pytest.mark.parametrize("name", ["a@fake", "x+y@1.0"])
def test_names_with_signs_in_them_name_cells(project: Project, own: ReevalBuild, name: str) -> None:
    project.edit("env.py", '"base"', f'"{name}"')

    assert own("run", f"{name}@fake", "--", "true").stdout == f"{name}@fake: nothing changed since the snapshot\n"
    assert own("run", f"env.py::{name}@codex", "--", "true").stdout.startswith(f"{name}@codex: ")


def test_a_file_with_signs_in_its_name_can_be_given(project: Project, own: ReevalBuild) -> None:
    text = (project.directory / "env.py").read_text()
    project.write("a@b::c/e@f.py", text.replace('git("app"', 'git("../app"'))

    assert own("run", "a@b::c/e@f.py::base@fake", "--", "true").stdout.startswith("base@fake: ")


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("nope@fake", 'there is no environment "nope" here; there are base'),
        ("env.py::nope@fake", 'env.py: there is no environment "nope"; it has base'),
        ("base@nope", f'there is no harness "nope"; there are {", ".join(HARNESSES)}'),
        ("base", '"base" is not a cell: it is NAME@HARNESS or FILE::NAME@HARNESS'),
        ("@fake", '"@fake" is not a cell: it is NAME@HARNESS or FILE::NAME@HARNESS'),
        ("env.py::@fake", '"env.py::@fake" is not a cell: it is NAME@HARNESS or FILE::NAME@HARNESS'),
        ("", '"" is not a cell: it is NAME@HARNESS or FILE::NAME@HARNESS'),
        ("gone.py::base@fake", "gone.py: there is no such file or directory"),
    ],
)
def test_a_cell_that_is_none_is_refused(built: ReevalBuild, tmp_path: Path, cell: str, said: str) -> None:
    done = built("run", cell, "--", "touch", tmp_path / "ran", code=2)

    assert done.stderr == f"reeval: {said}\n"
    assert done.stdout == ""
    assert not (tmp_path / "ran").exists()


def test_a_cell_that_fails_to_build_is_not_run(project: Project, own: ReevalBuild, tmp_path: Path) -> None:
    project.edit("env.py", "mkdir empty;", "exit 9;")

    done = own("run", "base@fake", "--", "touch", tmp_path / "ran", code=3)

    (message,) = done.messages
    assert "env.py" in message
    assert "base@fake" in message
    assert "failed with exit code 9 (its output is in " in message
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_run_that_is_stopped_leaves_nothing(
    own: ReevalBuild, tmp_path: Path, sign: signal.Signals, code: int
) -> None:
    script = f"trap : INT TERM HUP; setsid sleep 1000 & touch {tmp_path}/begun; while :; do sleep 0.1; done"
    process = own.start("run", "base@fake", "--", "sh", "-c", script)
    wait_until((tmp_path / "begun").exists)

    os.kill(process.pid, sign)

    assert finish(process).code == code
    assert_nothing_is_left(own.store)
    assert own.build().ran == []


def test_a_reader_that_goes_away_ends_the_command(built: ReevalBuild) -> None:
    process = built.start("run", "base@fake", "--", "yes")
    assert process.stdout is not None
    assert process.stdout.read(100)
    process.stdout.close()
    process.stdout = None

    assert finish(process).code == 141
    assert_nothing_is_left(built.store)


def test_output_that_cannot_be_written_is_said(built: ReevalBuild) -> None:
    with Path("/dev/full").open("wb") as full:
        done = built("run", "base@fake", "--", "echo", "x", stdout=full, code=3)

    assert "No space left on device" in done.messages[-1]
    assert_nothing_is_left(built.store)


def test_what_a_command_makes_unreadable_does_not_stay_behind(project: Project, tmp_path: Path) -> None:
    make(project)
    own = ReevalBuild(project.directory, tmp_path / "store", prefix=checked_by_permissions())

    own("run", "base@fake", "--", "sh", "-c", "mkdir -p d/e; touch d/e/f; chmod 500 d/e; chmod 555 d")

    assert_nothing_is_left(own.store)


def test_standard_input_is_empty(built: ReevalBuild) -> None:
    done = built("run", "base@fake", "--", "cat", stdin=subprocess.DEVNULL)

    assert done.stdout == "base@fake: nothing changed since the snapshot\n"


def test_the_repository_and_the_project_are_not_touched(project: Project, own: ReevalBuild) -> None:
    before = listing(project.directory)

    own("run", "base@fake", "--", "sh", "-c", "rm -rf ./*; echo x > x")

    assert listing(project.directory) == before
