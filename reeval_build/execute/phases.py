"""What the work of each phase does with the outputs of its parents."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import attrs

from reeval_build.digest import BLOB
from reeval_build.errors import InfraError
from reeval_build.execute import trees
from reeval_build.execute.commands import StepCommand, run_step
from reeval_build.execute.inputs import merged, narrowed
from reeval_build.execute.leaks import Leak, keep_delta
from reeval_build.execute.plugin_builds import build_plugin
from reeval_build.execute.redaction import Redactor
from reeval_build.execute.secrets import given, reveal
from reeval_build.execute.sources import read_source
from reeval_build.model.start_options import UNLIMITED
from reeval_build.paths import PathError
from reeval_build.plan.dockerfiles import DockerfileWork
from reeval_build.plan.outputs import Output, SnapshotOutput, StateOutput, TreeOutput
from reeval_build.plan.work import (
    BaseWork,
    FilesWork,
    HarnessWork,
    InputsWork,
    InstallWork,
    McpWork,
    MergeWork,
    PluginBuildWork,
    PluginWork,
    RootWork,
    RulesWork,
    SetupWork,
    SkillsWork,
    SnapshotWork,
    SourceWork,
    WorkspaceWork,
)
from reeval_build.ports.objects import LostObjectError
from reeval_build.state.state import PlacedTree, State
from reeval_build.state.workspace import tree_at
from reeval_build.tree.directory import Entry, Kind, walk
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from reeval_build.digest import Digest
    from reeval_build.execute.context import Context
    from reeval_build.plan.work import PlacedFile, TreeWork, Work
    from reeval_build.ports.objects import Objects
    from reeval_build.state.state import Layout


@attrs.frozen
class PrivateOutput:
    """An output with values of secrets in it, and where they are: it must not be kept."""

    output: Output
    leaks: tuple[Leak, ...]


def perform(work: Work, inputs: Mapping[str, Output], context: Context, log: Path) -> Output | PrivateOutput:
    """Do the work of a node and keep the objects of what it leaves, those of a private output privately.

    `inputs` are the outputs of its parents by their roles. Raises InfraError when it cannot be done, and
    CancelledError when the run was told to stop.
    """
    match work:
        case DockerfileWork():
            from reeval_build.execute.dockerfiles import build_dockerfile

            return build_dockerfile(work, context, log)
        case BaseWork():
            return StateOutput(state=State(work.identity))
        case InstallWork() | SetupWork():
            return _run_step(work, _state(inputs), context, log)
        case HarnessWork():
            from reeval_build.execute.harness_installs import install_harness

            return install_harness(work, _state(inputs), context, log)
        case RootWork():
            return _make_root(work.layout, inputs, context.objects)
        case InputsWork():
            below = _state(inputs)
            return _apart(narrowed(work, below, context.objects), below, work.engine, context)
        case MergeWork():
            whole, seen, left = (_state(inputs, role) for role in ("state", "seen", "left"))
            return _apart(merged(work, whole, seen, left, context.objects), whole, work.engine, context)
        case SnapshotWork():
            return _make_snapshot(work.layout, inputs, context.objects)
        case PluginBuildWork():
            return build_plugin(work, inputs, context, log)
        case _:
            return _make_tree(work, inputs, context)


def _make_tree(work: TreeWork, inputs: Mapping[str, Output], context: Context) -> TreeOutput:
    match work:
        case WorkspaceWork():
            return _read_workspace(work, context)
        case FilesWork() | McpWork():
            return _place(work.files, context)
        case RulesWork():
            return _place([work.file], context)
        case SourceWork():
            return TreeOutput(workspace=read_source(work.source, context))
        case SkillsWork():
            from reeval_build.execute.skills import place_skills

            return place_skills(work, inputs, context.objects)
        case PluginWork():
            from reeval_build.execute.plugins import place_plugin

            return place_plugin(work, inputs, context.objects)


def _read_workspace(work: WorkspaceWork, context: Context) -> TreeOutput:
    """The first that can be read of the repositories that have the tree. Raises what the first of them says."""
    problems: list[InfraError] = []
    for place in (work, *work.others):
        try:
            with context.objects.batch() as batch:
                return TreeOutput(workspace=context.git.read(place.workspace, place.resolved, batch))
        except InfraError as error:
            problems.append(error)
    raise problems[0]


def _apart(state: State, below: State, engine: str, context: Context) -> StateOutput:
    """A state that is not only the one below with more on it: where it leaves that, it may be private by itself."""
    if context.objects is context.private:
        pairs = zip(state.deltas, below.deltas, strict=False)
        shared = list(takewhile(lambda pair: pair[0] == pair[1], pairs))
        context.engines(engine).keep_private(state.lowest(len(shared) + 1))
    return StateOutput(state=state)


def _state(inputs: Mapping[str, Output], role: str = "state") -> State:
    output = inputs[role]
    assert isinstance(output, StateOutput), "the planner gives a state in this role"
    return output.state


def _run_step(work: InstallWork | SetupWork, state: State, context: Context, log: Path) -> StateOutput | PrivateOutput:
    secrets, env, options = {}, {}, UNLIMITED
    if isinstance(work, SetupWork):
        secrets, options = reveal(work.secrets, context.variables), work.start
        env = {**dict(work.env), **given(work.secrets, secrets)}
    command = StepCommand(
        phase=work.phase,
        run=work.run,
        cwd=work.cwd if isinstance(work, SetupWork) else "/",
        env=env,
        timeout_s=work.timeout_s,
        memory_bytes=options.memory_bytes,
    )
    redactor, engine = Redactor(secrets), context.engines(work.engine)
    with (
        redactor.errors(),
        engine.start(state, options=options, cancel=context.cancel) as sandbox,
        log.open("wb") as file,
        # Half of a value can come from either stream.
        redactor.stream(file) as both,
    ):
        with redactor.stream(both) as stdout, redactor.stream(both) as stderr:
            run_step(command, sandbox, stdout=stdout, stderr=stderr, log=log)
        delta, leaks = keep_delta(command.reader(sandbox, engine.layout.workspace, log), redactor, context)
    output = StateOutput(state=state.on_top(delta))
    if not leaks:
        return output
    engine.keep_private(output.state)
    return PrivateOutput(output, leaks)


def _place(files: Sequence[PlacedFile], context: Context) -> TreeOutput:
    load = trees.loader(context.objects)
    drafts = {"workspace": Draft(load), "home": Draft(load)}
    used = set()
    for file in files:
        entry = Entry.file(file.digest, file.size, executable=file.executable)
        drafts[file.destination.root].put(file.destination.parts, entry)
        used.add(file.destination.root)
    _keep_bytes(files, context)
    with context.objects.batch() as batch:
        return TreeOutput(**{root: drafts[root].save(trees.saver(batch)) for root in used})


def _keep_bytes(files: Sequence[PlacedFile], context: Context) -> None:
    """Keep the bytes of texts, and of host files whose bytes the store has lost since they were looked at."""
    with context.objects.batch() as batch:
        for file in files:
            if isinstance(file.source, str):
                batch.add(BLOB, file.source.encode("utf-8"))
            elif not _is_kept(file, context.objects) and (
                context.host_files.read(file.source.path).digest != file.digest
            ):
                raise InfraError(f'file("{file.source.path}") was changed while the build ran', hint="build again")


def _is_kept(file: PlacedFile, objects: Objects) -> bool:
    """Whether a file can be read: a store that lost it may still have its name, until it is looked at."""
    try:
        with objects.open(BLOB, file.digest):
            return True
    except LostObjectError:
        return False


def _make_root(layout: Layout, inputs: Mapping[str, Output], objects: Objects) -> StateOutput:
    """Workspace, then files over it, then rules, then plugins: the order reeval's documentation gives."""
    workspace, home = Draft(trees.loader(objects)), Draft(trees.loader(objects))
    has_home = False
    for role in ("workspace", "files", "rules", *sorted(role for role in inputs if role.startswith("plugin "))):
        output = inputs.get(role)
        if isinstance(output, TreeOutput):
            _overlay(workspace, output.workspace, role)
            _overlay(home, output.home, role, of="the home directory")
            has_home = has_home or output.home is not None
    with objects.batch() as batch:
        save = trees.saver(batch)
        deltas = [PlacedTree(at=layout.workspace, tree=workspace.save(save), replaces=True)]
        if has_home:
            deltas.append(PlacedTree(at=layout.home, tree=home.save(save), replaces=False))
        return StateOutput(state=_state(inputs).on_top(*deltas))


