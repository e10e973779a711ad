"""What `lock` says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build.plan.harness_check import HarnessChange
from reeval_build.plan.lock_check import LockChange
from reeval_build.plan.locks import LOCK_NAME, LockedHarness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reeval_build.plan.lock_check import LockCheck
    from reeval_build.plan.locks import LockedImage

_SHORT: Final = len("sha256:") + 12


def check_text(check: LockCheck) -> str:
    """What is wrong, one thing a line."""
    return "\n".join(_check_lines(check))


def check_json(check: LockCheck) -> str:
    """The same for programs."""
    value = {
        "current": check.is_current,
        "missing": check.missing,
        "unused": check.unused,
        "unfetchable": [{"name": name, "platform": platform} for name, platform in check.unfetchable],
        "moved": None if check.moved is None else [attrs.asdict(one) for one in check.moved],
        "harnesses": attrs.asdict(check.harnesses),
    }
    return json.dumps(value, indent=2)


def _check_lines(check: LockCheck) -> Iterator[str]:
    yield from (f"{name} is not locked" for name in check.missing)
    yield from (f"{name} is locked, and nothing names it" for name in check.unused)
    yield from (
        f"{name} {platform} is locked as an engine had it, so no other machine can fetch it"
        for name, platform in check.unfetchable
    )
    yield from (f"harness {kind} is not locked" for kind in check.harnesses.missing)
    yield from (f"harness {kind} is locked, and nothing asks for it" for kind in check.harnesses.unused)
    for one in check.moved or ():
        now, locked = one.now[:_SHORT], one.locked[:_SHORT]
        yield f"{one.name} {one.platform} is {now} in its registry now, and locked as {locked}"
    for harness in check.harnesses.moved or ():
        before, after = harness.locked.version, harness.now.version
        is_same = "has other bytes of" if before == after else "is"
        yield f"harness {harness.kind} {is_same} {after} in its registry now, and locked as {before}"
    yield (
        f"{LOCK_NAME} is up to date"
        if check.is_current
        else f"{LOCK_NAME} is not up to date: `reeval-build lock update`"
    )


def changes_text(changes: Iterable[LockChange | HarnessChange]) -> str:
    """What is locked now, one image or harness a line."""
    return "\n".join(map(_change_line, changes)) or "there is nothing to lock"


def changes_json(changes: Iterable[LockChange | HarnessChange]) -> str:
    """The same for programs."""
    changes = tuple(changes)
    images = [
        {"name": one.name, "platform": one.platform, "before": _fields(one.before), "after": _fields(one.after)}
        for one in changes
        if isinstance(one, LockChange)
    ]
    harnesses = [attrs.asdict(one) for one in changes if isinstance(one, HarnessChange)]
    return json.dumps({"images": images, "harnesses": harnesses}, indent=2)


def _change_line(change: LockChange | HarnessChange) -> str:
    about = f"{change.name} {change.platform}" if isinstance(change, LockChange) else f"harness {change.kind}"
    match change.before, change.after:
        case before, None:
            return f"{about}  removed, was {_called(before)}"
        case None, after:
            return f"{about}  {_called(after)}"
        case before, after if before == after:
            return f"{about}  {_called(after)}, unchanged"
        case before, after:
            return f"{about}  {_called(after)}, was {_called(before)}"


def _called(locked: LockedImage | LockedHarness | None) -> str:
    assert locked is not None, "one of the two is there"
    if isinstance(locked, LockedHarness):
        return f"{locked.package}@{locked.version}"
    if locked.digest is not None:
        return locked.digest[:_SHORT]
    assert locked.image is not None, "an image is locked by one of the two"
    return f"{locked.image[:_SHORT]} (only in this engine)"


def _fields(locked: LockedImage | None) -> dict[str, Any] | None:
    if locked is None:
        return None
    return {"content": locked.content.hex, "digest": locked.digest, "image": locked.image}
