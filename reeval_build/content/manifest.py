"""What a plugin says of itself: `.claude-plugin/plugin.json`, or the entry of a marketplace in its place."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.content.documents import Json, kind_of, parse_json_object
from reeval_build.content.material import Material, find, read_document
from reeval_build.content.problems import ContentError, shown
from reeval_build.paths import PathError, split

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reeval_build.digest import Digest
    from reeval_build.model.plugins import PluginPart
    from reeval_build.paths import Parts

MANIFEST: Final = (b".claude-plugin", b"plugin.json")
MANIFEST_PATH: Final = ".claude-plugin/plugin.json"
COMPONENTS: Final[Mapping[str, PluginPart]] = {
    "commands": "commands",
    "agents": "agents",
    "skills": "skills",
    "hooks": "hooks",
    "mcpServers": "mcp",
}
# It becomes a directory of the sandbox and half of the name of each MCP server.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")


@attrs.frozen(kw_only=True)
class Manifest:
    """A plugin's manifest; `is_written` when the plugin's tree has exactly these bytes."""

    where: str
    path: str
    name: str
    fields: Mapping[str, Json]
    is_written: bool

    @property
    def version(self) -> str | None:
        """The version that it says, if it says one as text."""
        version = self.fields.get("version")
        return version if isinstance(version, str) else None

    def without(self, parts: Iterable[PluginPart]) -> Manifest:
        """The manifest without the fields of these parts."""
        dropped = {field for field, part in COMPONENTS.items() if part in set(parts) and field in self.fields}
        if not dropped:
            return self
        fields = {name: value for name, value in self.fields.items() if name not in dropped}
        return attrs.evolve(self, fields=fields, is_written=False)

    @property
    def data(self) -> bytes:
        """The manifest as a file, written anew."""
        return (json.dumps(self.fields, indent=2, ensure_ascii=False) + "\n").encode("utf-8")

    def beside(self, path: str) -> str:
        """A path of the plugin's directory as one of the whole source."""
        return self.path.removesuffix(MANIFEST_PATH) + path

    def error(self, reason: str) -> ContentError:
        """That something is wrong with the manifest."""
        return ContentError(self.where, self.path, reason)

    def component_paths(self, field: str) -> list[tuple[str, Parts]]:
        """The paths of a component that is a path or a list of paths. Raises ContentError for anything else."""
        return [self.component_path(field, item) for item in as_list(self.fields.get(field))]

    def component_path(self, field: str, value: Json) -> tuple[str, Parts]:
        """A path of a component as it is written, and its names below the plugin's directory.

        Raises:
            ContentError: when it is not text, does not start with `./`, or leaves the plugin.
        """
        if not isinstance(value, str):
            raise self.error(f"has in `{field}` {kind_of(value)} where a path is needed")
        if not value.startswith("./"):
            raise self.error(f'has in `{field}` the path "{shown(value[:80])}", which does not start with "./"')
        if "\\" in value:
            raise self.error(f'has in `{field}` the path "{shown(value[:80])}", which has a backslash')
        rest = value.removeprefix("./").removesuffix("/")
        try:
            return value, split(rest.encode("utf-8")) if rest else ()
        except PathError as error:
            raise self.error(f'has in `{field}` the path "{shown(value[:80])}", which {error.reason}') from error


def as_list(value: Json) -> list[Json]:
    """The items of a field that may have one item or a list of them; none when it is not there."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def read_manifest(
    tree: Digest,
    material: Material,
    *,
    where: str,
    at: str,
    supplied: Mapping[str, Json] | None = None,
    added: Mapping[str, Json] | None = None,
) -> Manifest:
    """The manifest of the plugin whose directory is `tree`, at `at` in its source.

    `supplied` is a manifest that stands in place of plugin.json, and `added` has component fields that join those of
    plugin.json.

    Raises:
        ContentError: when there is no manifest, or it is malformed or has no usable name.
    """
    path = "/".join(piece for piece in (at, MANIFEST_PATH) if piece)
    if supplied is not None:
        return Manifest(
            where=where, path=path, name=_name(supplied, path, where), fields=dict(supplied), is_written=False
        )
    entry = find(tree, MANIFEST, material.load)
    if entry is None:
        raise ContentError(where, path, "is not there, and a plugin needs it")
    fields = parse_json_object(read_document(entry, path, material, where=where), path, where=where)
    manifest = Manifest(where=where, path=path, name=_name(fields, path, where), fields=fields, is_written=True)
    return _joined(manifest, added) if added else manifest


def _name(fields: Mapping[str, Json], path: str, where: str) -> str:
    name = fields.get("name")
    if name is None:
        raise ContentError(where, path, "has no name")
    if not isinstance(name, str):
        raise ContentError(where, path, f"has {kind_of(name)} as its name")
    if not _NAME.fullmatch(name):
        raise ContentError(
            where,
            path,
            f'has the name "{shown(name[:80])}", which is not letters, digits and ". _ @ + -" '
            "with a letter or digit first",
        )
    return name


def _joined(manifest: Manifest, added: Mapping[str, Json]) -> Manifest:
    """The manifest with the components of a marketplace's entry beside its own."""
    fields = dict(manifest.fields)
    for field, value in added.items():
        own = fields.get(field)
        if own is None:
            fields[field] = value
        elif isinstance(own, dict) and isinstance(value, dict):
            fields[field] = {**own, **value}
        elif field == "commands" and (isinstance(own, dict) or isinstance(value, dict)):
            raise manifest.error("has `commands` in another form than the marketplace's entry has, so they cannot join")
        else:
            fields[field] = as_list(own) + as_list(value)
    return attrs.evolve(manifest, fields=fields, is_written=False)
