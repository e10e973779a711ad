"""What a plugin in Claude Code's layout has, and what of it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.content.called import called_plugin
from reeval_build.content.exclude import Exclusion
from reeval_build.content.hooks import Hook
from reeval_build.content.manifest import MANIFEST, Manifest, read_manifest
from reeval_build.content.marketplaces import MARKETPLACE, MarketplaceEntry
from reeval_build.content.material import (
    Material,
    directory_at,
    find,
    is_directory,
    is_file,
    read_document,
    relative_parts,
)
from reeval_build.content.narrowed import Narrowing
from reeval_build.content.plugin_parts import Inventory, InventoryReader, Item
from reeval_build.content.problems import ContentError, listed
from reeval_build.digest import Digest
from reeval_build.model.harnesses import HARNESSES
from reeval_build.model.mcp import McpServer
from reeval_build.model.plugins import (
    PLUGIN_PARTS,
    LocalPlugin,
    MarketplacePlugin,
    PluginPart,
    PluginSource,
)
from reeval_build.paths import PathError, display, split
from reeval_build.tree.directory import tree_digest, walk
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from reeval_build.paths import Parts

# Manifests that a harness reads in place of `.claude-plugin/plugin.json`, and what brings ChatGPT apps.
_OTHER_MANIFESTS: Final = tuple(harness.own_manifest for harness in HARNESSES.values() if harness.own_manifest)
_MANIFEST_WITH_APPS: Final = (b".codex-plugin", b"plugin.json")
_APPS: Final = (b".app.json",)


def _frozen(value: Mapping[str, McpServer]) -> Mapping[str, McpServer]:
    return MappingProxyType(dict(value))


@attrs.frozen(kw_only=True)
class PluginContents:
    """A plugin as far as it is kept.

    `version` is what its manifest says, `tree` what is copied to the plugin's directory in the sandbox; `servers` are
    by `<plugin>:<server>`, with that directory in them; `other_manifests` are the paths of manifests that some harness
    reads in place of the plugin's.
    """

    name: str
    version: str | None
    source: str
    tree: Digest
    parts: tuple[PluginPart, ...]
    items: tuple[Item, ...]
    hooks: tuple[Hook, ...]
    servers: Mapping[str, McpServer] = attrs.field(converter=_frozen)
    other_manifests: tuple[str, ...]
    has_apps: bool
    is_built: bool
    warnings: tuple[str, ...] = attrs.field(default=(), eq=False)


def plugin_root(name: str, home: str) -> str:
    """The directory of a plugin in the sandbox."""
    return f"{home.rstrip('/')}/.reeval/plugins/{name}"


def find_plugin(
    source: PluginSource, tree: Digest, material: Material, *, home: str, entry: MarketplaceEntry | None = None
) -> PluginContents:
    """What `source` gives, out of `tree`, all that was fetched for it; `home` is the sandbox's home directory.

    `entry` is the entry of a marketplace that the tree was fetched for, or that the tree, the marketplace's own, has.

    Raises:
        ContentError: when the directory or the manifest is missing, the manifest or a part that is kept is malformed,
            a link leads out of the plugin, or `only` names a part that the plugin does not have.
    """
    where = called_plugin(source)
    parts = plugin_path(source, entry)
    at = display(b"/".join(parts))
    supplied, added = (None, None) if entry is None else (entry.manifest, entry.components)
    try:
        plugin = directory_at(tree, parts, material.load, where=where)
        manifest = read_manifest(plugin, material, where=where, at=at, supplied=supplied, added=added)
    except ContentError as error:
        is_there = supplied is not None or find(tree, (*parts, *MANIFEST), material.load) is not None
        hint = None if is_there else _elsewhere(source, tree, parts, material)
        raise ContentError(where, error.path, error.reason, hint=hint) from error
    inventory = InventoryReader(plugin, manifest, material, root=plugin_root(manifest.name, home)).read()
    kept = _kept_parts(source, manifest.name, inventory, where)
    _check_kept(kept, inventory)
    return PluginContents(
        name=manifest.name,
        version=manifest.version,
        source=where,
        tree=_kept_tree(plugin, manifest, inventory, kept, material, at),
        parts=kept,
        items=tuple(item for item in inventory.items if item.part in kept),
        hooks=inventory.hooks if "hooks" in kept else (),
        servers={f"{manifest.name}:{name}": server for name, server in inventory.servers.items()}
        if "mcp" in kept
        else {},
        other_manifests=tuple(
            path for path in _OTHER_MANIFESTS if find(plugin, split(path.encode()), material.load) is not None
        ),
        has_apps=_has_apps(plugin, material, where),
        is_built=source.build is not None,
        warnings=(*_nothing(kept, where), *(inventory.warnings if "mcp" in kept else ())),
    )


def _elsewhere(source: PluginSource, tree: Digest, parts: Parts, material: Material) -> str | None:
    """What there is in place of a manifest: plugins further down, a marketplace, or skills alone."""
    if not isinstance(source, MarketplacePlugin):
        above = {
            display(b"/".join(found[:-2]))
            for found, _ in walk(tree, material.load)
            if found[-2:] == MANIFEST and len(found) > len(MANIFEST)
        }
        if above:
            advice = "" if isinstance(source, LocalPlugin) else "; name one as `path`"
            return f"it has plugins in: {listed(above)}{advice}"
        if find(tree, MARKETPLACE, material.load) is not None:
            return "it is a marketplace, whose entries plugin.marketplace takes"
    skills = find(tree, (*parts, b"skills"), material.load)
    return "its skills can be given in `skills`" if is_directory(skills) else None


def _nothing(kept: tuple[PluginPart, ...], where: str) -> tuple[str, ...]:
    """That there is nothing for a harness, as in plugins of language servers alone, or of the wrong layout."""
    return () if kept else (f"{where} has none of {', '.join(PLUGIN_PARTS)}, so it may do nothing",)


def plugin_path(source: PluginSource, entry: MarketplaceEntry | None = None) -> Parts:
    """The plugin's directory in what is fetched for it. Raises ContentError for a path that has no single meaning."""
    if isinstance(source, MarketplacePlugin):
        assert entry is not None, "a plugin of a marketplace is read with its entry"
        return entry.path
    if isinstance(source, LocalPlugin) or source.path is None:
        return ()
    return relative_parts(source.path, where=called_plugin(source))


