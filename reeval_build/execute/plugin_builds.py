"""Builds a plugin in a sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reeval_build.content.material import find, is_directory
from reeval_build.execute import trees
from reeval_build.execute.commands import StepCommand, run_step
from reeval_build.execute.failures import StepFailedError
from reeval_build.paths import display
from reeval_build.plan.outputs import StateOutput, TreeOutput
from reeval_build.state.state import PlacedTree
from reeval_build.state.workspace import apply_entries, is_replaced
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reeval_build.execute.context import Context
    from reeval_build.plan.outputs import Output
    from reeval_build.plan.work import PluginBuildWork
    from reeval_build.ports.engine import Sandbox

# reeval's documentation names no limit for a plugin's build. This one is for what hangs.
PLUGIN_BUILD_TIMEOUT_S: Final = 1800.0


def build_plugin(work: PluginBuildWork, inputs: Mapping[str, Output], context: Context, log: Path) -> TreeOutput:
    """Run a plugin's build where a workspace would be, with its source there, and take the plugin out of the result.

    Raises:
        StepFailedError: when a command does not succeed, or the plugin is no directory afterwards.
    """
    state, source = inputs["state"], inputs["source"]
    assert isinstance(state, StateOutput), "the planner gives a state in this role"
    assert isinstance(source, TreeOutput), "the planner gives a tree in this role"
    assert source.workspace is not None, "a source is in the place of a workspace"
    place = work.layout.workspace
    start = state.state.on_top(PlacedTree(at=place, tree=source.workspace, replaces=True))
    with context.engines(work.engine).start(start, cancel=context.cancel) as sandbox, context.objects.batch() as batch:
        _run(work, sandbox, log)
        entries = sandbox.capture(batch)
    if is_replaced(place, entries):
        raise StepFailedError(work.phase, work.run[-1], "left no directory where the source was", log=log)
    load = trees.loader(context.objects)
    built = Draft(load, source.workspace)
    apply_entries(built, place, entries)
    with context.objects.batch() as batch:
        whole = built.save(trees.saver(batch))
    plugin = find(whole, work.path, load)
    if plugin is None or not is_directory(plugin):
        path = display(b"/".join(work.path))
        raise StepFailedError(work.phase, work.run[-1], f'left no directory at "{path}"', log=log)
    return TreeOutput(workspace=plugin.content)


def _run(work: PluginBuildWork, sandbox: Sandbox, log: Path) -> None:
    with log.open("wb") as output:
        for run in work.run:
            command = StepCommand(phase=work.phase, run=run, cwd=work.cwd, env={}, timeout_s=PLUGIN_BUILD_TIMEOUT_S)
            run_step(command, sandbox, stdout=output, stderr=output, log=log)
