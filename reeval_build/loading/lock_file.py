"""The file `reeval-build.lock` of a project: what the images of its definitions, and its harnesses, are."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Final

from reeval_build.digest import Digest
from reeval_build.errors import PlanError
from reeval_build.model.harness_recipes import is_integrity, is_version, is_version_or_tag, is_word
from reeval_build.model.image_names import is_digest, read_image_name
from reeval_build.model.platforms import is_platform
from reeval_build.plan.locks import LOCK_NAME, LockedHarness, LockedImage, Locks

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FORMAT: Final = 1
_PROJECT: Final = "pyproject.toml"
_IMAGES: Final = "images"
_HARNESSES: Final = "harnesses"
_OF_HARNESS: Final = ("package", "requested", "version", "integrity")
_RESTORE: Final = "restore it, or remove it to lock everything anew"
_CONFLICT: Final = re.compile(rb"^(?:<{7}|={7}|>{7}|\|{7})(?: |\r?$)", re.MULTILINE)


class LockFileError(PlanError):
    """A lock file that cannot be used; it is left as it is."""

    def __init__(self, path: Path, problem: str, *, hint: str | None = None) -> None:
        super().__init__(f"{path}: {problem}", hint=hint)
        self.path, self.problem = path, problem


def lock_path(directory: Path) -> Path:
    """Where the lock file is for who works in `directory`.

    It is beside the nearest pyproject.toml in that directory or above it, or where there is one already, if that is
    nearer; where there is neither, it is in that directory.
    """
    above = (directory, *directory.parents)
    nearest = next((one for one in above if (one / _PROJECT).is_file() or (one / LOCK_NAME).exists()), directory)
    return nearest / LOCK_NAME


def read_locks(path: Path) -> Locks:
    """What is written there; nothing where there is no file.

    Raises:
        LockFileError: when it cannot be read, or says something that this version does not understand.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Locks()
    except OSError as error:
        raise LockFileError(path, f"it cannot be read: {os.strerror(error.errno or 0).lower()}") from error
    if conflict := _CONFLICT.search(data):
        line = data.count(b"\n", 0, conflict.start()) + 1
        raise LockFileError(
            path,
            f"it has the marks of a merge conflict in line {line}",
            hint="take one side (`git checkout --theirs`), then build, which adds what it lacks",
        )
    try:
        value = json.loads(data, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        raise LockFileError(path, f"it is not as it was written: {error}", hint=_RESTORE) from error
    return _Reading(path).locks(value)


def lock_text(locks: Locks) -> str:
    """What is in a lock file: equal for equal locks, and one line different for one thing that is."""
    images = {
        name: {platform: _written(locked) for platform, locked in platforms.items()}
        for name, platforms in locks.images.items()
        if platforms
    }
    value = {"format": FORMAT, **{key: locks.others[key] for key in locks.others}, _IMAGES: images}
    if locks.harnesses:
        value[_HARNESSES] = {
            kind: {field: getattr(one, field) for field in _OF_HARNESS} for kind, one in locks.harnesses.items()
        }
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _written(locked: LockedImage) -> dict[str, str]:
    fields = {"content": locked.content.hex, "digest": locked.digest, "image": locked.image}
    return {name: value for name, value in fields.items() if value is not None}


_IS_RIGHT: Final = {"requested": is_version_or_tag, "version": is_version, "integrity": is_integrity}


class _Reading:
    def __init__(self, path: Path) -> None:
        self._path = path

    def locks(self, value: object) -> Locks:
        found = self._mapping(value, "it")
        number = found.get("format")
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise self._wrong(f"its format is {number!r}, which is not a whole number above zero")
        if number > FORMAT:
            raise self._wrong(
                f"it is of format {number}, and this version knows up to {FORMAT}", hint="use a newer reeval-build"
            )
        images = self._mapping(found.get(_IMAGES, {}), _IMAGES)
        harnesses = self._mapping(found.get(_HARNESSES, {}), _HARNESSES)
        for kind in harnesses:
            if not is_word(kind):
                raise self._wrong(f"{kind!r} is no kind of a harness")
        return Locks(
            images={name: self._image(name, platforms) for name, platforms in images.items()},
            harnesses={kind: self._harness(f"harness {kind!r}", entry) for kind, entry in harnesses.items()},
            others={key: value for key, value in found.items() if key not in ("format", _IMAGES, _HARNESSES)},
        )

    def _harness(self, about: str, value: object) -> LockedHarness:
        entry = self._mapping(value, about)
        if entry.keys() != set(_OF_HARNESS):
            raise self._wrong(f"{about} must have {', '.join(_OF_HARNESS)} and nothing else")
        for field in _OF_HARNESS:
            is_right = _IS_RIGHT.get(field, bool)
            if not isinstance(entry[field], str) or not is_right(entry[field]):
                raise self._wrong(f"the {field} of {about} is {entry[field]!r}")
        return LockedHarness(**entry)

    def _image(self, name: str, value: object) -> dict[str, LockedImage]:
        read = read_image_name(name)
        if read is None or str(read) != name:
            raise self._wrong(f"{name!r} is not how the name of an image is written here")
        platforms = self._mapping(value, name)
        for platform in platforms:
            if not is_platform(platform):
                raise self._wrong(f"{platform!r} of {name} is no platform")
        return {platform: self._locked(f"{name} for {platform}", entry) for platform, entry in platforms.items()}

    def _locked(self, about: str, value: object) -> LockedImage:
        entry = self._mapping(value, about)
        sources = {key: entry[key] for key in ("digest", "image") if key in entry}
        if entry.keys() - {"content", *sources} or len(sources) != 1:
            raise self._wrong(f"{about} must have content, and one of digest and image")
        for key, digest in sources.items():
            if not isinstance(digest, str) or not is_digest(digest):
                raise self._wrong(f"the {key} of {about} is not sha256: and 64 hexadecimal digits")
        try:
            content = Digest.parse(entry["content"])
        except (LookupError, TypeError, ValueError) as error:
            raise self._wrong(f"the content of {about} is not 64 hexadecimal digits") from error
        return LockedImage(content=content, **sources)

    def _mapping(self, value: object, about: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(f"{about} is not an object")
        return value

    def _wrong(self, problem: str, *, hint: str | None = None) -> LockFileError:
        return LockFileError(self._path, problem, hint=hint or _RESTORE)


def _without_doubles(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object, in which no key may be twice: a merge that looked right makes those."""
    value: dict[str, Any] = {}
    for key, one in pairs:
        if key in value:
            raise ValueError(f"it has {key!r} twice")
        value[key] = one
    return value
