"""record.json: what a reader of results needs to know of the cell they came from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.projects import listing

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import Built, ReevalBuild
    from tests.support.projects import Project

SKILL = "---\ndescription: Does it.\n---\n"


def records(reeval: ReevalBuild, directory: Path, *arguments: str, **options: Any) -> tuple[Built, dict[str, Any]]:
    built = reeval.build("--record-dir", directory, *arguments, **options)
    found = {path.parent.name: json.loads(path.read_text()) for path in directory.glob("*/record.json")}
    return built, found


@pytest.mark.conforms("58", "121", "123")
def test_a_record_has_all_that_was_resolved(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    repository = project.repository("app", {"README.md": "hi\n"})
    commit = repository.git("rev-parse", "HEAD").strip()
    tree = repository.git("rev-parse", "HEAD^{tree}").strip()
    project.write("skills/tabs/SKILL.md", SKILL)
    project.write("review/.claude-plugin/plugin.json", '{"name": "review"}')
    project.write("review/.mcp.json", '{"docs": {"command": "docs-server"}}')
    project.define(
        """
        parent = define_environment("parent", {
            "sandbox": fake_sandbox(), "workspace": git("./app"), "env": {"MODE": "slow"}, "setup": ["true"],
            "skills": [skill.local("./skills")],
        })
        base = parent.extend("base", {
            "env": {"MODE": "fast", "A_TOKEN": secret(optional=True)}, "rules": "Be brief.",
            "skills": [skill.inline(name="tabs", description="x", content="")],
            "plugins": [plugin.local("./review")],
            "egress": "deny-all",
        })
        """
    )

    built, found = records(reeval, tmp_path / "records", "env.py::base")

    record = found["base@fake"]
    assert record["key"] == built.value["cells"][0]["key"]
    assert record["snapshot"] == built.value["cells"][0]["snapshot"]
    assert record["layers"] == ["parent", "base"]
    assert record["overrides"] == ["env.MODE", "skills.tabs"]
    assert record["workspace"] == {
        "repo": "./app", "ref": None, "path": None, "init": False, "commit": commit, "tree": tree
    }  # fmt: skip
    assert record["env"]["literals"] == {"MODE": "fast"}
    assert [(one["name"], one["status"]) for one in record["env"]["secrets"]] == [("A_TOKEN", "skipped")]
    assert record["rules"]["path"] == "AGENTS.md"
    assert [(one["name"], one["source"], one["placement"]) for one in record["skills"]] == [
        ("tabs", 'skill.inline("tabs")', "harness")
    ]
    assert [(one["name"], one["parts"], one["build_key"]) for one in record["plugins"]] == [("review", ["mcp"], None)]
    assert record["mcp"]["review:docs"]["command"] == "docs-server"
    assert record["egress"]["policy"] == "deny-all"
    assert record["setup"][0]["cached"] is False
    assert {phase["key"] for phase in record["phases"]} == {node["key"] for node in built.nodes}
    assert any("not comparable" in warning for warning in record["warnings"])
    assert any("recorded, not enforced" in warning for warning in record["warnings"])


def test_a_record_says_what_was_a_hit(project: Project, reeval: ReevalBuild, tmp_path: Path) -> None:
    project.define('base = define_environment("base", {"sandbox": fake_sandbox(), "setup": ["true"]})')
    _, first = records(reeval, tmp_path / "first")
    _, second = records(reeval, tmp_path / "second")

    assert {phase["status"] for phase in first["base@fake"]["phases"]} == {"ran"}
    assert {phase["status"] for phase in second["base@fake"]["phases"]} == {"hit"}
    assert second["base@fake"]["setup"][0]["cached"] is True
    assert second["base@fake"]["digest"] == first["base@fake"]["digest"]


def test_a_cell_that_failed_has_no_record_and_others_have(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    project.define(
        """
        bad = define_environment("bad", {"sandbox": fake_sandbox(), "setup": ["false"]})
        good = define_environment("good", {"sandbox": fake_sandbox()})
        """
    )

    _, found = records(reeval, tmp_path / "records", code=3)

    assert list(found) == ["good@fake"]


def test_a_cell_with_a_slash_in_its_name_is_one_directory(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    harness = {"kind": "opencode", "model": "some/model", "id": "../../opencode"}
    environment = {"kind": "environment", "name": "base", "layers": [{"name": "base", "spec": {}}]}
    options = {"environment": environment, "harness": [harness], "sandbox": {"kind": "fake"}}
    tree = {"children": [{"type": "eval", "name": "x", "mode": "run", "options": options}]}
    project.write("tree.json", json.dumps(tree))

    records(reeval, tmp_path / "records", "tree.json")

    assert listing(tmp_path / "records") == ["base@..%2F..%2Fopencode", "base@..%2F..%2Fopencode/record.json"]


def test_cells_whose_names_are_too_long_for_a_path_have_a_directory_each(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    children = [
        {"type": "eval", "name": "n" * 300 + end, "mode": "run", "options": {"env": {"A": end}}} for end in "ab"
    ]
    project.write("tree.json", json.dumps({"children": children}))

    built, found = records(reeval, tmp_path / "records", "tree.json", "--sandbox", "fake")

    assert [len(name) for name in found] == [200, 200]
    assert sorted(record["name"] for record in found.values()) == sorted(cell["name"] for cell in built.value["cells"])


def test_a_directory_that_cannot_be_written_is_said_in_one_line_after_what_was_built(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    project.define('base = define_environment("base", {"sandbox": fake_sandbox()})')
    (tmp_path / "records").write_text("")

    reeval("build", "--record-dir", str(tmp_path / "records"), code=2)
    done = reeval("build", "--record-dir", str(tmp_path / "records" / "below"), code=3)

    (message,) = done.messages
    assert message.endswith("Not a directory")
    assert "0 failed" in done.stdout
