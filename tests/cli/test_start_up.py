"""What the command imports: start-up time is what is not imported."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from tests.support.cli import Done, ReevalBuild
    from tests.support.projects import Project

# What loads eval files and JSON, and reads and writes the wire form.
LOADERS: Final = (
    "reeval_build.loading.declar",
    "reeval_build.loading.runner",
    "reeval_build.model.wire",
    "reeval_python",
)
STANDARD: Final = frozenset(sys.stdlib_module_names)
# Python's own modules and attrs ask for these, and go on without them.
TRIED: Final = frozenset({"annotationlib", "org"})
READING: Final = frozenset(
    {"attr", "attrs", "blake3", "cattr", "cattrs", "cffi", "click", "pygit2", "typing_extensions"}
)

# What only a command in a sandbox needs, and what only it, git or files of the host need.
FOR_SANDBOXES: Final = frozenset({"reeval_build.execute.attempt", "reeval_build.execute.ignore"})
FOR_SOMETHING: Final = frozenset({"ctypes", "hashlib", "random", "secrets", "tempfile"})
# What writes and reads records of cells, runs commands, or reads archives, skills and plugins.
FOR_WORK: Final = frozenset(
    {"cattrs", "gzip", "shutil", "socket", "subprocess", "yaml", "reeval_build.engines.fake.restore"}
)
FOR_CONTENTS: Final = frozenset({"content.skills", "content.plugins", "content.marketplaces", "content.mcp_files"})


def imported(done: Done) -> set[str]:
    """The modules that `-X importtime` lists on standard error."""
    names = set(re.findall(r"^import time:[^|]*\|[^|]*\| +(\S+)$", done.stderr, re.MULTILINE))
    assert "reeval_build" in names
    return names


def others(modules: set[str]) -> set[str]:
    """The packages among modules that are neither Python's nor ours, without what starts with Python in a venv."""
    packages = {module.partition(".")[0] for module in modules}
    return {
        name for name in packages - STANDARD - TRIED - {"reeval_build"} if not name.startswith(("_", "sitecustomize"))
    }


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_click_and_nothing_else(reeval: ReevalBuild, option: str) -> None:
    modules = imported(reeval(option, env={"PYTHONPROFILEIMPORTTIME": "1"}))

    assert others(modules) == {"click"}
    assert not modules & {"asyncio", "ssl", "http.client", "sqlite3", "concurrent.futures"}
    assert not any(module.startswith("reeval_build.loading") for module in modules)


@pytest.mark.parametrize(
    "command", ["build", "cache", "cache du", "export", "graph", "lock check", "lock update", "run"]
)
def test_the_help_of_a_command_imports_no_engine_and_no_store(reeval: ReevalBuild, command: str) -> None:
    reeval.names_store = False

    modules = imported(reeval(command, "--help", env={"PYTHONPROFILEIMPORTTIME": "1"}))

    assert not others(modules) & {"docker", "pygit2", "requests", "urllib3", "sqlite_utils", "hypothesis", "zstandard"}
    assert not modules & {"asyncio", "ssl", "http.client"}


def test_a_build_that_has_nothing_to_do_imports_only_what_it_reads_with(project: Project, reeval: ReevalBuild) -> None:
    project.repository("app", {"main.txt": "main\n"}).git("tag", "v1.0.0")
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "workspace": git("app", ref="v1.0.0"), "rules": "x", "setup": ["true"],
        })
        """
    )
    reeval.build()

    modules = imported(reeval("build", env={"PYTHONPROFILEIMPORTTIME": "1"}))

    assert others(modules) <= READING
    assert [module for module in modules if module.startswith(LOADERS)] == []
    assert not modules & {"asyncio", "http.client", "reeval_build.engines.docker"}
    assert not modules & FOR_SANDBOXES


def test_without_a_workspace_git_is_not_imported_nor_what_only_builds_need(
    project: Project, reeval: ReevalBuild
) -> None:
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "setup": ["true"]})')
    reeval.build()

    modules = imported(reeval("build", env={"PYTHONPROFILEIMPORTTIME": "1"}))

    assert "pygit2" not in others(modules)
    assert not modules & (FOR_SANDBOXES | FOR_SOMETHING | FOR_WORK)
    assert not modules & {f"reeval_build.{module}" for module in FOR_CONTENTS}


def test_a_plan_of_skills_that_are_known_imports_no_yaml_and_nothing_that_builds(
    project: Project, reeval: ReevalBuild
) -> None:
    project.write("skills/one/SKILL.md", "---\ndescription: Does it.\n---\n")
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "skills": [skill.local("./skills")]})')
    reeval("graph")

    modules = imported(reeval("graph", env={"PYTHONPROFILEIMPORTTIME": "1"}))

    assert "reeval_build.content.skills" in modules
    assert not modules & (FOR_SANDBOXES | FOR_WORK | {"reeval_build.execute.executor", "reeval_build.content.plugins"})
    assert "reeval_build.ports.events" not in modules, "a plan tells of nothing that happens"
