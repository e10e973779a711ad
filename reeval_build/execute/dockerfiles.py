"""Finds out what Dockerfiles are built from, and builds them."""

from __future__ import annotations

import os.path
import platform as host
import stat
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.content.docker_ignore import BadPatternError, DockerIgnore
from reeval_build.content.dockerfile import SCRATCH, Dockerfile, ImageUse, read_dockerfile
from reeval_build.content.dockerfile_lines import DockerfileError
from reeval_build.digest import BLOB
from reeval_build.errors import InfraError, PlanError
from reeval_build.execute import trees
from reeval_build.execute.failures import DockerfileFailedError, DockerfileTimeoutError
from reeval_build.model.platforms import is_same_platform
from reeval_build.model.spec import DockerSandbox
from reeval_build.plan.dockerfiles import FromImage, ResolvedDockerfile, called
from reeval_build.plan.locks import LOCK_NAME
from reeval_build.plan.outputs import StateOutput
from reeval_build.plan.resolution import BaseName
from reeval_build.ports.builds import BuildFailedError, ImageRecipe
from reeval_build.ports.engine import CommandTimeoutError
from reeval_build.ports.objects import LostObjectError
from reeval_build.state.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reeval_build.digest import Digest
    from reeval_build.execute.context import Context
    from reeval_build.execute.questions import Questions
    from reeval_build.plan.dockerfiles import DockerfileWork
    from reeval_build.plan.locks import Terms
    from reeval_build.plan.resolution import Base
    from reeval_build.ports.builds import BuiltImage

# reeval's documentation names no limit for the build of an image. This one is for what hangs.
DOCKERFILE_TIMEOUT_S: Final = 3600.0

_MOST_BYTES: Final = 4 * 1024 * 1024
# A build locks what it finds, and must not change what it builds from by that. What is locked is in the key anyway.
_NEVER_SENT: Final = f"\n**/{LOCK_NAME}\n".encode()
_TAIL_LINES: Final = 12
_TAIL_BYTES: Final = 8 * 1024
_PLATFORM_WORDS: Final = (b"TARGET", b"BUILD")


class BadDockerfileError(InfraError):
    """A Dockerfile, or what says which files it is sent, cannot be used."""

    def __init__(self, path: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f'"{path}" cannot be built: {reason}', hint=hint)
        self.path, self.reason = path, reason


def resolve_dockerfiles(
    paths: Iterable[str], context: Context, ask: Questions
) -> Mapping[str, ResolvedDockerfile | PlanError | InfraError]:
    """What each Dockerfile is built from now, its images as they are locked; or why that cannot be had.

    A `PlanError` is of an image that may not be what it would be.
    """

    def resolve_one(path: str) -> ResolvedDockerfile | PlanError:
        try:
            return _resolve(path, context)
        except PlanError as error:
            return error

    return ask(paths, resolve_one)


def images_of_dockerfiles(paths: Iterable[str], *, platform: str | None) -> frozenset[str]:
    """The images that Dockerfiles name, by what is in them now. Raises InfraError for one that cannot be read."""
    found = set()
    for path in dict.fromkeys(paths):
        data = _bytes_now(path)
        here = f"linux/{_ARCHITECTURES.get(host.machine().lower(), host.machine().lower())}"
        dockerfile = _read(path, data, _variables(here, platform or here))
        found |= {use.name for use in dockerfile.images if use.name != SCRATCH}
    return frozenset(found)


def _bytes_now(path: str) -> bytes:
    try:
        status = Path(path).stat()
        # A pipe that nobody writes to would hold us for ever.
        if not stat.S_ISREG(status.st_mode):
            raise BadDockerfileError(path, "it is not a regular file")
        _check_size(path, status.st_size)
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise BadDockerfileError(path, (getattr(error, "strerror", None) or str(error)).lower()) from error


def _check_size(path: str, size: int) -> None:
    if size > _MOST_BYTES:
        raise BadDockerfileError(path, f"it has {size:,} bytes, more than the {_MOST_BYTES:,} that are read")


_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def _resolve(path: str, context: Context) -> ResolvedDockerfile:
    engine = context.engines("docker")
    data, digest = _host_file(path, context)
    variables: Mapping[str, str] = {}
    if any(word in data for word in _PLATFORM_WORDS):
        own = engine.scratch(None).platform
        variables = _variables(own, context.locks.platform or own)
    dockerfile = _read(path, data, variables)
    selection = _selection(path, context)
    images: dict[ImageUse, FromImage] = {}
    warnings: list[str] = []
    for use in dockerfile.images:
        base = _base(use, context)
        warnings += base.warnings
        images[use] = FromImage(
            name=use.name,
            named_platform=use.platform,
            content=base.identity,
            platform=base.platform,
            locked=base.locked,
        )
    with context.objects.batch() as batch:
        found = context.local_trees.identify(_directory(path), batch, selection=selection)
    return ResolvedDockerfile(
        path=path,
        dockerfile=digest,
        context=found.tree,
        images=tuple(sorted(images.values(), key=lambda one: (one.name, one.named_platform or ""))),
        base=images[dockerfile.final],
        selection=selection,
        warnings=tuple(warnings),
    )


