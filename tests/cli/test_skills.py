"""Skills of every source: found, merged by name, and placed where a harness reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sources.npm_registry import npm_registry
from tests.sources.npm_world import NEEDS_NPM
from tests.sources.servers import git_over_http
from tests.sources.tars import package
from tests.support.projects import Project, listing

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import ReevalBuild


def skill_file(name: str | None = None, description: str = "Does it.") -> str:
    named = "" if name is None else f"name: {name}\n"
    return f"---\n{named}description: {description}\n---\nDo it.\n"


def base(project: Project, *skills: str, more: str = "") -> None:
    listed = ", ".join(skills)
    project.define(f'base = define_environment("base", {{"sandbox": fake_sandbox(), "skills": [{listed}], {more}}})\n')


def placed(reeval: ReevalBuild, tmp_path: Path, harness: str = "fake") -> list[str]:
    """Every path in the workspace and the home directory of a sandbox, at its start."""
    return listing(reeval.copied(f"base@{harness}", tmp_path / f"copy of {harness}"))


def skills(paths: list[str], where: str) -> list[str]:
    return [
        path.removeprefix(f"{where}/") for path in paths if path.startswith(f"{where}/") and "." in path[len(where) :]
    ]


@pytest.mark.conforms("92", "93")
def test_a_directory_is_a_skill_or_has_skills_and_no_deeper(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    project.write("one/SKILL.md", skill_file())
    project.write("many/tabs/SKILL.md", skill_file())
    project.write("many/spaces/SKILL.md", skill_file("wide-spaces"))
    project.write("many/group/deeper/SKILL.md", skill_file())
    base(project, 'skill.local("./one")', 'skill.local("./many")')

    assert skills(placed(reeval, tmp_path), "workspace/.agents/skills") == [
        "one/SKILL.md",
        "tabs/SKILL.md",
        "wide-spaces/SKILL.md",
    ]


@pytest.mark.conforms("93", "94")
@pytest.mark.parametrize(
    ("files", "options", "said"),
    [
        ({"SKILL.md": skill_file("Not Kebab")}, "", 'the name "Not Kebab", which is not kebab-case'),
        ({"SKILL.md": "---\nname: s\n---\n"}, "", "has no description"),
        ({"SKILL.md": "no frontmatter"}, "", "has no frontmatter"),
        ({"README.md": ""}, "", "has no SKILL.md, and no directory in it has one"),
        (
            {"tabs/SKILL.md": skill_file(), "spaces/SKILL.md": skill_file()},
            ', only=["tab"]',
            'has no skill "tab"; the skills found are: spaces, tabs',
        ),
        ({}, "", "does not exist"),
    ],
    ids=["name", "description", "frontmatter", "no skill", "only", "missing"],
)
def test_what_is_wrong_with_a_source_fails_the_cells_that_use_it_before_anything_of_them_is_built(
    project: Project, reeval: ReevalBuild, files: dict[str, str], options: str, said: str
) -> None:
    for path, text in files.items():
        project.write(f"skills/{path}", text)
    project.define(
        f"""
        bad = define_environment("bad", {{
            "sandbox": fake_sandbox(), "skills": [skill.local("./skills"{options})], "setup": ["touch /never"],
        }})
        good = define_environment("good", {{"sandbox": fake_sandbox(), "setup": ["true"]}})
        """
    )

    built = reeval.build(code=3)

    (message,) = built.messages
    assert message.startswith("reeval: env.py: bad@fake: ")
    assert "./skills" in message or str(project.directory / "skills") in message
    assert said in message
    assert built.snapshots["bad@fake"] is None
    assert built.snapshots["good@fake"] is not None


@pytest.mark.conforms("fault 6", "fault 38")
def test_a_repository_that_is_one_skill_is_placed_as_it_is(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    repository = project.repository("served/whole", {"SKILL.md": skill_file("whole"), "LICENSE": "free\n"})
    repository.write("scripts/run.sh", "#!/bin/sh\n", executable=True)
    repository.commit()
    with git_over_http(project.directory / "served") as server:
        base(project, f'skill.git("{server.url}/whole")')
        placed_skill = reeval.copied("base@fake", tmp_path / "copy") / "workspace/.agents/skills/whole"
        repository.write("scripts/run.sh", "#!/bin/sh\ntrue\n", executable=True)
        repository.commit()
        edited = reeval.build()

    assert listing(placed_skill) == ["LICENSE", "SKILL.md", "scripts", "scripts/run.sh"]
    assert (placed_skill / "scripts/run.sh").stat().st_mode & 0o777 == 0o755
    assert edited.phases("ran") == ["skills", "snapshot", "source"]


@pytest.mark.conforms("95")
def test_exclude_stands_in_place_of_what_is_left_out_by_default(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        project.write(f"{name}/SKILL.md", skill_file())
        for path in (
            "evals/x.md",
            "sub/evals/y.md",
            ".history/z",
            "sub/.history/z",
            "q.eval.ts",
            ".git/config",
            "n.txt",
        ):
            project.write(f"{name}/{path}", "")
    base(project, 'skill.local("./a")', 'skill.local("./b", exclude=["*.txt", "/sub/"])')

    found = skills(placed(reeval, tmp_path), "workspace/.agents/skills")

    assert [path for path in found if path.startswith("a/")] == ["a/SKILL.md", "a/n.txt", "a/sub/evals/y.md"]
    assert [path for path in found if path.startswith("b/")] == [
        "b/.history",
        "b/.history/z",
        "b/SKILL.md",
        "b/evals/x.md",
        "b/q.eval.ts",
    ]


@pytest.mark.conforms("96")
def test_of_a_repository_it_is_skills_unless_the_root_is_one(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    both = {"SKILL.md": skill_file("whole"), "skills/tabs/SKILL.md": skill_file()}
    project.repository("served/both", both)
    project.repository("served/library", {"README.md": "", "skills/spaces/SKILL.md": skill_file()})
    project.repository("served/flat", {"dots/SKILL.md": skill_file()})
    project.repository("served/deep", {"extra/here/SKILL.md": skill_file()})
    with git_over_http(project.directory / "served") as server:
        base(
            project,
            f'skill.git("{server.url}/both")',
            f'skill.git("{server.url}/library")',
            f'skill.git("{server.url}/flat")',
            f'skill.git("{server.url}/deep", path="extra")',
        )

        found = skills(placed(reeval, tmp_path), "workspace/.agents/skills")

    names = {path.partition("/")[0] for path in found}
    assert names == {"whole", "spaces", "dots", "here"}


@pytest.mark.conforms("61", "98")
def test_a_ref_that_may_move_is_warned_of_and_a_version_is_not(project: Project, reeval: ReevalBuild) -> None:
    repository = project.repository("served/acme/library", {"skills/tabs/SKILL.md": skill_file()})
    repository.git("tag", "v1.0.0")
    with git_over_http(project.directory / "served") as server:
        # What the registry stands for is at a host of its own; git is told where that is.
        project.write(
            ".gitconfig", f'[url "{server.url}/acme/library"]\n\tinsteadOf = https://github.com/acme/library.git\n'
        )
        base(project, 'skill.registry("acme/library@tabs")')
        unpinned = reeval.build().messages
        base(project, 'skill.registry("acme/library@tabs", version="v1.0.0")')
        pinned = reeval.build()

    assert len(unpinned) == 1
    assert "results are not comparable over time" in unpinned[0]
    assert 'skill.registry("acme/library@tabs") has no ref' in unpinned[0]
    assert pinned.messages == []
    assert pinned.ran == []


@NEEDS_NPM
@pytest.mark.conforms("97")
def test_a_package_is_of_one_version_and_its_skills_are_in_skills(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    with npm_registry() as registry:
        archive = package("@acme/skills", "1.2.0", files={"skills/tabs/SKILL.md": skill_file().encode()})
        registry.publish("@acme/skills", "1.2.0", archive)
        project.write(".npmrc", f"registry={registry.url}/public/\n")
        base(project, 'skill.npm("@acme/skills")')
        unpinned = reeval.build().messages
        base(project, 'skill.npm("@acme/skills@1.2.0")')
        pinned = reeval.build()
        found = skills(placed(reeval, tmp_path), "workspace/.agents/skills")

    assert len(unpinned) == 1
    assert "is 1.2.0 now: results are not comparable over time" in unpinned[0]
    assert pinned.messages == []
    assert pinned.ran == []
    assert found == ["tabs/SKILL.md"]


@NEEDS_NPM
@pytest.mark.conforms("97")
@pytest.mark.parametrize("spec", ["./library", "file:library"])
def test_a_package_of_the_host_counts_from_the_calling_file(
    project: Project, reeval: ReevalBuild, tmp_path: Path, spec: str
) -> None:
    project.write("envs/library/package.json", '{"name": "library", "version": "1.0.0"}')
    project.write("envs/library/skills/tabs/SKILL.md", skill_file())
    project.define(
        f'base = define_environment("base", {{"sandbox": fake_sandbox(), "skills": [skill.npm("{spec}")]}})\n',
        path="envs/env.py",
    )

    assert skills(placed(reeval, tmp_path), "workspace/.agents/skills") == ["tabs/SKILL.md"]


@pytest.mark.conforms("98")
def test_an_id_of_another_shape_is_refused(project: Project, reeval: ReevalBuild) -> None:
    base(project, 'skill.registry("tabs")')

    (message,) = reeval.build(code=2).messages

    assert message == "reeval: env.py: id in skill.registry() must be 'owner/repo@skill' (got \"tabs\")"


@pytest.mark.conforms("99")
def test_a_skill_that_is_written_in_the_definition_is_a_file_with_frontmatter(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    base(
        project,
        'skill.inline(name="tabs", description="Use: tabs.", content="# Tabs\\n", files={"scripts/run.sh": "echo\\n"})',
    )

    copy = reeval.copied("base@fake", tmp_path / "copy") / "workspace/.agents/skills/tabs"

    assert (copy / "SKILL.md").read_text() == '---\nname: tabs\ndescription: "Use: tabs."\n---\n\n# Tabs\n'
    assert (copy / "scripts/run.sh").read_text() == "echo\n"


@pytest.mark.conforms("100")
@pytest.mark.parametrize(
    ("harness", "home", "workspace"),
    [
        ("fake", None, ".agents/skills"),
        ("cursor", None, ".agents/skills"),
        ("claude-code", None, ".claude/skills"),
        ("codex", ".agents/skills", ".agents/skills"),
        ("antigravity", ".gemini/config/skills", ".agents/skills"),
        ("opencode", ".config/opencode/skills", ".agents/skills"),
        ("pi", ".pi/agent/skills", ".agents/skills"),
    ],
)
def test_skills_are_where_the_harness_reads_them_or_in_the_repository_and_never_among_the_changes(
    project: Project, reeval: ReevalBuild, tmp_path: Path, harness: str, home: str | None, workspace: str
) -> None:
    project.write("skills/read/SKILL.md", skill_file())
    project.write("skills/shared/SKILL.md", skill_file())
    base(
        project,
        'skill.local("./skills", only=["read"])',
        'skill.local("./skills", only=["shared"], placement="workspace")',
    )

    paths = placed(reeval, tmp_path, harness)
    changed = reeval("run", f"base@{harness}", "--", "true").stdout

    in_workspace = ["shared/SKILL.md"] if home else ["read/SKILL.md", "shared/SKILL.md"]
    assert skills(paths, f"workspace/{workspace}") == in_workspace
    assert skills(paths, f"home/{home}") == (["read/SKILL.md"] if home else [])
    assert changed == f"base@{harness}: nothing changed since the snapshot\n"


def test_setup_does_not_see_skills_and_what_an_agent_does_to_them_is_a_change(
    project: Project, reeval: ReevalBuild
) -> None:
    project.write("skills/tabs/SKILL.md", skill_file())
    base(
        project, 'skill.local("./skills")', more='"files": {".gitignore": ".agents\\n"}, "setup": ["test ! -e .agents"]'
    )

    changed = reeval("run", "base@fake", "--", "rm", ".agents/skills/tabs/SKILL.md").stdout

    assert "deleted  .agents/skills/tabs/SKILL.md" in changed


@pytest.mark.conforms("120", "121")
def test_skills_of_a_child_replace_those_of_one_name(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    project.write("skills/tabs/SKILL.md", skill_file(description="The parent's."))
    project.write("skills/spaces/SKILL.md", skill_file())
    project.define(
        """
        parent = define_environment("parent", {"sandbox": fake_sandbox(), "skills": [skill.local("./skills")]})
        base = parent.extend("base", {
            "skills": [skill.inline(name="tabs", description="The child's.", content="")],
        })
        """
    )

    copy = reeval.copied("base@fake", tmp_path / "copy") / "workspace/.agents/skills"

    assert "The child's." in (copy / "tabs/SKILL.md").read_text()
    assert listing(copy) == ["spaces", "spaces/SKILL.md", "tabs", "tabs/SKILL.md"]


def test_two_skills_of_one_name_in_one_layer_are_refused(project: Project, reeval: ReevalBuild) -> None:
    project.write("skills/tabs/SKILL.md", skill_file())
    inline = 'skill.inline(name="tabs", description="x", content="")'
    base(project, 'skill.local("./skills")', inline)
    (fetched,) = reeval.build(code=3).messages
    base(project, inline, inline.replace('"x"', '"y"'))
    (written,) = reeval.build(code=2).messages

    assert 'skills in defineEnvironment("base") has "tabs" twice: from skill.local(' in fetched
    assert written == 'reeval: env.py: skills in defineEnvironment("base") has more than one skill "tabs"'


def test_a_source_is_read_once_and_another_file_of_it_disturbs_nobody(project: Project, reeval: ReevalBuild) -> None:
    project.write("skills/tabs/SKILL.md", skill_file())
    project.write("skills/spaces/SKILL.md", skill_file())
    project.define(
        """
        one = define_environment("one", {"sandbox": fake_sandbox(), "skills": [skill.local("./skills", only=["tabs"])]})
        two = define_environment("two", {"sandbox": fake_sandbox(), "skills": [skill.local("./skills")]})
        """
    )
    first = reeval.build("--harness", "codex", "--harness", "fake")
    again = reeval.build("--harness", "codex", "--harness", "fake")
    project.write("skills/spaces/SKILL.md", skill_file(description="Another."))
    edited = reeval.build("--harness", "codex", "--harness", "fake")

    assert first.phases("ran").count("source") == 1
    assert again.ran == []
    # The two cells that have the other skill place it again; the one on codex has it in its home.
    assert edited.phases("ran") == ["skills", "skills", "snapshot", "source"]
    assert edited.snapshots["one@fake"] == first.snapshots["one@fake"]


def test_a_source_that_the_store_has_lost_is_read_again(project: Project, reeval: ReevalBuild) -> None:
    project.write("skills/tabs/SKILL.md", skill_file())
    base(project, 'skill.local("./skills")')
    first = reeval.build()
    for pack in (reeval.store / "packs").iterdir():
        pack.unlink()

    again = reeval("run", "base@fake", "--", "cat", ".agents/skills/tabs/SKILL.md").stdout

    assert "Does it." in again
    assert reeval.build().snapshots == first.snapshots
