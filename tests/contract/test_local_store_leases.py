"""What processes that use a store hold of it."""

from __future__ import annotations

import resource
import shutil
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from reeval_build.digest import BLOB, TREE
from reeval_build.stores.local import LocalStore
from reeval_build.stores.local.collect import collect
from reeval_build.stores.local.database import FORMAT
from reeval_build.stores.local.limits import Limits
from reeval_build.tree.directory import Entry, encode
from tests.contract.test_local_store_processes import go, process, said
from tests.support.index import opened_index
from tests.support.local_store import LARGE, SMALL, keep, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def held(store: LocalStore, kind: str) -> set[bytes]:
    return {
        digest for lease in store.leases.all() for name, some in lease.held.items() if name == kind for digest in some
    }


def publish(store: LocalStore, name: bytes) -> None:
    store.records.publish(record(name), recipe=BLOB.digest(b"recipe of " + name))


def test_records_that_were_published_or_found_are_leased_and_no_others(root):
    with LocalStore(root) as before:
        for name in (b"by recipe", b"by key", b"neither"):
            publish(before, name)

    with LocalStore(root) as store:
        store.records.by_recipe([BLOB.digest(b"recipe of by recipe"), BLOB.digest(b"absent")])
        store.records.find(BLOB.digest(b"by key"))
        store.records.find(BLOB.digest(b"absent"))
        publish(store, b"new")

        assert held(store, "record") == {BLOB.digest(name).raw for name in (b"by recipe", b"by key", b"new")}


def test_objects_that_were_kept_or_were_there_already_are_leased(root):
    with LocalStore(root) as before:
        keep(before, SMALL, b"not asked for")

    with LocalStore(root) as store, store.objects.batch() as batch:
        small, large, tree = batch.add(BLOB, SMALL), batch.add(BLOB, LARGE), batch.add(TREE, b"a directory")

    with LocalStore(root) as store:
        with store.objects.batch() as batch:
            batch.add(BLOB, SMALL)
            batch.add(BLOB, LARGE)
            batch.add(TREE, b"a directory")
        assert held(store, "object") == {small.raw, large.raw, tree.raw}
        assert held(store, "tree") == {tree.raw}


def test_a_directory_that_was_asked_for_is_leased_with_all_that_is_below_it(root):
    with LocalStore(root) as before, before.objects.batch() as batch:
        below = batch.add(BLOB, SMALL)
        tree = batch.add(TREE, encode({b"below": Entry.file(below, len(SMALL))}))
        other = batch.add(BLOB, b"not asked for")

    with LocalStore(root) as store:
        assert store.objects.present_trees([tree]) == {tree}
        with LocalStore(root) as collector:
            collect(collector, Limits(), dry_run=False, cancel=threading.Event(), waiting=lambda _owner: None)

        assert store.objects.present([below, tree, other]) == {below, tree}


def test_a_record_is_leased_until_it_was_given_up_as_often_as_it_was_given(store):
    publish(store, b"k")
    publish(store, b"other")
    key, recipe = BLOB.digest(b"k"), BLOB.digest(b"recipe of k")
    store.records.link(BLOB.digest(b"another recipe of k"), key)
    store.records.by_recipe([recipe, BLOB.digest(b"another recipe of k")])
    store.records.find(key)

    for _ in range(3):
        store.records.give_up([key])
        assert held(store, "record") == {key.raw, BLOB.digest(b"other").raw}
    store.records.give_up([key])

    assert held(store, "record") == {BLOB.digest(b"other").raw}


def test_what_was_given_up_is_leased_when_it_is_found_again(store):
    publish(store, b"k")
    key = BLOB.digest(b"k")
    store.records.give_up([key, key])

    store.records.find(key)

    assert held(store, "record") == {key.raw}


def test_what_a_thread_keeps_while_it_makes_a_result_is_leased_until_that_is_made(store):
    (before,) = keep(store, b"before")
    with store.records.working():
        (kept,) = keep(store, SMALL)
        publish(store, b"k")
        assert held(store, "object") == {before.raw, kept.raw}

    assert held(store, "object") == {before.raw}
    assert held(store, "record") == {BLOB.digest(b"k").raw}


def test_what_two_threads_keep_stays_until_both_have_made_their_results(store):
    def work(ready: threading.Event, go_on: threading.Event) -> None:
        with store.records.working():
            keep(store, SMALL)
            ready.set()
            assert go_on.wait(60)

    events = [(threading.Event(), threading.Event()) for _ in range(2)]
    threads = [threading.Thread(target=work, args=two) for two in events]
    for thread, (ready, _go_on) in zip(threads, events, strict=True):
        thread.start()
        assert ready.wait(60)

    for thread, (_ready, go_on) in zip(threads, events, strict=True):
        assert held(store, "object") == {BLOB.digest(SMALL).raw}
        go_on.set()
        thread.join()

    assert held(store, "object") == set()


def test_what_was_only_listed_is_not_leased(store):
    publish(store, b"k")
    with LocalStore(store.root) as other:
        assert [one.key for one in other.records.all()] == [BLOB.digest(b"k").raw]

        assert len(other.leases.all()) == 1, "that of the one that published it"


def test_a_lease_ends_with_the_store_that_took_it(store):
    with LocalStore(store.root) as other:
        publish(other, b"k")
        assert held(store, "record") == {BLOB.digest(b"k").raw}

    assert store.leases.all() == []
    assert list((store.root / "leases").iterdir()) == []


