"""A store in a directory that many processes use, some of which are killed."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reeval_build.digest import BLOB, Digest
from reeval_build.errors import CancelledError
from reeval_build.stores.local import LocalStore
from tests.support.local_store import LARGE, SMALL, files_below, keep
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHECKOUT = Path(__file__).parents[2]


_PRELUDE = """
import os, sys, threading, time
from pathlib import Path
from reeval_build.digest import BLOB
from reeval_build.plan.outputs import TreeOutput
from reeval_build.ports.records import Record
from reeval_build.stores.local import LocalStore

root, number = Path(sys.argv[1]), int(sys.argv[2])
def say(*words): print(*words, flush=True)
say("ready")
sys.stdin.readline()
"""


@contextmanager
def process(root: Path, script: str, number: int = 0) -> Iterator[subprocess.Popen[str]]:
    """A process that is ready to run a script, and runs it when it is told to; killed at the end."""
    with subprocess.Popen(
        [sys.executable, "-c", _PRELUDE + script, root, str(number)],
        cwd=_CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            assert said(started) == "ready"
            yield started
        finally:
            started.kill()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go(*processes: subprocess.Popen[str]) -> None:
    for one in processes:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()


def run_together(root: Path, script: str, *, count: int) -> list[str]:
    """What processes that begin at the same time print."""
    with ExitStack() as stack:
        processes = [stack.enter_context(process(root, script, number)) for number in range(count)]
        go(*processes)
        results = [one.communicate(timeout=60) for one in processes]
        failures = [errors for one, (_output, errors) in zip(processes, results, strict=True) if one.returncode]
    assert failures == []
    return [output for output, _errors in results]


@pytest.mark.conforms("fault 20")
@pytest.mark.parametrize("attempt", range(3))
def test_processes_make_one_store_at_the_same_time(root, attempt):
    script = """
with LocalStore(root) as store:
    with store.objects.batch() as batch:
        digest = batch.add(BLOB, b"%d" % number)
    record = Record(key=digest, phase="p", output=TreeOutput(), material=b"", seconds=0.0)
    store.records.publish(record, recipe=digest)
"""

    run_together(root, script, count=6)

    with LocalStore(root) as store:
        digests = [BLOB.digest(b"%d" % number) for number in range(6)]
        assert store.objects.present(digests) == set(digests)
        assert len(store.records.by_recipe(digests)) == 6


@pytest.mark.conforms("fault 20")
def test_processes_that_keep_the_same_objects_at_once_all_find_them(root):
    LocalStore(root).close()
    script = """
contents = [b"%d" % at for at in range(200)] + [b"large %d" % at * 100_000 for at in range(3)]
with LocalStore(root) as store:
    for _ in range(4):
        with store.objects.batch() as batch:
            digests = [batch.add(BLOB, content) for content in contents]
        assert [store.objects.read(BLOB, digest) for digest in digests] == contents
    say(len(store.objects.present(digests)))
"""

    printed = run_together(root, script, count=6)

    assert printed == ["203\n"] * 6
    assert files_below(root / "tmp") == []
    assert len(files_below(root / "objects")) == 3


@pytest.mark.conforms("fault 20")
def test_processes_that_want_one_key_have_it_one_after_the_other(root):
    LocalStore(root).close()
    script = """
with LocalStore(root) as store:
    for _ in range(5):
        with store.records.exclusive(BLOB.digest(b"k"), cancel=threading.Event(), waiting=lambda owner: None):
            Path(root, "inside").touch(exist_ok=False)
            time.sleep(0.005)
            Path(root, "inside").unlink()
"""

    run_together(root, script, count=4)

    assert list((root / "locks").iterdir()) == []


_HOLD = """
with LocalStore(root) as store:
    with store.records.exclusive(BLOB.digest(b"k"), cancel=threading.Event(), waiting=lambda owner: None):
        say("holds")
        sys.stdin.readline()
