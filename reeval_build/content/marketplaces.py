"""Entries of a Claude Code marketplace, and where each one's plugin is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs

from reeval_build.content.documents import Json, kind_of, parse_json_object
from reeval_build.content.manifest import COMPONENTS
from reeval_build.content.material import Material, find, read_document
from reeval_build.content.problems import ContentError, listed, shown
from reeval_build.paths import Parts, PathError, split

if TYPE_CHECKING:
    from reeval_build.digest import Digest

MARKETPLACE: Final = (b".claude-plugin", b"marketplace.json")
MARKETPLACE_PATH: Final = ".claude-plugin/marketplace.json"
_ABOUT_THE_ENTRY: Final = frozenset({"source", "category", "tags", "strict"})
_SHA: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF: Final = re.compile(r"[^\s\x00-\x20\x7f~^:?*\[\\-][^\s\x00-\x20\x7f~^:?*\[\\]*")
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._][A-Za-z0-9._-]*")
_PACKAGE: Final = re.compile(r"(@[A-Za-z0-9~_][A-Za-z0-9._~-]*/)?[A-Za-z0-9~_][A-Za-z0-9._~-]*")
_VERSION: Final = re.compile(r"[A-Za-z0-9^~<>=*.+|_ -]{1,100}")
# Only servers: an entry that someone else wrote must not name a file or a helper program of the host. No user and
# no password before a host, except the user of ssh; and none begins with "-", for a client may take it for an option.
_HOST: Final = r"[^\s@/:-][^\s@/:]*"
_GIT_URL: Final = re.compile(
    rf"(https?://{_HOST}(:\d+)?/\S+|ssh://(\w[\w.-]*@)?{_HOST}(:\d+)?/\S+|\w[\w.]*@\w[\w.-]*:[^\s/-]\S*)"
)
_REGISTRY: Final = re.compile(r"https?://[^\s@/:?#]+(:\d+)?(/[^\s?#]*)?")


@attrs.frozen
class InMarketplace:
    """The plugin is in the marketplace's own tree."""


@attrs.frozen(kw_only=True)
class InPackage:
    """The plugin is an npm package; `registry` when it is not the user's own."""

    spec: str
    registry: str | None = None


@attrs.frozen(kw_only=True)
class InRepository:
    """The plugin is in a git repository; `ref` is a commit when the entry names one."""

    url: str
    ref: str | None = None


EntrySource: TypeAlias = InMarketplace | InPackage | InRepository


def _frozen(value: Mapping[str, Json] | None) -> Mapping[str, Json] | None:
    return None if value is None else dict(value)


@attrs.frozen(kw_only=True)
class MarketplaceEntry:
    """A plugin of a marketplace: what to fetch, the plugin's directory in that, and what the entry says of it.

    `manifest` stands in place of plugin.json (`strict: false`); `components` join those of plugin.json (otherwise).
    """

    name: str
    source: EntrySource
    path: Parts
    manifest: Mapping[str, Json] | None = attrs.field(default=None, converter=_frozen)
    components: Mapping[str, Json] | None = attrs.field(default=None, converter=_frozen)


def find_entry(name: str, tree: Digest, material: Material, *, where: str) -> MarketplaceEntry:
    """The entry `name` of the marketplace whose root is `tree`; `where` is the source as its author wrote it.

    Raises:
        ContentError: when the marketplace has no marketplace.json or no such entry, or either is malformed.
    """
    found = find(tree, MARKETPLACE, material.load)
    if found is None:
        raise ContentError(where, MARKETPLACE_PATH, f"is not there{_at_root(tree, material)}")
    marketplace = parse_json_object(
        read_document(found, MARKETPLACE_PATH, material, where=where), MARKETPLACE_PATH, where=where
    )
    plugins = marketplace.get("plugins")
    if not isinstance(plugins, list):
        raise ContentError(where, MARKETPLACE_PATH, f"must have `plugins` as a list, not as {kind_of(plugins)}")
    # What is wrong with another entry is not this one's error.
    entries = [item for item in plugins if isinstance(item, dict) and isinstance(item.get("name"), str)]
    matching = [item for item in entries if item["name"] == name]
    if not matching:
        names = [str(item["name"])[:80] for item in entries]
        raise ContentError(
            where, MARKETPLACE_PATH, f'has no entry "{shown(name)}"; its entries are: {listed(names, near=name)}'
        )
    if len(matching) > 1:
        raise ContentError(where, MARKETPLACE_PATH, f'has the entry "{shown(name)}" {len(matching)} times')
    return _EntryReader(name, matching[0], marketplace, where).read()


def _at_root(tree: Digest, material: Material) -> str:
    names = [name.decode("utf-8", "backslashreplace") for name in material.load(tree)]
    return f"; at the root there is: {listed(names, none='nothing')}"


