"""Looks at everything some cells name, once: images, repositories, host files, skills and plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from reeval_build.content.registries import NO_REGISTRIES, Registries
from reeval_build.errors import DefinitionError, InfraError, PlanError
from reeval_build.execute.questions import Questions
from reeval_build.model.plugins import LocalPlugin
from reeval_build.model.spec import DockerSandbox, HostFile
from reeval_build.plan.resolution import Resolution, base_name, home_of
from reeval_build.plan.secrets import host_variables
from reeval_build.plan.servers import server_variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reeval_build.execute.context import Context
    from reeval_build.model.cells import Cell
    from reeval_build.model.plugins import PluginSource
    from reeval_build.model.skills import SkillSource
    from reeval_build.model.spec import FileContent, Sandbox
    from reeval_build.plan.dockerfiles import ResolvedDockerfile
    from reeval_build.plan.harnesses import HarnessInstall
    from reeval_build.plan.record import CellRecord
    from reeval_build.plan.resolution import Base, BaseName, ResolvedPlugin, ResolvedSkills
    from reeval_build.state.state import Layout

Name = TypeVar("Name")
Result = TypeVar("Result")


def resolve(cells: Iterable[Cell], context: Context, *, jobs: int) -> Resolution:
    """What the images, repositories and files that `cells` name are now, and which of their host variables are set.

    What cannot be had is an `InfraError` in the result, so that it fails only the cells that need it. The bytes of
    host files are in the store afterwards: what is hashed here is what is placed later.
    """
    cells = list(cells)
    sandboxes = {base_name(cell.sandbox): cell.sandbox for cell in cells}
    dockerfiles = [name.dockerfile for name in sandboxes if name.dockerfile is not None]
    sandboxes = {name: sandbox for name, sandbox in sandboxes.items() if name.dockerfile is None}
    workspaces = [cell.merged.workspace for cell in cells if cell.merged.workspace is not None]
    paths = [content.path for cell in cells for content in _contents(cell) if isinstance(content, HostFile)]
    layouts: dict[str, Layout] = {kind: context.engines(kind).layout for kind in {cell.sandbox.kind for cell in cells}}
    skills = [source for cell in cells for _, sources in cell.merged.skills for source in sources]
    plugins = [
        (source, home_of(layouts[cell.sandbox.kind]))
        for cell in cells
        for _, sources in cell.merged.plugins
        for source in sources
    ]
    ask = Questions(context, jobs)
    return Resolution(
        bases=_resolve_bases(sandboxes, context, ask),
        dockerfiles=_resolve_dockerfiles(dockerfiles, context, ask),
        harnesses=_resolve_harnesses(cells, context, ask),
        layouts=layouts,
        workspaces=ask(workspaces, context.git.resolve),
        files=ask(paths, context.host_files.read),
        skills=_resolve_skills(skills, context, ask),
        plugins=_resolve_plugins(plugins, context, ask),
        earlier=_earlier(cells, context),
        registries=_registries() if plugins else NO_REGISTRIES,
        variables=frozenset(variable for cell in cells for variable in _variables(cell)) & context.variables.keys(),
    )


def _resolve_skills(
    skills: list[SkillSource], context: Context, ask: Questions
) -> Mapping[SkillSource, ResolvedSkills | InfraError]:
    if not skills:
        return {}
    from reeval_build.execute.resolve_skills import resolve_skills

    return resolve_skills(skills, context, ask)


def _resolve_plugins(
    plugins: list[tuple[PluginSource, str]], context: Context, ask: Questions
) -> Mapping[tuple[PluginSource, str], ResolvedPlugin | InfraError]:
    if not plugins:
        return {}
    from reeval_build.execute.resolve_plugins import resolve_plugins

    return resolve_plugins(plugins, context, ask)


def _resolve_bases(
    sandboxes: Mapping[BaseName, Sandbox], context: Context, ask: Questions
) -> Mapping[BaseName, Base | InfraError]:
    """What images are, as they are locked. Raises PlanError with all that may not be what it would be."""
    if any(name.image is not None for name in sandboxes):
        context.locks.load()

    def resolve_one(name: BaseName) -> Base | PlanError:
        sandbox = sandboxes[name]
        try:
            terms = context.locks.terms(name.image)
            return context.engines(sandbox.kind).resolve(sandbox, terms=terms, cancel=context.cancel)
        except PlanError as error:
            return error

    answers: Mapping[BaseName, Base | PlanError | InfraError] = ask(sandboxes, resolve_one)
    bases = _allowed(answers)
    context.locks.note({name: base for name, base in bases.items() if not isinstance(base, InfraError)})
    return bases


def _resolve_dockerfiles(
    paths: list[str], context: Context, ask: Questions
) -> Mapping[str, ResolvedDockerfile | InfraError]:
    if not paths:
        return {}
    from reeval_build.execute.dockerfiles import resolve_dockerfiles

    context.locks.load()
    return _allowed(resolve_dockerfiles(paths, context, ask))


def _allowed(found: Mapping[Name, Result | PlanError | InfraError]) -> dict[Name, Result | InfraError]:
    """What was found. Raises DefinitionError with all that may not be what it would be."""
    refused = [answer for answer in found.values() if isinstance(answer, PlanError)]
    if refused:
        raise DefinitionError(*dict.fromkeys(map(str, refused)))
    return {name: answer for name, answer in found.items() if not isinstance(answer, PlanError)}


def _resolve_harnesses(
    cells: Iterable[Cell], context: Context, ask: Questions
) -> Mapping[str, HarnessInstall | InfraError]:
    kinds = {cell.harness.kind for cell in cells if isinstance(cell.sandbox, DockerSandbox)}
    wanted = [recipe for kind, recipe in context.harnesses.items() if kind in kinds]
    if not wanted:
        return {}
    from reeval_build.execute.harness_locks import resolve_harnesses

    return resolve_harnesses(wanted, context, ask)


def _earlier(cells: Iterable[Cell], context: Context) -> dict[str, CellRecord]:
    """The last records of those cells that have a plugin of the host."""
    names = {
        cell.name
        for cell in cells
        for _, sources in cell.merged.plugins
        if any(isinstance(source, LocalPlugin) for source in sources)
    }
    found = {name: context.cells.last(name) for name in names}
    return {name: record for name, record in found.items() if record is not None}


def _variables(cell: Cell) -> frozenset[str]:
    return host_variables(cell.merged.env) | server_variables(cell.merged.mcp.values())


def _contents(cell: Cell) -> Iterator[FileContent]:
    yield from cell.merged.files.values()
    if cell.merged.rules is not None:
        yield cell.merged.rules


def _registries() -> Registries:
    from reeval_python import DEFAULT_EGRESS_ALLOW

    return Registries.of(DEFAULT_EGRESS_ALLOW)