def _base(use: ImageUse, context: Context) -> Base:
    engine, locks = context.engines("docker"), context.locks
    if use.name == SCRATCH:
        return engine.scratch(use.platform or locks.platform)
    terms: Terms = locks.terms(use.name)
    if use.platform is not None:
        terms = attrs.evolve(terms, platform=use.platform)
    base = engine.resolve(DockerSandbox(image=use.name), terms=terms, cancel=context.cancel)
    locks.note({BaseName(use.name): base})
    return base


def _host_file(path: str, context: Context) -> tuple[bytes, Digest]:
    try:
        found = context.host_files.read(path)
    except InfraError as error:
        raise BadDockerfileError(path, error.message.replace(f'file("{path}")', "it"), hint=error.hint) from error
    _check_size(path, found.size)
    return context.objects.read(BLOB, found.digest), found.digest


def _selection(path: str, context: Context) -> DockerIgnore:
    """What is sent of the directory that a Dockerfile is in: by the file of its name, else that of the directory."""
    for ignore in (f"{path}.dockerignore", f"{_directory(path)}/.dockerignore"):
        if os.path.lexists(ignore):
            data, _digest = _host_file(ignore, context)
            try:
                return DockerIgnore(data + _NEVER_SENT)
            except BadPatternError as error:
                raise BadDockerfileError(ignore, str(error)) from error
    return DockerIgnore(_NEVER_SENT)


def _read(path: str, data: bytes, variables: Mapping[str, str]) -> Dockerfile:
    try:
        return read_dockerfile(data, variables)
    except DockerfileError as error:
        raise BadDockerfileError(path, str(error)) from error


def _variables(build: str, target: str) -> dict[str, str]:
    """What builders say of platforms."""
    found: dict[str, str] = {}
    for prefix, platform in (("BUILD", build), ("TARGET", target)):
        system, architecture, variant = (*platform.split("/"), "", "")[:3]
        found |= {
            f"{prefix}PLATFORM": platform,
            f"{prefix}OS": system,
            f"{prefix}ARCH": architecture,
            f"{prefix}VARIANT": variant,
        }
    return found


def build_dockerfile(work: DockerfileWork, context: Context, log: Path) -> StateOutput:
    """Build an image, and keep what it has on the one that it is built from.

    Raises:
        DockerfileFailedError: when it cannot be built.
        CancelledError: when the run is told to stop.
        InfraError: when something was changed since the plan was made, or the engine fails.
    """
    source, engine = work.source, context.engines(work.engine)
    _keep_context(work, context)
    data = _kept_dockerfile(work, context)
    own = engine.scratch(None).platform
    dockerfile = _read(source.path, data, _variables(own, context.locks.platform or own))
    recipe = ImageRecipe(
        dockerfile=dockerfile,
        context=work.context,
        images={ImageUse(name=one.name, platform=one.named_platform): one for one in work.images},
        platform=None if is_same_platform(work.platform, own) else work.platform,
    )
    with log.open("wb") as output:
        try:
            with engine.built(recipe, output=output, timeout_s=DOCKERFILE_TIMEOUT_S, cancel=context.cancel) as image:
                return StateOutput(state=_kept(image, context))
        except BuildFailedError as error:
            output.flush()
            raise DockerfileFailedError(called(source.path), error.reason, _tail(log), log=log) from error
        except CommandTimeoutError as error:
            raise DockerfileTimeoutError(called(source.path), error.timeout_s, log=log) from error


def _kept(image: BuiltImage, context: Context) -> State:
    with context.objects.batch() as batch:
        # A layer of nothing is of what only says how an image is run.
        deltas = tuple(trees.save_delta(batch, entries) for entries in image.read(batch) if entries)
    return State(image.base, deltas, image.env)


def _directory(path: str) -> str:
    """The context of a Dockerfile: the directory it is in, by its absolute path."""
    return path.rpartition("/")[0] or "/"


def _keep_context(work: DockerfileWork, context: Context) -> None:
    source = work.source
    with context.objects.batch() as batch:
        tree = context.local_trees.read(_directory(source.path), batch, selection=source.selection)
    if tree != work.context:
        directory = _directory(source.path)
        raise InfraError(f'directory "{directory}" was changed while the build ran', hint="build again")


def _kept_dockerfile(work: DockerfileWork, context: Context) -> bytes:
    try:
        return context.objects.read(BLOB, work.dockerfile)
    except LostObjectError:
        data, digest = _host_file(work.source.path, context)
        if digest != work.dockerfile:
            raise InfraError(f'"{work.source.path}" was changed while the build ran', hint="build again") from None
        return data


def _tail(log: Path) -> tuple[str, ...]:
    """The last lines of a log that say something."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        text = stream.read().decode("utf-8", "replace")
    lines = (line.rstrip() for line in text.splitlines())
    return tuple(deque((line for line in lines if line.strip("- ")), _TAIL_LINES))
