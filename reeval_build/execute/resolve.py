"""Looks at everything some cells name, once: images, repositories, host files."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from reeval_build.errors import InfraError
from reeval_build.execute.threads import workers
from reeval_build.model.spec import HostFile
from reeval_build.plan.resolution import Resolution, base_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from concurrent.futures import Future

    from reeval_build.execute.context import Context
    from reeval_build.model.cells import Cell
    from reeval_build.model.spec import FileContent

Result = TypeVar("Result")


def resolve(cells: Iterable[Cell], context: Context, *, jobs: int) -> Resolution:
    """What the images, repositories and files that `cells` name are now.

    What cannot be had is an `InfraError` in the result, so that it fails only the cells that need it. The bytes of
    host files are in the store afterwards: what is hashed here is what is placed later.
    """
    cells = list(cells)
    sandboxes = {base_name(cell.sandbox): cell.sandbox for cell in cells}
    contents = [content for cell in cells for content in _contents(cell)]
    workspaces = {cell.merged.workspace: None for cell in cells if cell.merged.workspace is not None}
    paths = {content.path: None for content in contents if isinstance(content, HostFile)}
    questions: dict[object, Callable[[], object]] = {}
    for name, sandbox in sandboxes.items():
        questions["base", name] = lambda sandbox=sandbox: context.engines(sandbox.kind).resolve(sandbox)
    for workspace in workspaces:
        questions["workspace", workspace] = lambda workspace=workspace: context.git.resolve(workspace)
    for path in paths:
        questions["file", path] = lambda path=path: context.host_files.read(path)
    answers = _ask(questions, jobs)
    return Resolution(
        bases={name: answers["base", name] for name in sandboxes},
        layouts={kind: context.engines(kind).layout for kind in {cell.sandbox.kind for cell in cells}},
        workspaces={workspace: answers["workspace", workspace] for workspace in workspaces},
        files={path: answers["file", path] for path in paths},
    )


def _contents(cell: Cell) -> Iterator[FileContent]:
    yield from cell.merged.files.values()
    if cell.merged.rules is not None:
        yield cell.merged.rules


def _ask(questions: Mapping[object, Callable[[], object]], jobs: int) -> dict[object, object]:
    if not questions:
        return {}
    answers: dict[object, object] = {}
    with workers(jobs) as pool:
        for name, question in questions.items():
            pool.begin(name, question)
        while len(pool):
            answers.update((name, _answer(future)) for name, future in pool.finished())
    return answers


def _answer(future: Future[object]) -> object:
    try:
        return future.result()
    except InfraError as error:
        return error
