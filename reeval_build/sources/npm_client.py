"""Runs npm: nobody's scripts, for a limited time, and with the configuration that its user gave it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.errors import CancelledError
from reeval_build.sources.archives import MalformedArchiveError
from reeval_build.sources.npm_errors import (
    NoNpmError,
    NoSuchPackageError,
    NoSuchVersionError,
    NpmFailureError,
    RegistryAwayError,
    RegistryRefusalError,
    WrongBytesError,
    package_label,
    without_credentials,
)
from reeval_build.sources.npm_integrity import of_shasum

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reeval_build.errors import InfraError
    from reeval_build.ports.engine import Cancellation

# A registry that is away is told of within seconds: by itself npm goes on for more than a minute.
_OPTIONS: Final = (
    "--json",
    "--loglevel=silent",
    "--logs-max=0",
    "--no-progress",
    "--no-update-notifier",
    "--ignore-scripts",
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=250",
    "--fetch-retry-maxtimeout=1000",
)

# Without it npm 9, when it packs, believes for minutes what it heard before.
_FRESH: Final = "--prefer-online"
_OFFERED: Final = ("name", "version", "dist.integrity", "dist.shasum")

_NO_SCRIPTS: Final = """\
const child_process = require("child_process");
const { spawn } = child_process;
child_process.spawn = (command, args, options) =>
  spawn(process.execPath, ["--eval", ""], { stdio: options && options.stdio });