class _EntryReader:
    """Reads one entry."""

    def __init__(self, name: str, entry: Mapping[str, Json], marketplace: Mapping[str, Json], where: str) -> None:
        self._name, self._entry, self._marketplace, self._where = name, entry, marketplace, where

    def read(self) -> MarketplaceEntry:
        strict = self._entry.get("strict", True)
        if not isinstance(strict, bool):
            raise self._error(f"{kind_of(strict)} as `strict`")
        source, path = self._source(self._entry.get("source"))
        own = {field: value for field, value in self._entry.items() if field not in _ABOUT_THE_ENTRY}
        return MarketplaceEntry(
            name=self._name,
            source=source,
            path=path,
            manifest=None if strict else own,
            components={field: own[field] for field in COMPONENTS if field in own} if strict else None,
        )

    def _error(self, reason: str) -> ContentError:
        return ContentError(self._where, MARKETPLACE_PATH, f'has the entry "{shown(self._name)}" with {reason}')

    def _source(self, source: Json) -> tuple[EntrySource, Parts]:
        if isinstance(source, str):
            return InMarketplace(), self._relative(source)
        if not isinstance(source, dict):
            raise self._error(f"{kind_of(source)} as its source" if source is not None else "no source")
        kind = source.get("source")
        path = self._path(self._text(source, "path"))
        match kind:
            case "npm":
                return self._package(source), path
            case "github":
                repository = self._needed(source, "repo")
                if not _REPOSITORY.fullmatch(repository):
                    raise self._error(f'the repo "{shown(repository[:80])}", which is not owner/repo')
                url = f"https://github.com/{repository.removesuffix('.git')}.git"
                return InRepository(url=url, ref=self._ref(source)), path
            case "url" | "git-subdir" | "git":
                if kind == "git-subdir" and not path:
                    raise self._error("a source of the kind git-subdir without a path")
                return InRepository(url=self._url(source), ref=self._ref(source)), path
            case _:
                raise self._error(f"a source of an unknown kind, {shown(str(kind)[:80])}")

    def _relative(self, source: str) -> Parts:
        """Rule: `./…` is from the marketplace's root; a bare name is below `metadata.pluginRoot`."""
        if source.startswith("./"):
            return self._path(source)
        metadata = self._marketplace.get("metadata")
        root = metadata.get("pluginRoot") if isinstance(metadata, dict) else None
        if root is None:
            raise self._error(
                f'the source "{shown(source[:80])}", which does not start with "./", '
                "and the marketplace has no metadata.pluginRoot"
            )
        if not isinstance(root, str):
            raise self._error(f"{kind_of(root)} as the marketplace's metadata.pluginRoot")
        return (*self._path(root), *self._path(source))

    def _path(self, text: str | None) -> Parts:
        trimmed = "" if text is None else text.removeprefix("./").removesuffix("/")
        if trimmed in {"", "."} and (text is None or not text.startswith("/")):
            return ()
        if "\\" in trimmed:
            raise self._error(f'the path "{shown(trimmed[:80])}", which has a backslash')
        try:
            return split(trimmed.encode("utf-8"))
        except PathError as error:
            raise self._error(f'the path "{shown(trimmed[:80])}", which {error.reason}') from error

    def _package(self, source: Mapping[str, Json]) -> InPackage:
        package, version = self._needed(source, "package"), self._text(source, "version")
        if not _PACKAGE.fullmatch(package):
            raise self._error(f'the package "{shown(package[:80])}", which is not the name of an npm package')
        if version is not None and not _VERSION.fullmatch(version):
            raise self._error(f'the version "{shown(version[:80])}", which is not a version or a range of versions')
        registry = self._text(source, "registry")
        if registry is not None and not (registry.isprintable() and _REGISTRY.fullmatch(registry)):
            # Not quoted: it may have a password in it.
            raise self._error("a registry that is not https, or has a user or a password in it")
        return InPackage(spec=package if version is None else f"{package}@{version}", registry=registry)

    def _url(self, source: Mapping[str, Json]) -> str:
        url = self._needed(source, "url")
        if not url.isprintable() or not _GIT_URL.fullmatch(url):
            # Not quoted: it may have a password in it.
            raise self._error("a url that is not https or ssh, or has a user or a password in it")
        return url

    def _ref(self, source: Mapping[str, Json]) -> str | None:
        """Rule: `sha` wins over `ref`."""
        sha, ref = self._text(source, "sha"), self._text(source, "ref")
        if sha is not None:
            if not _SHA.fullmatch(sha):
                raise self._error(f'the sha "{shown(sha[:80])}", which is not a whole commit')
            return sha
        if ref is not None and not _REF.fullmatch(ref):
            raise self._error(f'the ref "{shown(ref[:80])}", which git does not allow')
        return ref

    def _needed(self, source: Mapping[str, Json], key: str) -> str:
        value = self._text(source, key)
        if not value:
            raise self._error(f"a source without `{key}`")
        return value

    def _text(self, source: Mapping[str, Json], key: str) -> str | None:
        value = source.get(key)
        if value is not None and not isinstance(value, str):
            raise self._error(f"{kind_of(value)} as `{key}` of its source")
        return value