_USE = """
with LocalStore(root) as store:
    assert store.records.find(BLOB.digest(b"k")) is not None
    say("uses")
    sys.stdin.readline()
"""


def test_the_lease_of_a_killed_process_ends_with_it(store, root):
    with LocalStore(root) as other:
        publish(other, b"k")
    with process(root, _USE) as user:
        go(user)
        assert said(user) == "uses"
        (lease,) = store.leases.all()
        user.send_signal(signal.SIGKILL)
        user.wait()

    assert lease.owner.startswith(f"process {user.pid} on ")
    assert store.leases.all() == []


def test_clearing_away_leaves_the_leases_of_those_who_live(store, root):
    publish(store, b"k")
    with LocalStore(root) as other:
        other.remove_leftovers(shutil.rmtree)

    assert held(store, "record") == {BLOB.digest(b"k").raw}


def test_a_lease_that_was_cut_short_has_what_is_whole(store, root):
    publish(store, b"k")
    (path,) = (root / "leases").iterdir()

    path.write_bytes(path.read_bytes() + b"r" + b"\0" * 10)

    assert held(store, "record") == {BLOB.digest(b"k").raw}


def test_a_record_is_used_on_the_day_it_was_last_found(root):
    with LocalStore(root) as store:
        publish(store, b"k")
        with opened_index(root) as database:
            database.execute("UPDATE records SET used_on = 1")
        assert [one.used_on for one in store.records.all()] == [1]

        store.records.by_recipe([BLOB.digest(b"recipe of k")])

        assert [one.used_on > 20_000 for one in store.records.all()] == [True]


def test_finding_what_was_used_today_writes_nothing(root):
    with LocalStore(root) as store:
        publish(store, b"k")
        before = store.database.connection.total_changes

        store.records.by_recipe([BLOB.digest(b"recipe of k")])
        store.records.find(BLOB.digest(b"k"))

        assert store.database.connection.total_changes == before


def test_how_long_work_took_is_forgotten_when_it_was_not_done_for_half_a_year(root):
    with LocalStore(root) as store:
        for name in (b"old", b"new"):
            store.records.publish(record(name), recipe=BLOB.digest(name), work=BLOB.digest(b"work " + name))
    with opened_index(root) as database:
        database.execute(
            "UPDATE durations SET measured_on = measured_on - 181 WHERE work = ?", (BLOB.digest(b"work old").raw,)
        )

    with LocalStore(root) as store:
        collect(store, Limits(), dry_run=False, cancel=threading.Event(), waiting=lambda _owner: None)
        rows = store.database.connection.execute("SELECT work FROM durations").fetchall()

    assert rows == [(BLOB.digest(b"work new").raw,)]


# What brings a store of this format back to the one before.
_BACK = {
    2: ["DROP TABLE durations", "ALTER TABLE objects DROP COLUMN full_size", "ALTER TABLE cells DROP COLUMN used_on"],
    1: [
        "ALTER TABLE records DROP COLUMN used_on",
        "DROP TABLE evictions",
        "UPDATE records SET built_at = '1970-01-03T12:00:00+00:00'",
    ],
}


@pytest.mark.parametrize("found", sorted(_BACK))
def test_a_store_of_an_earlier_format_becomes_one_of_this_format(root, found):
    with LocalStore(root) as store:
        (small,) = keep(store, SMALL)
        publish(store, b"k")
        used_on = [2] if found == 1 else [one.used_on for one in store.records.all()]
    with opened_index(root) as database:
        for version in range(FORMAT - 1, found - 1, -1):
            for statement in _BACK[version]:
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {found}")
    if found == 1:
        shutil.rmtree(root / "leases")

    with LocalStore(root) as store:
        assert [one.used_on for one in store.records.all()] == used_on
        assert store.objects.read(BLOB, small) == SMALL
        assert store.records.by_recipe([BLOB.digest(b"recipe of k")]) == {BLOB.digest(b"recipe of k"): record(b"k")}
        assert store.records.expected({BLOB.digest(b"work"): "setup"}) == {}
        collected = collect(store, Limits(), dry_run=False, cancel=threading.Event(), waiting=lambda _owner: None)
        assert collected.evicted == ()


@contextmanager
def files_that_grow_no_more_than(size: int) -> Iterator[None]:
    """As on a disk that takes so much and no more; a write that begins before that is cut short."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def lease_file(store: LocalStore) -> Path:
    (path,) = (store.root / "leases").iterdir()
    return path


def test_what_is_leased_stays_so_when_it_is_leased_again_with_what_a_full_disk_does_not_take(store):
    known, new = (BLOB.digest(name).raw for name in (b"known", b"new"))
    with store.leases.taking():
        store.leases.hold("record", [known])
        with files_that_grow_no_more_than(lease_file(store).stat().st_size):
            store.leases.hold("record", [known, new])

    store.leases.give_up([known])

    assert held(store, "record") == {known}


def test_what_was_cut_short_on_a_full_disk_ends_no_lease_that_is_written_after_it(store):
    digests = [BLOB.digest(name).raw for name in (b"one", b"two", b"three")]
    with store.leases.taking():
        store.leases.hold("record", digests)
    with files_that_grow_no_more_than(lease_file(store).stat().st_size + 80):
        store.leases.give_up(digests)

    with store.leases.taking():
        store.leases.hold("record", [digests[1]])

    assert digests[1] in held(store, "record")
