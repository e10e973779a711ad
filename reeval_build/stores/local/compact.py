"""Writes packs anew without what is not needed any more."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import attrs

from reeval_build.stores.local.batch import make_durable, sync_directory
from reeval_build.stores.local.database import StoreAccessError
from reeval_build.stores.local.objects import read_packed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reeval_build.stores.local.store import LocalStore

_LEAST_LIVE: Final = 0.5
_PACK_BYTES: Final = 64 * 1024 * 1024
_LEAST_PACK_BYTES: Final = 1024 * 1024


@attrs.frozen
class _Pack:
    """A pack: how many bytes its file has, and how many of them are of objects that can still be found."""

    number: int
    name: str
    bytes: int
    live_bytes: int


def compact(store: LocalStore, *, budget_bytes: int | None) -> int:
    """Write anew the packs of which less than half is needed, and more of them while all is over the budget.

    Readers find an object where it was or where it is: whoever has the old pack open goes on with it.

    Returns:
        How many bytes less the files have now.
    """
    freed = 0
    # Under a budget, what is written anew must not need much room itself before the old packs go.
    most = _PACK_BYTES if budget_bytes is None else max(_LEAST_PACK_BYTES, min(_PACK_BYTES, budget_bytes // 16))
    for some in _together(_worth_it(store, budget_bytes), most=most):
        freed += _rewrite(store, some)
    return freed


def _worth_it(store: LocalStore, budget_bytes: int | None) -> Iterator[_Pack]:
    packs = _packs(store)
    with store.database.errors():
        connection = store.database.connection
        (large,) = connection.execute("SELECT total(size) FROM objects WHERE pack IS NULL").fetchone()
    total = int(large) + sum(pack.bytes for pack in packs)
    wasteful = [pack for pack in packs if pack.live_bytes < pack.bytes]
    for pack in sorted(wasteful, key=lambda pack: pack.live_bytes / pack.bytes):
        if pack.live_bytes < pack.bytes * _LEAST_LIVE or (budget_bytes is not None and total > budget_bytes):
            total -= pack.bytes - pack.live_bytes
            yield pack


def _packs(store: LocalStore) -> list[_Pack]:
    with store.database.errors():
        rows = store.database.connection.execute(
            "SELECT packs.id, packs.name, sum(objects.size) FROM packs JOIN objects ON objects.pack = packs.id"
            " GROUP BY packs.id"
        ).fetchall()
    found = []
    for number, name, live in rows:
        # Whoever needs what was in a pack that is gone finds that out.
        with suppress(FileNotFoundError):
            found.append(_Pack(number, name, (store.root / "packs" / name).stat().st_size, live))
    return found


def _together(packs: Iterable[_Pack], *, most: int) -> Iterator[list[_Pack]]:
    """Packs in groups that make one pack each."""
    group: list[_Pack] = []
    for pack in packs:
        group.append(pack)
        if sum(one.live_bytes for one in group) > most:
            yield group
            group = []
    if group:
        yield group


def _rewrite(store: LocalStore, packs: Sequence[_Pack]) -> int:
    directory, name = store.root / "packs", f"{secrets.token_hex(16)}.pack"
    temporary = store.scratch / name
    try:
        moved: list[tuple[int, bytes, int, int]] = []
        with temporary.open("xb") as target:
            for pack in packs:
                moved += _copy(store, pack, target)
            make_durable(target)
            written = target.tell()
        temporary.rename(directory / name)
        sync_directory(directory)
        _point_to(store, name, moved, packs)
    except OSError as error:
        raise StoreAccessError(store.root, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return _remove_unnamed(store, packs) - written


def _copy(store: LocalStore, pack: _Pack, target: Any) -> Iterator[tuple[int, bytes, int, int]]:  # noqa: ANN401 - a file
    """Append what is needed of a pack; where each object is now, its digest, and where it was."""
    with store.database.errors():
        rows = store.database.connection.execute(
            "SELECT digest, offset, size FROM objects WHERE pack = ? ORDER BY offset", (pack.number,)
        ).fetchall()
    descriptor = os.open(store.root / "packs" / pack.name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for digest, offset, size in rows:
            data = read_packed(descriptor, size, offset)
            # What was cut off stays where it is, to be found lost.
            if data is not None and len(data) == size:
                yield target.tell(), digest, pack.number, offset
                target.write(data)
    finally:
        os.close(descriptor)


def _point_to(
    store: LocalStore, name: str, moved: Iterable[tuple[int, bytes, int, int]], packs: Iterable[_Pack]
) -> None:
    with store.database.writing() as connection:
        number = connection.execute("INSERT INTO packs (name) VALUES (?)", (name,)).lastrowid
        connection.executemany(
            "UPDATE objects SET pack = ?, offset = ? WHERE digest = ? AND pack = ? AND offset = ?",
            ((number, *one) for one in moved),
        )
        connection.executemany(
            "DELETE FROM packs WHERE id = ? AND id NOT IN (SELECT pack FROM objects WHERE pack IS NOT NULL)",
            ((pack.number,) for pack in packs),
        )


def _remove_unnamed(store: LocalStore, packs: Iterable[_Pack]) -> int:
    with store.database.errors():
        named = {row[0] for row in store.database.connection.execute("SELECT name FROM packs")}
    freed = 0
    for pack in packs:
        if pack.name not in named:
            with suppress(OSError):
                (store.root / "packs" / pack.name).unlink()
                freed += pack.bytes
    return freed
