"""`directory()`, on real directories."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from reeval_build import DEFAULT_DIRECTORY_IGNORES, define_environment, directory, file
from reeval_build.errors import DefinitionError
from reeval_build.model.spec import HostFile


def write(root: Path, *paths: str) -> Path:
    for path in paths:
        whole = root / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_text(path)
    return root


def problems(make) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        make()
    return caught.value.problems


def names(root: Path, **options) -> list[str]:
    return list(directory(str(root), **options))


def test_every_file_is_copied_from_where_it_is(tmp_path):
    write(tmp_path, "b", "a/c", "a/d/e")

    assert directory(str(tmp_path)) == {
        "a/c": HostFile(f"{tmp_path}/a/c"),
        "a/d/e": HostFile(f"{tmp_path}/a/d/e"),
        "b": HostFile(f"{tmp_path}/b"),
    }


def test_a_relative_path_counts_from_the_calling_file():
    found = directory(".", include=["/test_directory.py"])

    assert found == {"test_directory.py": HostFile(__file__)}


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("", "a"),
        (".", "a"),
        ("src", "src/a"),
        ("src/", "src/a"),
        ("x/y", "x/y/a"),
        ("~/", "~/a"),
        ("~/.config", "~/.config/a"),
    ],
)
def test_files_go_to_a_directory_of_the_workspace_or_of_the_home(tmp_path, to, expected):
    assert names(write(tmp_path, "a"), to=to) == [expected]


@pytest.mark.conforms("37")
@pytest.mark.parametrize("to", ["/a", "..", "a/../b", "a\\b", "~", "~root/a", "a//b", "./a", 3, None, "a\0", "/"])
def test_any_other_place_is_refused(tmp_path, to):
    (problem,) = problems(lambda: directory(str(write(tmp_path, "a")), to=to))

    assert problem.startswith("to in directory() must be a directory of the workspace, or one that begins with ~/")


@pytest.mark.conforms("44")
def test_it_spreads_into_files_and_a_later_key_wins(tmp_path):
    write(tmp_path, "a", "b")
    environment = define_environment("e", {"files": {**directory(str(tmp_path)), "b": "mine"}})

    assert dict(environment.layers[0].spec.files or {}) == {"a": file(f"{tmp_path}/a"), "b": "mine"}


@pytest.mark.conforms("45")
def test_a_directory_that_is_not_there_is_refused(tmp_path):
    assert problems(lambda: directory(f"{tmp_path}/no")) == (
        f"directory() has nothing to copy: {tmp_path}/no is not there",
    )


@pytest.mark.conforms("45")
def test_a_file_is_no_directory(tmp_path):
    write(tmp_path, "a")

    assert problems(lambda: directory(f"{tmp_path}/a")) == (
        f"directory() needs a directory, which {tmp_path}/a is not",
    )


@pytest.mark.conforms("45")
@pytest.mark.parametrize("include", [["*.md"], ["!*"], ["b/"]])
def test_a_directory_of_which_nothing_is_included_is_refused(tmp_path, include):
    write(tmp_path, "a")

    assert problems(lambda: directory(str(tmp_path), include=include)) == (
        f"directory() has nothing to copy: no file of {tmp_path} is included",
    )


@pytest.mark.conforms("45", "47")
def test_empty_directories_are_left_out(tmp_path):
    (tmp_path / "empty" / "inner").mkdir(parents=True)
    write(tmp_path, "a")

    assert names(tmp_path) == ["a"]
    (tmp_path / "a").unlink()
    assert problems(lambda: directory(str(tmp_path)))


@pytest.mark.conforms("46")
def test_broken_and_cyclic_links_are_refused_all_at_once(tmp_path):
    write(tmp_path, "a/b")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "itself").symlink_to("itself")
    (tmp_path / "a" / "up").symlink_to("..")

    found = problems(lambda: directory(str(tmp_path)))

    assert sorted(found) == [
        f"directory() cannot copy {tmp_path}/a/up: it is a symbolic link to a directory that it is in",
        (
            f"directory() cannot copy {tmp_path}/broken: it is a symbolic link that is broken or cyclic, "
            "or it cannot be read"
        ),
        (
            f"directory() cannot copy {tmp_path}/itself: it is a symbolic link that is broken or cyclic, "
            "or it cannot be read"
        ),
    ]


def test_a_link_that_is_not_copied_may_be_broken(tmp_path):
    write(tmp_path, "a.md")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "broken").symlink_to("nowhere")

    assert names(tmp_path, include=["*.md"]) == ["a.md"]
    assert names(tmp_path, include=["!broken"]) == ["a.md"]


def test_links_to_files_and_directories_are_followed(tmp_path):
    outside = write(tmp_path / "outside", "x")
    root = write(tmp_path / "root", "a")
    (root / "file").symlink_to("a")
    (root / "directory").symlink_to(outside)
    (root / "again").symlink_to(outside)

    assert names(root) == ["a", "again/x", "directory/x", "file"]


def test_a_directory_may_be_a_link_itself(tmp_path):
    write(tmp_path / "root", "a")
    (tmp_path / "link").symlink_to("root")

    assert directory(f"{tmp_path}/link") == {"a": HostFile(f"{tmp_path}/link/a")}


@pytest.mark.conforms("48")
def test_what_tools_leave_is_left_out_by_default(tmp_path):
    write(
        tmp_path,
        *("node_modules/a", "src/node_modules/a", "build/a", "target/a", "src/build/a", "src/target/a", "vendor/a"),
        *(
            ".git/config",
            "src/.git/config",
            "sub/.git",
            "__pycache__/a.pyc",
            ".venv/pyvenv.cfg",
            ".gitignore",
            "build.md",
        ),
    )

    assert names(tmp_path) == [".gitignore", "build.md", "src/build/a", "src/target/a", "vendor/a"]
    assert {"node_modules/", "/build/", "/target/"} <= set(DEFAULT_DIRECTORY_IGNORES)


@pytest.mark.conforms("48")
def test_a_file_with_the_name_of_an_ignored_directory_is_kept(tmp_path):
    assert names(write(tmp_path, "build", "node_modules")) == ["build", "node_modules"]


@pytest.mark.conforms("49")
def test_nothing_but_git_is_left_out_without_ignores(tmp_path):
    write(tmp_path, "node_modules/a", "build/a", ".git/config", "a/.git/config")

    assert names(tmp_path, ignore=False) == ["build/a", "node_modules/a"]


@pytest.mark.conforms("52")
def test_a_pattern_cannot_bring_back_what_is_ignored(tmp_path):
    write(tmp_path, "node_modules/a.ts", "build/a.ts", "a.ts")

    assert names(tmp_path, include=["*.ts", "node_modules/", "/build/a.ts"]) == ["a.ts"]


@pytest.mark.conforms("50", "51")
def test_patterns_choose_files_of_the_directory(tmp_path):
    write(tmp_path, "a.ts", "b.js", "src/a.ts", "src/b.ts", "src/deep/c.ts")

    assert names(tmp_path, include=["*.ts", "!/a.ts", "!src/b.ts"]) == ["src/a.ts", "src/deep/c.ts"]
    assert names(tmp_path, include=["src/", "!deep/"]) == ["src/a.ts", "src/b.ts"]
    assert names(tmp_path, include=["!src/"]) == ["a.ts", "b.js"]


@pytest.mark.parametrize(
    ("include", "message"),
    [
        ("*.ts", 'include in directory() must be a list of patterns (got "*.ts")'),
        (None, "include in directory() must be a list of patterns (got null)"),
        ([3], "include[0] in directory() must be a pattern such as *.md (got 3)"),
        (["a", "\\x"], 'include[1] in directory() must be a pattern with forward slashes (got "\\\\x")'),
        (["a//b"], 'include[0] in directory() must be a pattern without empty names, "." and ".." (got "a//b")'),
    ],
)
def test_what_is_no_list_of_patterns_is_refused(tmp_path, include, message):
    assert problems(lambda: directory(str(write(tmp_path, "a")), include=include)) == (message,)


@pytest.mark.parametrize("ignore", [None, "yes", 1, ["x"]])
def test_ignore_is_true_or_false(tmp_path, ignore):
    (problem,) = problems(lambda: directory(str(write(tmp_path, "a")), ignore=ignore))

    assert problem.startswith("ignore in directory() must be True or False (got ")


@pytest.mark.parametrize("name", [b"\xff", b"a\\b", b".wh.a"])
def test_a_file_that_can_have_no_destination_is_refused(tmp_path, name):
    write(tmp_path, "a")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("")

    (problem,) = problems(lambda: directory(str(tmp_path)))

    assert problem.startswith("directory() cannot copy to ")
    assert names(tmp_path, include=["a"]) == ["a"]


def test_what_is_neither_file_nor_directory_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        found = problems(lambda: directory(str(tmp_path)))

    assert sorted(found) == [
        f"directory() cannot copy {tmp_path}/pipe: it is not a file, a directory or a link to one",
        f"directory() cannot copy {tmp_path}/socket: it is not a file, a directory or a link to one",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_directory_that_may_not_be_read_is_refused(tmp_path):
    closed = write(tmp_path, "closed/a") / "closed"
    closed.chmod(0)
    try:
        found = problems(lambda: directory(str(tmp_path)))
    finally:
        closed.chmod(0o700)

    assert found == (f"directory() cannot copy {closed}: it cannot be read: Permission denied",)


@pytest.mark.conforms("53", "40")
def test_which_files_there_are_is_decided_at_the_call(tmp_path):
    write(tmp_path, "a", "b")
    found = directory(str(tmp_path))

    (tmp_path / "a").unlink()
    write(tmp_path, "c")

    assert sorted(found) == ["a", "b"]
    define_environment("e", {"files": found})


@pytest.fixture
def deep(tmp_path):
    """A directory of 1500 directories in each other, and a file at the bottom; Python itself could not remove it."""
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)
    yield tmp_path
    subprocess.run(["rm", "-r", str(tmp_path / "d")], check=True)


def test_directories_may_be_deeper_than_the_stack(deep):
    assert names(deep) == ["d/" * 1500 + "f"]


def test_what_it_returns_is_the_authors_to_change(tmp_path):
    write(tmp_path, "a")

    found = directory(str(tmp_path))
    found.pop("a")

    assert names(tmp_path) == ["a"]
