"""`plugin.local`, `plugin.git`, `plugin.npm`, `plugin.marketplace`: what an agent is extended with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from reeval_build.errors import DefinitionError
from reeval_build.model.helpers.packages import package
from reeval_build.model.helpers.repositories import Repository, path_of, remote_repository
from reeval_build.model.options import (
    directory_inside,
    directory_or_root,
    host_path,
    is_list,
    is_said,
    many,
    one_of,
    text,
)
from reeval_build.model.plugins import (
    PLUGIN_PARTS,
    GitMarketplace,
    GitPlugin,
    LocalPlugin,
    MarketplacePlugin,
    NpmMarketplace,
    NpmPlugin,
    PluginBuild,
    PluginPart,
)
from reeval_build.model.problems import refuse
from reeval_build.model.reading import Mistake, Option, Refused, Shape, make, read
from reeval_build.model.shown import got, without_secrets

if TYPE_CHECKING:
    from reeval_build.model.site import Site
    from reeval_build.model.written import BuildInput


class PluginHelper:
    """`plugin.local(…)`, `plugin.git(…)`, `plugin.npm(…)` and `plugin.marketplace(…)`."""

    def local(
        self, path: str, *, only: Sequence[PluginPart] | None = None, build: BuildInput | None = None
    ) -> LocalPlugin:
        """A plugin of this machine.

        Args:
            path: a directory with `.claude-plugin/plugin.json`, relative to the calling file, or absolute.
            only: the parts to keep, of `skills`, `agents`, `commands`, `hooks`, `mcp` and `rules`; by default all
                that the plugin has.
            build: commands that build it, in its directory, or `{"run": …, "cwd": …}` to run them in another one
                of its source.

        Raises:
            DefinitionError: with every option that is not as above.
        """
        return make(LOCAL, {"path": path}, {"only": only, "build": build})

    def git(
        self,
        repo: str,
        *,
        ref: str | None = None,
        path: str | None = None,
        only: Sequence[PluginPart] | None = None,
        build: BuildInput | None = None,
    ) -> GitPlugin:
        """A plugin of a git repository.

        Args:
            repo: a clone URL, `github:owner/repo`, or a GitHub `/tree/REF/PATH` URL, which sets `ref` and `path` when
                they are not given.
            ref: a branch, tag or commit; the default is the repository's HEAD.
            path: the plugin's directory; the default is the root.
            only: as for `local`.
            build: as for `local`.

        Raises:
            DefinitionError: with every option that is not as above, and for a password or token in the URL.
        """
        return make(GIT, {"repo": repo}, {"ref": ref, "path": path, "only": only, "build": build})

    def npm(
        self,
        spec: str,
        *,
        path: str | None = None,
        only: Sequence[PluginPart] | None = None,
        build: BuildInput | None = None,
    ) -> NpmPlugin:
        """A plugin of an npm package.

        Args:
            spec: a package, pinned to a version, such as `@acme/review@1.2.0`; or the path of one, relative to the
                calling file.
            path: the plugin's directory; the default is the package itself.
            only: as for `local`.
            build: as for `local`.

        Raises:
            DefinitionError: with every option that is not as above.
        """
        return make(NPM, {"spec": spec}, {"path": path, "only": only, "build": build})

    def marketplace(
        self,
        entry: str,
        *,
        ref: str | None = None,
        only: Sequence[PluginPart] | None = None,
        build: BuildInput | None = None,
    ) -> MarketplacePlugin:
        """An entry of a Claude Code marketplace.

        Args:
            entry: `name@source`, where the source is a clone URL, `github:owner/repo`, or `npm:` and a package.
            ref: a branch, tag or commit of a git marketplace; an npm one is pinned in its source.
            only: as for `local`.
            build: as for `local`.

        Raises:
            DefinitionError: with every option that is not as above.
        """
        optional = {"only": only, "build": build}
        try:
            return make(MARKETPLACE, _parse_entry(entry, ref), optional)
        except Refused as refused:
            problems = [mistake.clause for mistake in refused.mistakes]
            return refuse(problems, instead=MARKETPLACE.instead)


def _parse_entry(entry: object, ref: object) -> dict[str, object]:
    """The words of its refusals are reeval-python's."""
    shown = without_secrets(repr(entry))
    name, at, source = entry.partition("@") if isinstance(entry, str) else ("", "", "")
    source = source.strip()
    if not name or not at or not source:
        raise Refused(
            "plugin.marketplace() needs 'name@source', e.g. "
            f"plugin.marketplace('lint@github:acme/agent-plugins') (got {shown})"
        )
    if not source.startswith("npm:"):
        marketplace = {"source": "git", "repo": source} | ({} if ref is None else {"ref": ref})
        return {"name": name, "marketplace": marketplace}
    if ref is not None:
        raise Refused(
            f"plugin.marketplace({shown}): ref picks a commit of a git marketplace; "
            "pin an npm marketplace in its spec, e.g. npm:@acme/plugins@2.0.0"
        )
    return {"name": name, "marketplace": {"source": "npm", "spec": source.removeprefix("npm:")}}


