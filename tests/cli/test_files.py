"""`files`, `file()` and `directory()`: what is in the sandbox afterwards, and which of their changes count."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from reeval_build.model.harnesses import HARNESSES
from tests.support.cli import ReevalBuild
from tests.support.projects import Project, listing

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "no newline at the end, \u00fc \u2713 \U0001f600\r\nand a carriage return"
BYTES = b"\x00\r\n\xff\xfe" + bytes(range(256)) * 3 + b"\n\n"


@pytest.fixture(scope="module", params=[0o022, 0o077], ids="umask {:03o}".format)
def placed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a workspace and a home directory with every kind of file in them, built and run under a umask."""
    directory = tmp_path_factory.mktemp("placed")
    project = Project(directory / "project")
    project.repository("app", {"kept.txt": "repository\n", "replaced.txt": "repository\n", "deep/replaced": "old"})
    project.write("bytes.bin", BYTES)
    for mode in ("0700", "0755", "0744", "0644", "0655", "0677", "0400"):
        project.write(f"modes/{mode}", mode).chmod(int(mode, 8))
    project.write("fixtures/a.txt", "a of the directory\n")
    project.write("fixtures/b.txt", "b of the directory\n")
    (project.directory / "fixtures" / "empty" / "inner").mkdir(parents=True)
    project.define(
        f"""
        from reeval_build import directory

        one = define_environment("one", {{
            "sandbox": fake_sandbox(),
            "workspace": git("app"),
            "files": {{
                "text.txt": {TEXT!r},
                "empty.txt": "",
                "bytes.bin": file("bytes.bin"),
                "replaced.txt": "files",
                "deep/replaced": "new",
                **directory("modes", to="modes"),
                **directory("fixtures", to="fixtures"),
                "fixtures/b.txt": "a later key",
                "~/.npmrc": "fund=false\\n",
            }},
        }})
        """
    )
    reeval = ReevalBuild(project.directory, directory / "store")
    umask: int = request.param
    return reeval.copied("one@fake", directory / "copy", umask=umask)


def modes(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o7777 for path in directory.iterdir()}


@pytest.mark.conforms("31")
def test_a_text_is_written_exactly_as_utf8(placed: Path) -> None:
    assert (placed / "workspace" / "text.txt").read_bytes() == TEXT.encode("utf-8")
    assert (placed / "workspace" / "empty.txt").read_bytes() == b""


@pytest.mark.conforms("32")
def test_a_host_file_is_copied_byte_for_byte(placed: Path) -> None:
    assert (placed / "workspace" / "bytes.bin").read_bytes() == BYTES


@pytest.mark.conforms("33")
def test_the_owner_s_execute_bit_decides_and_no_umask(placed: Path) -> None:
    executable, plain = (
        dict.fromkeys(("0700", "0755", "0744"), 0o755),
        dict.fromkeys(("0644", "0655", "0677", "0400"), 0o644),
    )

    assert modes(placed / "workspace" / "modes") == executable | plain
    assert (placed / "workspace" / "text.txt").stat().st_mode & 0o7777 == 0o644


@pytest.mark.conforms("38")
def test_a_file_of_the_home_directory_is_there_and_not_in_the_workspace(placed: Path) -> None:
    assert (placed / "home" / ".npmrc").read_text() == "fund=false\n"
    assert not [path for path in listing(placed / "workspace") if "npmrc" in path]


@pytest.mark.conforms("43")
def test_files_are_written_over_the_workspace(placed: Path) -> None:
    found = {name: (placed / "workspace" / name).read_text() for name in ("kept.txt", "replaced.txt", "deep/replaced")}

    assert found == {"kept.txt": "repository\n", "replaced.txt": "files", "deep/replaced": "new"}


