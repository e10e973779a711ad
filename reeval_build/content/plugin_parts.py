"""Which parts a plugin has, and which of its paths each part is made of."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.content.documents import kind_of, parse_json
from reeval_build.content.hooks import Hook, read_hooks
from reeval_build.content.manifest import as_list
from reeval_build.content.material import find, is_file, read_document
from reeval_build.content.plugin_servers import ServerReader
from reeval_build.content.problems import ContentError, shown
from reeval_build.content.skill_file import SKILL_FILE
from reeval_build.model.mcp import McpServer
from reeval_build.model.plugins import PLUGIN_PARTS, PluginPart
from reeval_build.paths import Parts, display
from reeval_build.tree.directory import Entry, Kind, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.content.documents import Json
    from reeval_build.content.manifest import Manifest
    from reeval_build.content.material import Material
    from reeval_build.digest import Digest

_MARKDOWN: Final = (b".md", b".mdc")
_HOOKS: Final = (b"hooks", b"hooks.json")
_SERVERS: Final = (b".mcp.json",)
_DOCUMENTS: Final[tuple[PluginPart, ...]] = ("agents", "commands", "rules")


@attrs.frozen(kw_only=True)
class Item:
    """A skill, agent, command or rule of a plugin, and its path there; None when its text is in the manifest."""

    part: PluginPart
    name: str
    path: Parts | None


@attrs.frozen(kw_only=True)
class Inventory:
    """All that a plugin has. `homes` are the files and directories of each part, whether or not anything is there.

    `malformed` says what is wrong with each part that cannot be read.
    """

    items: tuple[Item, ...]
    hooks: tuple[Hook, ...]
    servers: Mapping[str, McpServer]
    homes: Mapping[PluginPart, tuple[Parts, ...]]
    malformed: Mapping[PluginPart, ContentError]
    warnings: tuple[str, ...]

    @property
    def parts(self) -> tuple[PluginPart, ...]:
        """The parts that the plugin has something of, malformed or not, in the order of the documentation."""
        present = {item.part for item in self.items} | set(self.malformed)
        present |= {"hooks"} if self.hooks else set()
        present |= {"mcp"} if self.servers else set()
        return tuple(part for part in PLUGIN_PARTS if part in present)


class InventoryReader:
    """Takes the inventory of one plugin."""

    def __init__(self, tree: Digest, manifest: Manifest, material: Material, *, root: str) -> None:
        self._tree, self._manifest, self._material = tree, manifest, material
        self._items: dict[tuple[PluginPart, Parts | str], Item] = {}
        self._hooks: list[Hook] = []
        self._malformed: dict[PluginPart, ContentError] = {}
        self._servers = ServerReader(where=manifest.where, root=root)
        self._homes: dict[PluginPart, list[Parts]] = {
            "skills": [(b"skills",)],
            "agents": [(b"agents",)],
            "commands": [(b"commands",)],
            "hooks": [_HOOKS],
            "mcp": [_SERVERS],
            "rules": [(b"rules",)],
        }

    def read(self) -> Inventory:
        """The inventory: a part is malformed when the manifest names what is not there, or a file of it is wrong."""
        with self._noting("skills"):
            self._read_skills()
        for part in _DOCUMENTS:
            with self._noting(part):
                self._read_documents(part)
        for value, path in self._declared("hooks", _HOOKS):
            with self._noting("hooks"):
                self._hooks.extend(read_hooks(value, path, where=self._manifest.where))
        for value, path in self._declared("mcp", _SERVERS):
            with self._noting("mcp"):
                self._servers.read(value, path)
        return Inventory(
            items=tuple(self._items.values()),
            hooks=tuple(self._hooks),
            servers=dict(self._servers.servers),
            homes={part: tuple(homes) for part, homes in self._homes.items()},
            malformed=dict(self._malformed),
            warnings=tuple(self._servers.warnings),
        )

    @contextmanager
    def _noting(self, part: PluginPart) -> Iterator[None]:
        """Note what is wrong with a part, for who keeps it; what is wrong first counts."""
        try:
            yield
        except ContentError as error:
            self._malformed.setdefault(part, error)

    def _add(self, part: PluginPart, name: str, path: Parts) -> None:
        self._items.setdefault((part, path), Item(part=part, name=name, path=path))

    def _named(self, field: str, written: str, parts: Parts) -> Entry:
        """What the manifest names."""
        entry = find(self._tree, parts, self._material.load)
        if entry is None:
            raise self._manifest.error(f'names in `{field}` the path "{shown(written[:80])}", which is not there')
        if entry.kind is Kind.SYMLINK:
            raise self._manifest.error(
                f'names in `{field}` the path "{shown(written[:80])}", which is a symbolic link and is not followed'
            )
        return entry

    def _read_skills(self) -> None:
        self._skills_in((b"skills",), find(self._tree, (b"skills",), self._material.load))
        for written, parts in self._manifest.component_paths("skills"):
            entry = self._named("skills", written, parts)
            if entry.kind is not Kind.DIRECTORY:
                raise self._manifest.error(f'names in `skills` the path "{shown(written)}", which is no directory')
            self._homes["skills"].append(parts or (SKILL_FILE,))
            self._skills_in(parts, entry)

    def _skills_in(self, parts: Parts, entry: Entry | None) -> None:
        if entry is None or entry.kind is not Kind.DIRECTORY:
            return
        below = self._material.load(entry.content)
        if is_file(below.get(SKILL_FILE)):
            name = display(parts[-1]) if parts else self._manifest.name
            self._add("skills", name, parts or (SKILL_FILE,))
            return
        for directory, child in sorted(below.items()):
            if child.kind is Kind.DIRECTORY and is_file(self._material.load(child.content).get(SKILL_FILE)):
                self._add("skills", display(directory), (*parts, directory))

    def _read_documents(self, part: PluginPart) -> None:
        """Agents, commands and rules: markdown files, in a directory or on their own."""
        self._documents_in(
            part, (part.encode("ascii"),), find(self._tree, (part.encode("ascii"),), self._material.load)
        )
        value = None if part == "rules" else self._manifest.fields.get(part)
        if part == "commands" and isinstance(value, dict):
            self._read_command_map(value)
            return
        for item in as_list(value):
            written, parts = self._manifest.component_path(part, item)
            entry = self._named(part, written, parts)
            self._homes[part].append(parts)
            if is_file(entry):
                self._add(part, _stem(parts[-1]), parts)
            else:
                self._documents_in(part, parts, entry)

    def _documents_in(self, part: PluginPart, above: Parts, entry: Entry | None) -> None:
        if entry is None or entry.kind is not Kind.DIRECTORY:
            return
        for parts, below in walk(entry.content, self._material.load):
            if is_file(below) and parts[-1].endswith(_MARKDOWN):
                # A directory of commands is a prefix of their names, as in Claude Code.
                name = ":".join((*(display(directory) for directory in parts[:-1]), _stem(parts[-1])))
                self._add(part, name, (*above, *parts))

    def _read_command_map(self, commands: Mapping[str, Json]) -> None:
        for name, value in commands.items():
            if not isinstance(value, dict):
                raise self._manifest.error(f'has in `commands` {kind_of(value)} for "{shown(name[:80])}"')
            if "source" in value:
                written, parts = self._manifest.component_path("commands", value["source"])
                if not is_file(self._named("commands", written, parts)):
                    raise self._manifest.error(f'names in `commands` the path "{shown(written)}", which is no file')
                self._homes["commands"].append(parts)
                self._add("commands", shown(name), parts)
            elif isinstance(value.get("content"), str):
                self._items["commands", name] = Item(part="commands", name=shown(name), path=None)
            else:
                raise self._manifest.error(f'has in `commands` neither source nor content for "{shown(name[:80])}"')

    def _declared(self, part: PluginPart, default: Parts) -> list[tuple[Json, str]]:
        """The values of a part that is JSON, each with the file it is in: the default file, then the manifest's."""
        declared: list[tuple[Json, str]] = []
        entry = find(self._tree, default, self._material.load)
        if entry is not None:
            with self._noting(part):
                declared.append(self._json(entry, default))
        field = "mcpServers" if part == "mcp" else part
        for item in as_list(self._manifest.fields.get(field)):
            with self._noting(part):
                if isinstance(item, str):
                    written, parts = self._manifest.component_path(field, item)
                    entry = self._named(field, written, parts)
                    # A manifest may name the default file, too; it is read once.
                    if parts != default:
                        self._homes[part].append(parts)
                        declared.append(self._json(entry, parts))
                else:
                    declared.append((item, self._manifest.path))
        return declared

    def _json(self, entry: Entry, parts: Parts) -> tuple[Json, str]:
        path, where = self._manifest.beside(display(b"/".join(parts))), self._manifest.where
        return parse_json(read_document(entry, path, self._material, where=where), path, where=where), path


def _stem(name: bytes) -> str:
    return display(name.rpartition(b".")[0] or name)