def _marketplace(value: object, site: Site) -> GitMarketplace | NpmMarketplace:
    source = value.get("source") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(source, str) or source not in MARKETPLACES:
        raise Refused(f"must be a git repository or an npm package {got(value)}")
    try:
        found: GitMarketplace | NpmMarketplace = read(
            MARKETPLACES[source], {key: item for key, item in value.items() if key != "source"}, site
        )
    except DefinitionError as error:
        raise Refused(*(Mistake(problem, about="nothing") for problem in error.problems)) from error
    return found


def _build(value: object, _site: Site) -> PluginBuild:
    fields = value if isinstance(value, Mapping) else {"run": value}
    run = fields.get("run")
    commands = [run] if isinstance(run, str) else run
    said = is_list(commands) and len(commands) > 0 and all(is_said(command) for command in commands)
    if not is_list(commands) or not said or fields.keys() - {"run", "cwd"}:
        raise Refused(f"must be a command, a list of commands or {{ run, cwd? }} {got(value)}")
    if "cwd" not in fields:
        return PluginBuild(run=tuple(str(command) for command in commands))
    try:
        cwd = directory_or_root(fields["cwd"], _site)
    except Refused as refused:
        raise Refused(*refused.below(".cwd")) from refused
    return PluginBuild(run=tuple(str(command) for command in commands), cwd=cwd)


def _build_git(*, repo: Repository, ref: str | None = None, path: str | None = None, **options: Any) -> GitPlugin:  # noqa: ANN401 - they were read by name
    return GitPlugin(
        repo=repo.written,
        url=repo.url,
        ref=repo.ref if ref is None else ref,
        path=path_of(repo) if path is None else path,
        **options,
    )


def _build_git_marketplace(*, repo: Repository, ref: str | None = None) -> GitMarketplace:
    if repo.path is not None:
        raise Refused(Mistake("has a path in its URL, but a marketplace is a whole repository", about="thing"))
    return GitMarketplace(repo=repo.written, url=repo.url, ref=repo.ref if ref is None else ref)


_CHOICE: Final = {
    "only": Option("only", many(one_of(*PLUGIN_PARTS), "parts")),
    "build": Option("build", _build),
}

LOCAL: Final = Shape(
    called="plugin.local()",
    options={"path": Option("path", host_path, required=True)} | _CHOICE,
    build=LocalPlugin,
    instead=LocalPlugin(path="/"),
)
GIT: Final = Shape(
    called="plugin.git()",
    options={
        "repo": Option("repo", remote_repository, required=True),
        "ref": Option("ref", text),
        "path": Option("path", directory_inside),
    }
    | _CHOICE,
    build=_build_git,
    instead=GitPlugin(repo="", url=""),
)
NPM: Final = Shape(
    called="plugin.npm()",
    options={"spec": Option("spec", package, required=True), "path": Option("path", directory_inside)} | _CHOICE,
    build=NpmPlugin,
    instead=NpmPlugin(spec=""),
)
MARKETPLACES: Final[dict[str, Shape[Any]]] = {
    "git": Shape(
        called="plugin.marketplace()",
        options={"repo": Option("repo", remote_repository, required=True), "ref": Option("ref", text)},
        build=_build_git_marketplace,
        instead=GitMarketplace(repo="", url=""),
    ),
    "npm": Shape(
        called="plugin.marketplace()",
        options={"spec": Option("spec", package, required=True)},
        build=NpmMarketplace,
        instead=NpmMarketplace(spec=""),
    ),
}
MARKETPLACE: Final = Shape(
    called="plugin.marketplace()",
    options={
        "name": Option("name", text, required=True),
        "marketplace": Option("marketplace", _marketplace, required=True),
    }
    | _CHOICE,
    build=MarketplacePlugin,
    instead=MarketplacePlugin(name="", marketplace=NpmMarketplace(spec="")),
)
PLUGINS: Final[dict[str, Shape[Any]]] = {"local": LOCAL, "git": GIT, "npm": NPM, "marketplace": MARKETPLACE}

plugin: Final = PluginHelper()