def _overlay(draft: Draft, tree: Digest | None, role: str, *, of: str = "the workspace") -> None:
    if tree is None:
        return
    try:
        draft.overlay(tree)
    except PathError as error:
        raise InfraError(f"{role}: {error} of {of}") from error


def _make_snapshot(layout: Layout, inputs: Mapping[str, Output], objects: Objects) -> SnapshotOutput:
    state, root = _state(inputs), inputs["root"]
    assert isinstance(root, StateOutput), "the planner gives a state in this role"
    load = trees.loader(objects)
    placed = next(
        delta.tree
        for delta in reversed(root.state.deltas)
        if isinstance(delta, PlacedTree) and delta.at == layout.workspace
    )
    baseline = tree_at(state, layout.workspace, load, lambda delta: trees.load_delta(objects, delta))
    tracked = Draft(load, placed)
    skills = inputs.get("skills")
    if isinstance(skills, TreeOutput) and skills.workspace is not None:
        _overlay(baseline, skills.workspace, "skills")
        for parts, entry in walk(skills.workspace, load):
            if entry.kind is not Kind.DIRECTORY:
                tracked.replace(parts, entry)
        state = state.on_top(PlacedTree(at=layout.workspace, tree=skills.workspace, replaces=False))
    with objects.batch() as batch:
        save = trees.saver(batch)
        return SnapshotOutput(state=state, baseline=baseline.save(save), placed=tracked.save(save))
