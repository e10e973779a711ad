"""Trees by every route that a definition can name: scripts stay executable, links stay links."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

import pytest

from tests.sources.npm_registry import npm_registry
from tests.sources.npm_world import NEEDS_NPM
from tests.sources.servers import git_over_http
from tests.sources.tars import member, tar, zipped
from tests.support.cli import ReevalBuild
from tests.support.projects import Project, Repository

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import Built

RUN: Final = "#!/bin/sh\n"
SKILL: Final = "---\nname: {name}\ndescription: Does it.\n---\nDo it.\n"
WHERE: Final = {
    "git workspace": "workspace/run",
    "file()": "workspace/from-file",
    "directory()": "workspace/from-directory/run",
    "local skill": "workspace/.agents/skills/local/run",
    "git skill": "workspace/.agents/skills/fetched/run",
    "npm skill": "workspace/.agents/skills/packed/run",
    "local plugin": "home/.reeval/plugins/review/run",
    "marketplace": "home/.reeval/plugins/bought/run",
}


def make(directory: Path, mask: int) -> Project:
    """A project with an executable script in everything, written under a umask."""
    before = os.umask(mask)
    try:
        project = Project(directory)
        bits = 0o777 & ~mask

        def write(path: str, text: str) -> None:
            project.write(path, text).chmod(bits if text == RUN else 0o666 & ~mask)

        def repository(name: str, *paths: str, **texts: str) -> None:
            made = Repository(project.directory / name)
            made.git("init", "--quiet", "--initial-branch=main")
            for path, text in {**dict.fromkeys(paths, RUN), **texts}.items():
                write(f"{name}/{path}", text)
            made.commit()

        repository("app", "run", readme="1")
        repository("served/fetched", "run", **{"SKILL.md": SKILL.format(name="fetched")})
        write("script", RUN)
        write("tree/run", RUN)
        write("skills/local/SKILL.md", SKILL.format(name="local"))
        write("skills/local/run", RUN)
        for name, place in (("review", "review"), ("bought", "served/market/bought")):
            write(f"{place}/.claude-plugin/plugin.json", json.dumps({"name": name}))
            write(f"{place}/commands/look.md", "Look.\n")
            write(f"{place}/run", RUN)
        entry = {"name": "bought", "source": "./bought"}
        write(
            "served/market/.claude-plugin/marketplace.json",
            json.dumps({"name": "market", "owner": {"name": "x"}, "plugins": [entry]}),
        )
        repository("served/market")
    finally:
        os.umask(before)
    return project


def built_under(mask: int, directory: Path) -> tuple[Built, Path]:
    """A build of all of that, and what a sandbox starts with."""
    project = make(directory / "project", mask)
    archive = zipped(
        tar(
            member(b"package/package.json", b'{"name": "packed", "version": "1.0.0"}'),
            member(b"package/skills/packed/SKILL.md", SKILL.format(name="packed").encode()),
            member(b"package/skills/packed/run", RUN.encode(), mode=0o700),
        )
    )
    with npm_registry() as registry, git_over_http(project.directory / "served") as server:
        registry.publish("packed", "1.0.0", archive)
        project.write(".npmrc", f"registry={registry.url}/public/\n")
        project.define(
            f"""
            from reeval_build import directory

            one = define_environment("one", {{
                "sandbox": fake_sandbox(), "workspace": git("app"),
                "files": {{"from-file": file("script"), **directory("tree", to="from-directory")}},
                "skills": [
                    skill.local("skills"), skill.git("{server.url}/fetched"), skill.npm("packed@1.0.0"),
                ],
                "plugins": [plugin.local("review"), plugin.marketplace("bought@{server.url}/market")],
            }})
            """
        )
        reeval = ReevalBuild(project.directory, directory / "store")
        built = reeval.build(umask=mask)
        copy = reeval.copied("one@fake", directory / "copy", umask=mask)
    return built, copy


@NEEDS_NPM
@pytest.mark.conforms("fault 38")
def test_a_script_is_executable_by_every_route_under_any_umask(tmp_path: Path) -> None:
    snapshots = set()
    for mask in (0o022, 0o077):
        (tmp_path / f"{mask:o}").mkdir()
        built, copy = built_under(mask, tmp_path / f"{mask:o}")
        found = {route: (copy / path).stat().st_mode & 0o111 for route, path in WHERE.items()}
        assert all(bits & 0o100 for bits in found.values()), found
        snapshots.add(built.snapshots["one@fake"])

    assert len(snapshots) == 1


@pytest.mark.conforms("fault 39")
def test_links_of_a_plugin_that_stay_in_it_are_placed_as_they_are(
    project: Project, reeval: ReevalBuild, tmp_path: Path
) -> None:
    links = {
        "commands/inside.md": "look.md",
        "to-directory": "commands",
        "loop": "loop",
        "dangling": "nowhere/at-all",
        "commands/up": "../to-directory",
    }
    project.write("review/.claude-plugin/plugin.json", '{"name": "review"}')
    project.write("review/commands/look.md", "Look.\n")
    for name, target in links.items():
        (project.directory / "review" / name).symlink_to(target)
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "plugins": [plugin.local("review")]})')

    reeval.build()
    place = reeval.copied("one@fake", tmp_path / "copy") / "home/.reeval/plugins/review"

    assert {name: str((place / name).readlink()) for name in links} == links
