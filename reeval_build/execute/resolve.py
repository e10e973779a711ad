"""Looks at everything some cells name, once: images, repositories, host files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from reeval_build.errors import HostError, InfraError
from reeval_build.execute.threads import Workers, workers
from reeval_build.model.spec import HostFile
from reeval_build.plan.resolution import Resolution, base_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from reeval_build.execute.context import Context
    from reeval_build.model.cells import Cell
    from reeval_build.model.spec import FileContent, Sandbox
    from reeval_build.plan.resolution import Base

Name = TypeVar("Name")
Result = TypeVar("Result")


def resolve(cells: Iterable[Cell], context: Context, *, jobs: int) -> Resolution:
    """What the images, repositories and files that `cells` name are now.

    What cannot be had is an `InfraError` in the result, so that it fails only the cells that need it. The bytes of
    host files are in the store afterwards: what is hashed here is what is placed later.
    """
    cells = list(cells)
    sandboxes = {base_name(cell.sandbox): cell.sandbox for cell in cells}
    workspaces = [cell.merged.workspace for cell in cells if cell.merged.workspace is not None]
    paths = [content.path for cell in cells for content in _contents(cell) if isinstance(content, HostFile)]
    return Resolution(
        bases=_ask(sandboxes, lambda name: _resolve_base(sandboxes[name], context), context, jobs),
        layouts={kind: context.engines(kind).layout for kind in {cell.sandbox.kind for cell in cells}},
        workspaces=_ask(workspaces, context.git.resolve, context, jobs),
        files=_ask(paths, context.host_files.read, context, jobs),
    )


def _resolve_base(sandbox: Sandbox, context: Context) -> Base:
    return context.engines(sandbox.kind).resolve(sandbox, cancel=context.cancel)


def _contents(cell: Cell) -> Iterator[FileContent]:
    yield from cell.merged.files.values()
    if cell.merged.rules is not None:
        yield cell.merged.rules


def _ask(
    names: Iterable[Name], question: Callable[[Name], Result], context: Context, jobs: int
) -> dict[Name, Result | InfraError]:
    """The answer to each name, or why there is none; several at once."""
    answers: dict[Name, Result | InfraError] = {}
    with workers(jobs) as threads:
        pool: Workers[Name, Result] = Workers(threads)
        for name in dict.fromkeys(names):
            pool.begin(name, partial(question, name))
        try:
            while len(pool):
                for name, future in pool.finished():
                    try:
                        answers[name] = future.result()
                    except InfraError as error:
                        answers[name] = error
                    except OSError as error:
                        answers[name] = HostError(error)
        except BaseException:
            context.cancel.set()
            raise
    return answers