"""

_SOURCE: Final = "./source"
_TICK_S: Final = 0.1
_MAX_SAID: Final = 300
_NO_VERSION: Final = "No match found for version"
_REFUSED: Final = {"E401", "E403", "ENEEDAUTH", "EOTP"}
_AWAY: Final = re.compile(
    r"E5[0-9][0-9]|E429|ECONN\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|E(HOST|NET)UNREACH|EPIPE|ENOTCACHED|FETCH_ERROR"
    r"|ERR_(SOCKET|SSL|TLS|INVALID_URL|STREAM)\w*|EPROTO|\w*CERT\w*|UNABLE_TO_\w+|EJSONPARSE|EIDLETIMEOUT|ERESPONSETIMEOUT"
)
_NO_ARCHIVE: Final = re.compile(r"(Z|TAR)_\w+")
_WRONG_BYTES: Final = re.compile(r"wanted (?P<expected>\S+) but got (?P<actual>\S+?)\.?(\s|$)")


@attrs.frozen(kw_only=True)
class Offer:
    """A version that a registry has, and what it says its archive is: subresource integrity, empty for nothing."""

    name: str
    version: str
    integrity: str


@attrs.frozen(kw_only=True)
class Packed:
    """A package that npm has put into one archive."""

    name: str
    version: str
    archive: Path


class NpmClient:
    """Runs npm.

    Args:
        project: where registry packages are asked for, so that a `.npmrc` of the project counts; None for nowhere,
            so that only that of the user does.
        timeout_s: for how long npm may run.
        cancel: ends an npm that runs when it is set.
    """

    def __init__(self, *, project: Path | None, timeout_s: float, cancel: Cancellation | None = None) -> None:
        self._project = project
        self._timeout_s = timeout_s
        self._cancel = cancel

    def offers(self, spec: str, package: str, scratch: Path, *, registry: str | None = None) -> tuple[Offer, ...]:
        """The versions that a registry has of `package` now: one for a version or a tag, several for a range.

        Args:
            spec: what messages call the package.
            package: a name with a version, a range or a tag.
            scratch: a directory for what npm needs.
            registry: the URL of the registry to ask, in place of the configured one.

        Raises:
            NpmPackageError: when there is none, or it cannot be asked for.
        """
        with _explained(spec):
            options = [_FRESH, *_at_registry(package, registry)]
            said = self._run(spec, ["view", *options, "--", package, *_OFFERED], at=self._project or _nowhere(scratch))
        offers = tuple(_offer(item) for item in (said if isinstance(said, list) else [said]))
        if not all(offers):
            raise NpmFailureError(spec, "nothing of its versions")
        return tuple(offer for offer in offers if offer is not None)

    def fetch(self, spec: str, package: str, scratch: Path, *, registry: str | None = None) -> Packed:
        """The archive that a registry has for `package` now, in `scratch`; the arguments are those of `offers`.

        Raises:
            NpmPackageError, MalformedArchiveError: when it cannot be had.
        """
        with _explained(spec):
            at = self._project or _nowhere(scratch)
            return self._pack(spec, package, scratch, at=at, options=_at_registry(package, registry))

    def pack(self, spec: str, directory: str, scratch: Path) -> Packed:
        """An archive of what npm takes for the package of `directory`, in `scratch`; no script is run.

        Raises:
            NpmPackageError: when it is not the directory of a package.
        """
        # By a name that means nothing in a URL, which some versions of npm make of it.
        link = scratch / _SOURCE
        link.symlink_to(directory)
        try:
            return self._pack(spec, _SOURCE, scratch, at=_nowhere(scratch), environment=_without_scripts(scratch))
        except _SaidError as error:
            raise NpmFailureError(spec, _shown(error.summary.replace(f"{scratch}/", ""))) from None
        finally:
            link.unlink()

    def _pack(
        self,
        spec: str,
        package: str,
        scratch: Path,
        *,
        at: Path,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> Packed:
        archives = scratch / "archives"
        archives.mkdir()
        # --dry-run may be in the environment, where npm runs what runs us.
        options = [_FRESH, "--dry-run=false", f"--pack-destination={archives}", *options]
        said = self._run(spec, ["pack", *options, "--", package], at=at, environment=environment)
        match list(said.values()) if isinstance(said, dict) else said, [*archives.iterdir()]:
            case [{"name": str(name), "version": str(version)}], [archive]:
                return Packed(name=name, version=version, archive=archive)
            case _:
                raise NpmFailureError(spec, "nothing of what it packed")

    def _run(
        self, spec: str, arguments: Sequence[str], *, at: Path, environment: Mapping[str, str] | None = None
    ) -> object:
        """What npm answers. Raises _SaidError for its errors, and NpmPackageError when it does not answer."""
        program = shutil.which("npm")
        if program is None:
            raise NoNpmError(spec, "is not installed")
        try:
            process = subprocess.Popen(
                [program, arguments[0], *_OPTIONS, *arguments[1:]],
                cwd=at,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise NoNpmError(spec, f"cannot be started: {error}") from error
        with process:
            said, complaint = self._communicate(spec, process)
        try:
            answer = json.loads(said)
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            raise _SaidError(str(answer["error"].get("code")), str(answer["error"].get("summary")))
        if process.returncode != 0 or answer is None:
            told = _shown((complaint or said).decode("utf-8", "replace"))
            raise NoNpmError(spec, f"does not run: {told or f'it ended with status {process.returncode}'}")
        return answer

    def _communicate(self, spec: str, process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        ends = time.monotonic() + self._timeout_s
        try:
            while True:
                if self._cancel is not None and self._cancel.is_set():
                    raise CancelledError
                with suppress(subprocess.TimeoutExpired):
                    return process.communicate(timeout=_TICK_S)
                if time.monotonic() >= ends:
                    raise RegistryAwayError(spec, f"npm was not done after {self._timeout_s:g} s")
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


class _SaidError(Exception):
    """npm answered with an error."""

    def __init__(self, code: str, summary: str) -> None:
        super().__init__(code, summary)
        self.code, self.summary = code, summary


def _at_registry(package: str, registry: str | None) -> list[str]:
    """Options that ask `registry`, also for a scope that has one of its own in the configuration."""
    if registry is None:
        return []
    scope = package.partition("/")[0]
    return [f"--registry={registry}", *([f"--{scope}:registry={registry}"] if scope.startswith("@") else [])]


def _nowhere(scratch: Path) -> Path:
    """A directory without a project: npm looks for one upwards, and finds this."""
    (scratch / "package.json").write_text("{}")
    return scratch


def _without_scripts(scratch: Path) -> dict[str, str]:
    """An environment in which what npm wants to run does nothing.

    npm 9 and 10 run the `prepare` script of a directory in spite of --ignore-scripts.
    """
    preloaded = scratch / "no-scripts.cjs"
    preloaded.write_text(_NO_SCRIPTS)
    quoted = str(preloaded).replace("\\", "\\\\").replace('"', '\\"')
    others = os.environ.get("NODE_OPTIONS", "")
    return {**os.environ, "NODE_OPTIONS": f'{others} --require="{quoted}"'.strip()}


@contextmanager
def _explained(spec: str) -> Iterator[None]:
    """Say what an error of npm means that is about a registry."""
    try:
        yield
    except _SaidError as error:
        raise _explain(spec, error.code, error.summary) from None


def _explain(spec: str, code: str, summary: str) -> InfraError:
    if code == "ETARGET" or (code == "E404" and summary.startswith(_NO_VERSION)):
        return NoSuchVersionError(spec)
    if code == "E404":
        return NoSuchPackageError(spec)
    if code == "EINTEGRITY" and (found := _WRONG_BYTES.search(summary)):
        return WrongBytesError(spec, expected=found["expected"], actual=found["actual"], says="its registry says")
    if _NO_ARCHIVE.fullmatch(code):
        return MalformedArchiveError(package_label(spec), f"cannot be read: {_shown(summary)}")
    if code in _REFUSED:
        return RegistryRefusalError(spec, _shown(summary))
    if _AWAY.fullmatch(code):
        return RegistryAwayError(spec, _shown(summary))
    return NpmFailureError(spec, _shown(summary))


def _offer(said: object) -> Offer | None:
    match said:
        case {"name": str(name), "version": str(version), **rest}:
            claimed = rest.get("dist.integrity") or of_shasum(str(rest.get("dist.shasum", "")))
            return Offer(name=name, version=version, integrity=str(claimed))
        case _:
            return None


def _shown(text: str) -> str:
    line = next(iter(without_credentials(text).strip().splitlines()), "")
    return line if len(line) <= _MAX_SAID else f"{line[:_MAX_SAID]}..."
