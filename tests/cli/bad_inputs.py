"""Material of every kind of source, each missing, malformed, huge, hostile or unreadable, and what is wrong with it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

from tests.sources.repository import Repository
from tests.sources.tars import member, package, pax
from tests.support.projects import Project

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sources.npm_registry import NpmRegistry

TEBIBYTE: Final = 1024**4
SKILL: Final = "---\nname: good\ndescription: Does it.\n---\nDo it.\n"
MANIFEST: Final = '{"name": "lint"}'
MARKETPLACE: Final = ".claude-plugin/marketplace.json"


def sparse(path: Path, size: int) -> None:
    """A file that says it has `size` bytes and takes no room."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def closed(path: Path) -> None:
    """Nobody may read what is there."""
    path.chmod(0)


class World:
    """A project with bad material, and the servers that have more of it."""

    def __init__(self, project: Project, registry: NpmRegistry) -> None:
        self._project = project
        self._registry = registry
        self._root = project.directory

    def make(self) -> None:
        self._files()
        self._directories()
        self._skills()
        self._plugins()
        self._workspaces()
        self._marketplaces()
        self._packages()
        self._archives()

    def _files(self) -> None:
        (self._root / "files" / "directory").mkdir(parents=True)
        sparse(self._root / "files" / "huge", TEBIBYTE)
        (self._root / "files" / "loop").symlink_to("loop")
        closed(self._project.write("files/closed", "x"))
        os.mkfifo(self._root / "files" / "fifo")

    def _directories(self) -> None:
        self._project.write("directories/file", "x")
        self._project.write("directories/broken/a", "x")
        (self._root / "directories" / "broken" / "link").symlink_to("nowhere")
        self._project.write("directories/closed/in/a", "x")
        closed(self._root / "directories" / "closed" / "in")
        (self._root / "directories" / "special").mkdir()
        os.mkfifo(self._root / "directories" / "special" / "fifo")
        bomb = self._root / "directories" / "bomb"
        for level in range(20):
            (bomb / f"{level}").mkdir(parents=True)
        for level in range(19):
            for name in ("a", "b"):
                (bomb / f"{level}" / name).symlink_to(f"../{level + 1}")
        self._project.write("directories/bomb/19/a", "x")

    def _skills(self) -> None:
        skills = Project(self._root / "skills")
        skills.write("none/README.md", "x")
        skills.write("malformed/SKILL.md", "---\nname: [\n---\n")
        skills.write("nul/SKILL.md", "---\nname: a\ndescription: a\0b\n---\n")
        skills.write("document/SKILL.md", SKILL + "x" * 9 * 1024**2)
        skills.write("huge/SKILL.md", SKILL)
        sparse(skills.directory / "huge" / "data", TEBIBYTE)
        skills.write("escape/SKILL.md", SKILL)
        (skills.directory / "escape" / "out").symlink_to("../../files")
        skills.write("link/real", SKILL)
        (skills.directory / "link" / "SKILL.md").symlink_to("real")
        closed(skills.write("closed/SKILL.md", SKILL))
        skills.write("special/SKILL.md", SKILL)
        os.mkfifo(skills.directory / "special" / "fifo")
        skills.write("name/SKILL.md", SKILL)
        skills.write("name/.wh.SKILL.md", "x")

    def _plugins(self) -> None:
        plugins = Project(self._root / "plugins")
        plugins.write("none/README.md", "x")
        manifests = {
            "malformed": "{",
            "nul": '{"name": "a\\u0000b"}',
            "deep": '{"name": "a", "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
            "document": '{"name": "a", "x": "' + "x" * 9 * 1024**2 + '"}',
            "escape": '{"name": "a", "commands": "./../x.md"}',
            "name": '{"name": "../../etc"}',
        }
        for name, text in manifests.items():
            plugins.write(f"{name}/.claude-plugin/plugin.json", text)
        plugins.write("outside/.claude-plugin/plugin.json", MANIFEST)
        (plugins.directory / "outside" / "out").symlink_to("/etc")
        plugins.write("link/plugin.json", MANIFEST)
        (plugins.directory / "link" / ".claude-plugin").mkdir()
        (plugins.directory / "link" / ".claude-plugin" / "plugin.json").symlink_to("../plugin.json")
        closed(plugins.write("closed/.claude-plugin/plugin.json", MANIFEST))
        plugins.write("huge/.claude-plugin/plugin.json", MANIFEST)
        sparse(plugins.directory / "huge" / "data", TEBIBYTE)

    def _repository(self, name: str) -> Repository:
        return Repository(self._root / "served" / name)

    def _workspaces(self) -> None:
        (self._root / "served" / "plain").mkdir(parents=True)
        for place in ("near", "far"):
            # Equal trees of two repositories would be one workspace.
            self._hostile_repositories(place)
        self._repository("good").commit_files({"a": b"good"})
        corrupt = self._repository("corrupt")
        corrupt.commit_files({"a": b"corrupt"})
        self._object(corrupt, "HEAD:a").write_bytes(b"no zlib stream")
        unreadable = self._repository("closed")
        unreadable.commit_files({"a": b"closed"})
        closed(self._object(unreadable, "HEAD:a"))
        configured = self._repository("configured")
        (configured.path / ".git" / "config").write_bytes(b"[core\0")

    def _hostile_repositories(self, place: str) -> None:
        bomb = self._repository(f"{place}-bomb")
        tree = bomb.make_tree(("100644", b"f", bomb.make_object("blob", place.encode())))
        for _ in range(40):
            tree = bomb.make_tree(("40000", b"a", tree), ("40000", b"b", tree))
        bomb.commit_tree(tree)
        for name, mode, path, data in (
            ("dots", "100644", b"..", b"x"),
            ("slash", "100644", b"a/../../x", b"x"),
            ("link", "120000", b"out", b"../../etc"),
            ("nul", "120000", b"nul", b"a\0b"),
        ):
            hostile = self._repository(f"{place}-{name}")
            beside = ("100644", b"beside", hostile.make_object("blob", place.encode()))
            hostile.commit_tree(hostile.make_tree((mode, path, hostile.make_object("blob", data)), beside))
        git = self._repository(f"{place}-git")
        inside = git.make_tree(("100644", b"config", git.make_object("blob", place.encode())))
        git.commit_tree(git.make_tree(("40000", b".git", inside)))

    @staticmethod
    def _object(repository: Repository, name: str) -> Path:
        found = repository.git("rev-parse", name)
        path = repository.path / ".git" / "objects" / found[:2] / found[2:]
        path.chmod(0o644)
        return path

    def _marketplaces(self) -> None:
        def market(**fields: object) -> bytes:
            entries = [{"name": "lint", "source": "./lint", **fields}]
            return json.dumps({"name": "m", "owner": {"name": "o"}, "plugins": entries}).encode()

        self._repository("market-none").commit_files({"README.md": b"x"})
        for name, data in {
            "good": market(),
            "malformed": b'{"plugins": [',
            "document": market(description="x" * 9 * 1024**2),
            "escape": market(source="./../lint"),
            "nul": market(source="./a\0b"),
            "file": market(source={"source": "url", "url": "file:///etc"}),
            "option": market(source={"source": "npm", "package": "--registry=x"}),
        }.items():
            self._repository(f"market-{name}").commit_files({MARKETPLACE: data})
        linked = self._repository("market-link")
        linked.write("real.json", market())
        linked.link(MARKETPLACE, "../real.json")
        linked.commit()
        through = self._repository("market-through")
        through.write(MARKETPLACE, market())
        through.write("real/.claude-plugin/plugin.json", MANIFEST.encode())
        through.link("lint", "real")
        through.commit()

    def _packages(self) -> None:
        for name, members in {
            "escape": [member(b"package/../../x", b"x")],
            "link": [member(b"package/out", kind=b"2", target=b"../../etc")],
            "nul": [pax((b"path", b"package/a\0b")), member(b"x", b"x")],
            "absolute": [member(b"/etc/x", b"x")],
            "device": [member(b"package/null", kind=b"3")],
        }.items():
            self._registry.publish(name, archive=package(name, "1.0.0", *members))
            self._project.write(f"archives/{name}.tgz", package(name, "1.0.0", *members))
        self._registry.publish("malformed", archive=b"no archive")
        self._registry.publish("empty")
        self._registry.publish("huge", archive=package("huge", "1.0.0", member(b"x", bytes(2 * 1024**2), kind=b"x")))
        self._registry.publish("broken")
        self._registry.package("broken").fault = "html"
        self._registry.publish("secret")
        self._registry.package("secret").fault = 403

    def _archives(self) -> None:
        self._project.write("archives/malformed.tgz", b"no archive")
        self._project.write("archives/cut.tgz", package("cut", "1.0.0")[:100])
        sparse(self._root / "archives" / "huge.tgz", TEBIBYTE)
        closed(self._project.write("archives/closed.tgz", package("closed", "1.0.0")))
        (self._root / "archives" / "loop.tgz").symlink_to("loop.tgz")
        packed = Project(self._root / "packed")
        packed.write("malformed/package.json", "{")
        packed.write("none/README.md", "x")
        packed.write("escape/package.json", '{"name": "../../x", "version": "1.0.0"}')
        packed.write("nul/package.json", '{"name": "a\\u0000b", "version": "1.0.0"}')
        closed(packed.write("closed/package.json", '{"name": "closed", "version": "1.0.0"}'))
        (packed.directory / "loop").symlink_to("loop")