def _kept_parts(source: PluginSource, name: str, inventory: Inventory, where: str) -> tuple[PluginPart, ...]:
    if source.only is None:
        return inventory.parts
    missing = [part for part in source.only if part not in inventory.parts]
    if missing:
        raise ContentError(
            where,
            "",
            f'keeps only {listed(source.only)}, but the plugin "{name}" has no {listed(missing)}; '
            f"it has: {listed(inventory.parts)}",
        )
    return tuple(part for part in inventory.parts if part in source.only)


def _check_kept(kept: tuple[PluginPart, ...], inventory: Inventory) -> None:
    """Make sure that what is kept is well formed: what is wrong with another part is not an error."""
    malformed = [part for part in kept if part in inventory.malformed]
    if malformed:
        error = inventory.malformed[malformed[0]]
        others = [part for part in kept if part not in malformed]
        hint = f"keep what can be read of it with only: {listed(others)}" if others else None
        raise ContentError(error.where, error.path, error.reason, hint=hint)


def _kept_tree(
    plugin: Digest, manifest: Manifest, inventory: Inventory, kept: tuple[PluginPart, ...], material: Material, at: str
) -> Digest:
    """The plugin without the parts that are not kept; what belongs to no part stays, for kept parts may use it."""
    draft = Draft(material.load, plugin)
    if _without_git(plugin, material, at, manifest.where) != plugin:
        for parts in Exclusion.of(()).topmost(plugin, material.load):
            draft.remove(parts)
    # Without `only` every part is kept, also one that there is nothing of yet.
    dropped = tuple(part for part in PLUGIN_PARTS if part not in kept) if kept != inventory.parts else ()
    for parts in _dropped_paths(inventory, dropped):
        draft.remove(parts)
    narrowed = manifest.without(dropped)
    if not narrowed.is_written:
        try:
            draft.put(MANIFEST, material.file(narrowed.data))
        except PathError as error:
            raise manifest.error(error.reason) from error
    return draft.save(material.save)


def _without_git(plugin: Digest, material: Material, at: str, where: str) -> Digest:
    looking = attrs.evolve(material, save=tree_digest)
    narrowing = Narrowing(exclusion=Exclusion.of(()), material=looking, where=where, at=at)
    return narrowing.known(plugin) or narrowing.of(plugin)


def _dropped_paths(inventory: Inventory, dropped: tuple[PluginPart, ...]) -> set[Parts]:
    """The paths of dropped parts: whole directories, unless something that is kept is in them."""
    needed = [item.path for item in inventory.items if item.part not in dropped and item.path is not None]
    needed += [home for part in ("hooks", "mcp") if part not in dropped for home in inventory.homes[part]]
    needed.append(MANIFEST)
    homes = {home for part in dropped for home in inventory.homes[part] if home}
    items = {item.path for item in inventory.items if item.part in dropped and item.path is not None}
    return {path for path in homes | items if not any(_overlap(path, other) for other in needed)}


def _overlap(path: Parts, other: Parts) -> bool:
    """Whether one of two paths is the other, or in it."""
    return other[: len(path)] == path[: len(other)]


def _has_apps(plugin: Digest, material: Material, where: str) -> bool:
    """Whether the plugin brings ChatGPT apps: a file of its own, or a mention in the manifest that Codex reads."""
    if find(plugin, _APPS, material.load) is not None:
        return True
    entry = find(plugin, _MANIFEST_WITH_APPS, material.load)
    return (
        entry is not None
        and is_file(entry)
        and b'"apps"' in read_document(entry, display(b"/".join(_MANIFEST_WITH_APPS)), material, where=where)
    )