"""


@pytest.mark.conforms("fault 33")
def test_a_waiter_names_the_process_it_waits_for(root, store):
    cancel = threading.Event()
    owners: list[str] = []

    def stop(owner: str) -> None:
        owners.append(owner)
        cancel.set()

    with process(root, _HOLD) as holder:
        go(holder)
        assert said(holder) == "holds"
        with (
            pytest.raises(CancelledError),
            store.records.exclusive(BLOB.digest(b"k"), cancel=cancel, waiting=stop),
        ):
            pytest.fail("another process holds it")

    assert len(owners) == 1
    assert owners[0].startswith(f"process {holder.pid} on ")


@pytest.mark.conforms("fault 33")
def test_a_holder_that_is_killed_holds_nothing(root, store):
    with process(root, _HOLD) as holder:
        go(holder)
        assert said(holder) == "holds"
        entered = threading.Event()
        owners: list[str] = []

        def wait() -> None:
            with store.records.exclusive(BLOB.digest(b"k"), cancel=threading.Event(), waiting=owners.append):
                entered.set()

        waiter = threading.Thread(target=wait)
        waiter.start()
        wait_until(lambda: owners)
        assert not entered.is_set()

        holder.send_signal(signal.SIGKILL)
        holder.wait()

        waiter.join(60)
        assert entered.is_set()


@pytest.mark.conforms("fault 33")
def test_the_lock_of_a_killed_holder_is_no_obstacle_and_can_be_cleared_away(root):
    with process(root, _HOLD) as holder:
        go(holder)
        assert said(holder) == "holds"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert len(list((root / "locks").iterdir())) == 1

    with LocalStore(root) as store:
        store.remove_leftovers(shutil.rmtree)

    assert list((root / "locks").iterdir()) == []


@pytest.mark.conforms("fault 21")
def test_a_process_that_is_killed_in_a_batch_leaves_none_of_it_and_its_temporary_files_can_be_cleared_away(root):
    script = """
store = LocalStore(root)
with store.objects.batch() as batch:
    batch.add(BLOB, b"small")
    batch.add(BLOB, b"large " * 100_000)
    say("added")
    sys.stdin.readline()
"""
    with process(root, script) as killed:
        go(killed)
        assert said(killed) == "added"
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    assert files_below(root / "tmp") != []

    with LocalStore(root) as store:
        assert store.objects.present([BLOB.digest(SMALL), BLOB.digest(LARGE)]) == set()
        small, large = keep(store, SMALL, LARGE)
        assert (store.objects.read(BLOB, small), store.objects.read(BLOB, large)) == (SMALL, LARGE)
        store.remove_leftovers(shutil.rmtree)

    assert files_below(root / "tmp") == []


@pytest.mark.conforms("fault 21")
@pytest.mark.parametrize("pause_s", [0.0, 0.005, 0.02, 0.05, 0.1])
def test_whenever_a_process_is_killed_a_record_that_is_found_has_all_its_objects(root, pause_s):
    script = """
store = LocalStore(root)
say("begins")
for at in range(10_000):
    with store.objects.batch() as batch:
        objects = [batch.add(BLOB, b"%d %d" % (at, part)) for part in range(3)]
        objects.append(batch.add(BLOB, b"large %d" % at * 50_000))
    for digest in objects:
        store.records.publish(
            Record(key=digest, phase="p", output=TreeOutput(workspace=digest), material=b"", seconds=0.0),
            recipe=digest,
        )
"""
    with process(root, script) as killed:
        go(killed)
        assert said(killed) == "begins"
        wait_until(lambda: has_records(root))
        threading.Event().wait(pause_s)
        killed.send_signal(signal.SIGKILL)
        killed.wait()

    with LocalStore(root) as store:
        keys = keys_of_records(root)
        assert keys
        for key in keys:
            assert store.objects.read(BLOB, key)
        keep(store, b"afterwards")


def test_a_living_process_keeps_its_temporary_files_when_others_clear_away(root):
    script = """
with LocalStore(root) as store:
    with store.objects.batch() as batch:
        batch.add(BLOB, b"large " * 100_000)
        say("added")
        sys.stdin.readline()
    say(len(store.objects.present([BLOB.digest(b"large " * 100_000)])))
"""
    with process(root, script) as living:
        go(living)
        assert said(living) == "added"
        with LocalStore(root) as store:
            store.remove_leftovers(shutil.rmtree)
        go(living)
        assert said(living) == "1"


def has_records(root: Path) -> bool:
    try:
        return bool(keys_of_records(root))
    except sqlite3.OperationalError:
        # The process is still making the store.
        return False


def keys_of_records(root: Path) -> list[Digest]:
    with closing(sqlite3.connect(root / "store.sqlite")) as database:
        return [Digest(row[0]) for row in database.execute("SELECT key FROM records")]


def test_a_process_that_waits_for_itself_says_so(store: LocalStore) -> None:
    key = BLOB.digest(b"k")
    stopped = threading.Event()
    stopped.set()
    owners: list[str] = []

    with (
        store.records.exclusive(key, cancel=threading.Event(), waiting=owners.append),
        pytest.raises(CancelledError),
        store.records.exclusive(key, cancel=stopped, waiting=owners.append),
    ):
        pytest.fail("it is held already")

    assert owners == ["another node of this build"]