@pytest.mark.conforms("44", "47")
def test_a_directory_is_spread_without_its_empty_ones_and_a_later_key_wins(placed: Path) -> None:
    assert listing(placed / "workspace" / "fixtures") == ["a.txt", "b.txt"]
    assert (placed / "workspace" / "fixtures" / "a.txt").read_text() == "a of the directory\n"
    assert (placed / "workspace" / "fixtures" / "b.txt").read_text() == "a later key"


@pytest.mark.conforms("38")
def test_what_happens_in_the_home_directory_is_no_change_of_the_workspace(
    project: Project, reeval: ReevalBuild
) -> None:
    project.define(
        'one = define_environment("one", {"sandbox": fake_sandbox(), "files": {"~/.npmrc": "fund=false\\n"}})'
    )

    done = reeval("run", "one@fake", "--", "sh", "-c", "cat ~/.npmrc; echo more >> ~/.npmrc; echo x > ~/.new")

    assert done.stdout == "fund=false\none@fake: nothing changed since the snapshot\n"


@pytest.mark.conforms("48", "49", "50", "51", "52")
def test_what_of_a_directory_is_copied_is_decided_by_ignores_and_patterns(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    for path in ("node_modules/m.ts", "src/node_modules/m.ts", "build/b", "src/build/b.ts", "target/t", "vendor/v.ts"):
        project.write(f"tree/{path}", path)
    project.repository("tree", {"src/a.ts": "", "src/b.ts": "", "c.ts": "", "d.md": ""})
    project.define(
        """
        from reeval_build import directory

        one = define_environment("one", {
            "sandbox": fake_sandbox(),
            "files": {
                **directory("tree", to="plain"),
                **directory("tree", to="all", ignore=False),
                **directory("tree", to="some", include=["*.ts", "!/vendor/", "!src/b.ts", "node_modules/"]),
                **directory("tree", to="but", include=["!src/"]),
            },
        })
        """
    )

    workspace = reeval.copied("one@fake", tmp_path / "copy") / "workspace"

    found = {top.name: [path for path in listing(top) if (top / path).is_file()] for top in workspace.iterdir()}
    kept = ["c.ts", "d.md", "src/a.ts", "src/b.ts", "src/build/b.ts", "vendor/v.ts"]
    assert found == {
        "plain": kept,
        "all": sorted([*kept, "build/b", "node_modules/m.ts", "src/node_modules/m.ts", "target/t"]),
        "some": ["c.ts", "src/a.ts", "src/build/b.ts"],
        "but": ["c.ts", "d.md", "vendor/v.ts"],
    }


@pytest.mark.conforms("41")
def test_a_file_is_read_when_the_build_begins_and_its_key_is_that_of_the_bytes_that_are_placed(
    project: Project, reeval: ReevalBuild
) -> None:
    write = 'Path(__file__).with_name("a.txt").write_text("{}")\n'
    text = 'one = define_environment("one", {"sandbox": fake_sandbox(), "files": {"a": file("a.txt")}})\n'
    imports = "from pathlib import Path\n"
    project.define(imports + write.format("at the call") + text + write.format("after the call"))

    edited = reeval.build()

    assert reeval("run", "one@fake", "--", "cat", "a").stdout.startswith("after the call")
    project.define(text)
    assert reeval.build().ran == []
    assert reeval.build().keys == edited.keys
    project.write("a.txt", "at the call")
    assert reeval.build().phases("ran") == ["files", "root", "snapshot"]


@pytest.mark.conforms("53", "40")
def test_of_a_directory_what_comes_later_is_not_copied_and_what_goes_fails_its_own_cells(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    project.write("kept/a", "a")
    project.write("lost/a", "a")
    project.define(
        f"""
        from pathlib import Path

        from reeval_build import directory

        here = Path(__file__).parent
        sandbox = {{"sandbox": fake_sandbox(), "setup": ["ls > {tmp_path}/listed"]}}
        more = define_environment("more", {{**sandbox, "files": directory("kept")}})
        less = define_environment("less", {{**sandbox, "files": directory("lost")}})
        (here / "kept" / "b").write_text("b")
        (here / "lost" / "a").unlink()
        """
    )

    built = reeval.build(code=3)

    assert built.messages == [
        f'reeval: env.py: less@fake: file("{project.directory}/lost/a") does not exist (check its spelling)'
    ]
    assert {cell["name"]: cell["status"] for cell in built.value["cells"]} == {
        "more@fake": "ran",
        "less@fake": "failed",
    }
    assert (tmp_path / "listed").read_text() == "a\n"


@pytest.mark.conforms("fault 16")
def test_what_patterns_and_ignores_leave_out_may_change(project: Project, reeval: ReevalBuild) -> None:
    project.write("tree/a.ts", "a")
    project.write("tree/generated/b.ts", "b")
    project.define(
        """
        from reeval_build import directory

        one = define_environment("one", {
            "sandbox": fake_sandbox(), "files": directory("tree", include=["*.ts", "!generated/"]),
        })
        """
    )
    before = reeval.build()

    project.write("tree/generated/b.ts", "changed")
    for left in ("__pycache__/a.pyc", ".DS_Store", ".a.ts.swp", "a.ts~", "node_modules/c.ts"):
        project.write(f"tree/{left}", "")

    assert reeval.build().keys == before.keys


@pytest.mark.conforms("40")
def test_a_missing_file_is_no_error_of_the_plan(project: Project, reeval: ReevalBuild) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "files": {"a": file("gone")}})')

    assert f'file("{project.directory}/gone") does not exist' in reeval("graph").stdout
    assert reeval.build(code=3).phases("failed") == ["files"]


