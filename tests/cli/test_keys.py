"""Keys: equal wherever and however the same environments are built."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.cli import Built, ReevalBuild
from tests.support.projects import Project
from tests.support.users import another_user

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES: Final[dict[str, str | bytes]] = {
    "main.txt": "main\n",
    "tool.sh": "#!/bin/sh\n",
    "deep/er/file": b"\0\1\2",
    ".gitignore": "*.log\n",
    "caf\u00e9.txt": "",
    b"latin-\xe9".decode("utf-8", "surrogateescape"): "",
}


def make(directory: Path) -> Project:
    """A project made from nothing, with the same bytes each time."""
    project = Project(directory)
    app = project.repository("app", FILES)
    (app.directory / "tool.sh").chmod(0o755)
    (app.directory / "link").symlink_to("deep/er/file")
    app.commit()
    project.write("a.sh", "#!/bin/sh\necho a\n", executable=True)
    project.write("skills/note/SKILL.md", "---\nname: note\ndescription: Notes.\n---\nNote.\n")
    project.write("skills/note/run", "#!/bin/sh\n", executable=True)
    project.write("review/.claude-plugin/plugin.json", '{"name": "review"}')
    project.write("review/commands/look.md", "Look.\n")
    project.write("rules.md", "Be good \u2713\n")
    project.define(
        """
        base = define_environment("base", {
            "sandbox": fake_sandbox(),
            "workspace": git("app", init=True),
            "env": {"B": "2", "A": "1", "C": "\u00fc"},
            "files": {name: file("a.sh") for name in {"z", "y/x", "~/.config/a", "~/b"}},
            "rules": file("rules.md"),
            "skills": [skill.local("skills")],
            "plugins": [plugin.local("review")],
            "setup": ["umask > umask.txt; mkdir made; touch made/file; ln -s made/file link2; chmod +x made/file"],
        })
        more = base.extend("more", {"setup": [{"run": "wc -c main.txt > count", "cwd": "."}]})
        """
    )
    return project


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Built:
    directory = tmp_path_factory.mktemp("plain")
    return ReevalBuild(make(directory / "project").directory, directory / "store").build()


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory on a file system in memory."""
    if not os.access("/dev/shm", os.W_OK):  # noqa: S108 - the place is the point
        pytest.skip("there is no /dev/shm to write to")
    directory = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield directory
    shutil.rmtree(directory)


def assert_same(built: Built, expected: Built) -> None:
    # Labels of what is local say where it is.
    assert sorted((what.split()[0], key) for what, key in built.keys.items()) == sorted(
        (what.split()[0], key) for what, key in expected.keys.items()
    )
    assert built.snapshots == expected.snapshots
    assert built.summary["ran"] == len(built.nodes), "every node was made anew"


@pytest.mark.conforms("33", "35", "60", "65", "fault 14")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_keys_do_not_depend_on_the_umask_nor_on_the_place(tmp_path: Path, expected: Built, umask: int) -> None:
    before = os.umask(umask)
    try:
        project = make(tmp_path / "some other place" / "project \u00fc")
    finally:
        os.umask(before)

    built = ReevalBuild(project.directory, tmp_path / "store").build(umask=umask)

    assert_same(built, expected)


@pytest.mark.conforms("fault 14")
@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2"},
        {"LANG": "C", "LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"TZ": "Asia/Tokyo"},
        {"HOME": "/nowhere", "GIT_CONFIG_GLOBAL": "/nowhere/config", "GIT_DIR": "/nowhere/git"},
        {"PYTHONOPTIMIZE": "2"},
    ],
    ids=lambda env: next(iter(env)),
)
def test_keys_do_not_depend_on_the_surroundings(tmp_path: Path, expected: Built, env: dict[str, str]) -> None:
    project = make(tmp_path / "project")

    built = ReevalBuild(project.directory, tmp_path / "store", env=env).build()

    assert_same(built, expected)


def test_keys_do_not_depend_on_the_configuration_of_git(tmp_path: Path, expected: Built) -> None:
    project = make(tmp_path / "project")
    project.write("home/.gitconfig", "[core]\n\tautocrlf = true\n\teol = crlf\n\tfileMode = false\n")
    (project.directory / "app" / ".git" / "info" / "attributes").write_text("*.txt text eol=crlf\n")

    built = ReevalBuild(project.directory, tmp_path / "store", env={"HOME": str(project.directory / "home")}).build()

    assert_same(built, expected)


@pytest.mark.conforms("fault 14")
def test_keys_do_not_depend_on_the_file_system(tmp_path: Path, memory: Path, expected: Built) -> None:
    in_memory, on_disk = make(memory / "project").directory, make(tmp_path / "project").directory

    assert_same(ReevalBuild(in_memory, tmp_path / "store").build(), expected)
    assert_same(ReevalBuild(on_disk, memory / "store").build(), expected)


@pytest.mark.conforms("fault 14")
def test_keys_do_not_depend_on_the_user(tmp_path: Path, expected: Built) -> None:
    prefix = another_user()
    assert subprocess.check_output([*prefix, "id", "-u"]).strip() == b"54321"
    project = make(tmp_path / "project")

    built = ReevalBuild(project.directory, tmp_path / "store", prefix=prefix).build()

    assert_same(built, expected)


@pytest.mark.conforms("34", "59", "fault 14", "fault 19")
def test_keys_do_not_depend_on_times_nor_on_the_history(tmp_path: Path, expected: Built) -> None:
    project = make(tmp_path / "project")
    app = Project(project.directory / "app")
    for path in app.directory.rglob("*"):
        os.utime(path, (0, 0), follow_symlinks=False)
    subprocess.run(
        ["git", "-c", "user.name=Other", "-c", "user.email=o@example.com", "commit", "-q", "--amend", "-m", "other"],
        cwd=app.directory,
        check=True,
    )

    assert_same(ReevalBuild(project.directory, tmp_path / "store").build(), expected)


@pytest.mark.conforms("42", "fault 14", "fault 19")
def test_keys_do_not_depend_on_the_order_in_which_things_are_written(tmp_path: Path, expected: Built) -> None:
    project = make(tmp_path / "project")
    project.edit("env.py", '{"B": "2", "A": "1", "C": "\u00fc"}', '{"C": "\u00fc", "A": "1", "B": "2"}')
    text = (project.directory / "env.py").read_text(encoding="utf-8")
    project.write("env.py", text + "\nbase, more = more, base\n")

    built = ReevalBuild(project.directory, tmp_path / "store").build("--harness", "fake", "--jobs", "1")

    assert sorted(built.snapshots.items()) == sorted(expected.snapshots.items())
    assert sorted(node["key"] for node in built.nodes) == sorted(node["key"] for node in expected.nodes)
