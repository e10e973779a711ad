"""`docker`, `podman` and `fake_sandbox`: where an environment runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Unpack

from reeval_build.model.durations import seconds
from reeval_build.model.options import (
    above_zero,
    count,
    duration,
    flag,
    host_path,
    is_list,
    is_said,
    many,
    one_of,
    size,
    size_or_none,
    text,
)
from reeval_build.model.reading import Mistake, Option, Refused, Shape, make
from reeval_build.model.shown import got
from reeval_build.model.spec import DockerSandbox, FakeSandbox, InstallStep

if TYPE_CHECKING:
    from reeval_build.model.site import Site
    from reeval_build.model.written import DockerOptions

_CAPABILITY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def docker(**options: Unpack[DockerOptions]) -> DockerSandbox:
    """A container sandbox.

    Args:
        from_: the image, such as `node:24-bookworm` (the default).
        image: another spelling of `from_`.
        dockerfile: a Dockerfile to build the image from instead, relative to the calling file.
        install: shell commands baked into the image, in order: as root, in `/`, without secrets or env. A step is a
            string, or a mapping with `run` and `timeout` (seconds, a timedelta, or text such as `"10m"`).
        engine: `docker` (the default) or `podman`.
        root: whether everything in a sandbox runs as root.
        capabilities: Linux capabilities that a sandbox has besides the engine's default ones.
        cpus: how many processors a sandbox may use.
        memory: how much memory it may use: bytes, or text such as `"4g"`.
        swap: how much swap space it may use besides, in the same way; the default is as much again, and 0 is none.
        pids: how many processes it may have at once.
        id: how cells name this sandbox.
        max_concurrent: how many attempts may run at once on this kind of sandbox.
        start_timeout: how long a sandbox may take to start. reeval-python has it, reeval does not: it is ignored, and
            a plan warns of it.

    What `cpus`, `memory`, `swap`, `pids` and `capabilities` say counts for setup steps and for `run`. Install steps
    run without: what they leave belongs to everyone who has the image. None of it enters a key.

    Raises:
        DefinitionError: with every option that is not as above, for an image beside a Dockerfile, and for swap
            without memory.
    """
    return _container(options)


def podman(**options: Unpack[DockerOptions]) -> DockerSandbox:
    """A container sandbox like `docker`, on Podman."""
    return _container({"engine": "podman", **options})


def _container(options: Mapping[str, object]) -> DockerSandbox:
    # An `install` of None is a mistake; the others are None when they are not given.
    given = {
        "from" if name == "from_" else name: value
        for name, value in options.items()
        if value is not None or name == "install"
    }
    return make(DOCKER, given)


def fake_sandbox(*, dir: str | None = None, id: str | None = None, max_concurrent: int | None = None) -> FakeSandbox:  # noqa: A002 - reeval's names
    """A directory on the host instead of a container: needs no engine, isolates nothing.

    Args:
        dir: the directory in which it is made, relative to the calling file. That is made when it is not there. The
            default is a place in the store.
        id: how cells name this sandbox.
        max_concurrent: how many attempts may run at once on this kind of sandbox.

    Raises:
        DefinitionError: with every option that is not as above.
    """
    return make(FAKE, {}, {"dir": dir, "id": id, "maxConcurrent": max_concurrent})


def _image(value: object, _site: Site) -> str:
    if not is_said(value):
        raise Refused(f"must name an image {got(value)}")
    return value


def _capability(value: object, _site: Site) -> str:
    if not isinstance(value, str) or not _CAPABILITY.fullmatch(value):
        raise Refused(f"must be a capability such as NET_ADMIN {got(value)}")
    return value


def _install(value: object, site: Site) -> tuple[InstallStep, ...]:
    if not is_list(value):
        raise Refused(f"must be a list {got(value)}")
    found = [_install_step(at, step, site) for at, step in enumerate(value)]
    if mistakes := [step for step in found if isinstance(step, Mistake)]:
        raise Refused(*mistakes)
    return tuple(step for step in found if isinstance(step, InstallStep))


def _install_step(at: int, step: object, site: Site) -> InstallStep | Mistake:
    if isinstance(step, InstallStep):
        return step
    fields = {"run": step} if isinstance(step, str) else step
    run = fields.get("run") if isinstance(fields, Mapping) else None
    if not isinstance(fields, Mapping) or fields.keys() - {"run", "timeout"} or not is_said(run):
        return Mistake(f"must be a command string or {{ run, timeout? }} {got(step)}", f"[{at}]")
    if "timeout" not in fields:
        return InstallStep(run=run)
    timeout_s = seconds(fields["timeout"], number_s=site.number_s)
    if timeout_s is None:
        return Mistake(f'has a bad timeout; use seconds or text such as "10m" {got(step)}', f"[{at}]")
    return InstallStep(run=run, timeout_s=timeout_s)


def _build_docker(*, image: str | None = None, from_: str | None = None, **options: object) -> DockerSandbox:
    if from_ is not None and image is not None:
        raise Refused(Mistake("takes from_ or image, not both: they are two names of one thing", about="thing"))
    image = image if from_ is None else from_
    if image is not None and "dockerfile" in options:
        raise Refused(Mistake("takes an image or a dockerfile, not both", about="thing"))
    if "swap" in options and "memory" not in options:
        raise Refused(Mistake("takes swap only with memory: an engine limits them together", about="thing"))
    return DockerSandbox(image=image, **options)  # type: ignore[arg-type] # they were read by name


DOCKER: Final = Shape(
    called="docker()",
    options={
        "from": Option("from_", _image),
        "image": Option("image", _image, called="from_"),
        "dockerfile": Option("dockerfile", host_path),
        "install": Option("install", _install),
        "engine": Option("engine", one_of("docker", "podman")),
        "root": Option("root", flag),
        "capabilities": Option("capabilities", many(_capability, "capabilities")),
        "cpus": Option("cpus", above_zero),
        "memory": Option("memory", size),
        "swap": Option("swap", size_or_none),
        "pids": Option("pids", count),
        "id": Option("id", text),
        "maxConcurrent": Option("max_concurrent", count),
        "startTimeout": Option("start_timeout_s", duration("30s"), called="start_timeout"),
    },
    build=_build_docker,
    instead=DockerSandbox(),
)

FAKE: Final = Shape(
    called="fake_sandbox()",
    options={
        "dir": Option("dir", host_path),
        "id": Option("id", text),
        "maxConcurrent": Option("max_concurrent", count),
    },
    build=FakeSandbox,
    instead=FakeSandbox(),
)