@pytest.mark.conforms("34", "35", "36")
def test_bytes_destination_and_the_owner_s_execute_bit_are_all_that_counts_of_a_file(
    project: Project, reeval: ReevalBuild
) -> None:
    first = project.write("a.txt", "same\n")
    project.write("elsewhere/b.txt", "same\n")
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "files": {"a": file("a.txt")}})')
    before = reeval.build()

    os.utime(first, (0, 0))
    first.chmod(0o677)
    assert reeval.build().keys == before.keys
    project.edit("env.py", 'file("a.txt")', 'file("elsewhere/b.txt")')
    assert reeval.build().keys == before.keys
    project.edit("env.py", 'file("elsewhere/b.txt")', '"same\\n"')
    assert reeval.build().keys == before.keys
    project.edit("env.py", '{"a":', '{"b":')
    assert reeval.build().phases("ran") == ["files", "root", "snapshot"]
    project.edit("env.py", '"same\\n"', 'file("a.txt")')
    first.chmod(0o744)
    assert reeval.build().phases("ran") == ["files", "root", "snapshot"]


@pytest.mark.conforms("54", "55")
@pytest.mark.parametrize("harness", HARNESSES)
def test_rules_are_where_the_harness_reads_them_written_over_files(
    project: Project, reeval: ReevalBuild, harness: str
) -> None:
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "rules": "the rules", "files": {"CLAUDE.md": "a file", "AGENTS.md": "a file"},
        })
        """
    )

    done = reeval("run", f"one@{harness}", "--", "cat", "CLAUDE.md", "AGENTS.md")

    found = done.stdout.partition("\n")[0].partition(f"one@{harness}")[0]
    assert found == ("the rulesa file" if harness == "claude-code" else "a filethe rules")


@pytest.mark.conforms("56")
def test_harnesses_share_all_that_their_rules_file_does_not_keep_apart(project: Project, reeval: ReevalBuild) -> None:
    project.define(
        'one = define_environment("one", {"sandbox": fake_sandbox(), "rules": "x", "setup": ["echo a > a"]})'
    )

    snapshots = reeval.build("--harness", "claude-code", "--harness", "codex", "--harness", "pi").snapshots

    assert snapshots["one@codex"] == snapshots["one@pi"] != snapshots["one@claude-code"]
