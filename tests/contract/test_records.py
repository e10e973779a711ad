"""What every store of records does."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from reeval_build.digest import Digest, Domain
from reeval_build.errors import CancelledError
from reeval_build.plan.outputs import SnapshotOutput, StateOutput, TreeOutput
from reeval_build.ports.records import Record
from reeval_build.state.state import PlacedTree, State, StepDelta
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.ports.records import Records
    from tests.contract.conftest import Shelf

_THINGS = Domain("test thing", 1)


def thing(name: str) -> Digest:
    return _THINGS.digest(name.encode())


def record(key: str, **more) -> Record:
    said = {"phase": "setup", "output": TreeOutput(workspace=thing(key)), "material": b"m", "seconds": 1.5, "log": None}
    return Record(key=thing(key), **{**said, **more})


@pytest.fixture
def records(shelf: Shelf) -> Records:
    return shelf.records


STATE = State(
    thing("base"),
    (
        PlacedTree(at=(b"srv", b"\xff\n"), tree=thing("tree"), replaces=True),
        PlacedTree(at=(), tree=thing("tree"), replaces=False),
        StepDelta(delta=thing("delta"), times=thing("times")),
    ),
)


@pytest.mark.parametrize(
    "output",
    [
        TreeOutput(),
        TreeOutput(workspace=thing("w")),
        TreeOutput(home=thing("h")),
        StateOutput(state=State(thing("base"))),
        StateOutput(state=STATE),
        SnapshotOutput(state=STATE, baseline=thing("b"), placed=thing("p")),
    ],
    ids=lambda output: type(output).__name__,
)
def test_a_record_is_found_as_it_was_published(records, output):
    published = record("k", phase="snapshot", output=output, material=b"\0\xff", seconds=0.25, log="/some/é.log")

    records.publish(published, recipe=thing("r"))

    found = records.find(published.key)
    assert found == published
    assert records.by_recipe([thing("r")]) == {thing("r"): published}


def test_the_times_of_a_steps_delta_are_found_again_though_they_are_no_part_of_equality(records):
    records.publish(record("k", output=StateOutput(state=STATE)), recipe=thing("r"))

    found = records.find(thing("k"))

    assert found is not None
    assert isinstance(found.output, StateOutput)
    delta = found.output.state.deltas[-1]
    assert isinstance(delta, StepDelta)
    assert delta.times == thing("times")


def test_what_was_never_published_is_not_found(records):
    records.publish(record("k"), recipe=thing("r"))

    assert records.find(thing("other")) is None
    assert records.find(thing("r")) is None
    assert records.by_recipe([thing("other"), thing("k")]) == {}
    assert records.by_recipe([]) == {}


def test_a_record_that_is_published_again_is_the_new_one(records):
    records.publish(record("k", seconds=1.0), recipe=thing("r"))

    records.publish(record("k", seconds=2.0, output=TreeOutput()), recipe=thing("r"))

    found = records.find(thing("k"))
    assert found == record("k", seconds=2.0, output=TreeOutput())
    assert records.by_recipe([thing("r")]) == {thing("r"): found}


def test_a_recipe_finds_the_record_it_was_last_published_for(records):
    records.publish(record("k1"), recipe=thing("r"))

    records.publish(record("k2"), recipe=thing("r"))

    assert records.by_recipe([thing("r")])[thing("r")].key == thing("k2")


def test_a_record_is_found_by_its_key_though_its_recipe_has_led_to_another_since(records):
    records.publish(record("k1"), recipe=thing("r"))

    records.publish(record("k2"), recipe=thing("r"))

    found = records.find(thing("k1"))
    assert found is not None
    assert found.output == record("k1").output


def test_a_linked_recipe_finds_the_record_too(records):
    records.publish(record("k"), recipe=thing("r"))

    records.link(thing("r2"), thing("k"))

    found = records.by_recipe([thing("r"), thing("r2")])
    assert {recipe: one.key for recipe, one in found.items()} == {thing("r"): thing("k"), thing("r2"): thing("k")}
    assert all(one == record("k") for one in found.values())


def test_a_recipe_that_is_linked_again_finds_the_new_record(records):
    records.publish(record("k1"), recipe=thing("r1"))
    records.publish(record("k2"), recipe=thing("r2"))
    records.link(thing("r"), thing("k1"))

    records.link(thing("r"), thing("k2"))
    records.link(thing("r"), thing("k2"))

    assert records.by_recipe([thing("r")])[thing("r")].key == thing("k2")


def test_a_link_to_a_record_that_is_not_there_finds_nothing(records):
    records.link(thing("r"), thing("k"))

    assert records.by_recipe([thing("r")]) == {}


def test_a_forgotten_record_is_found_by_nothing_and_can_be_published_again(records):
    records.publish(record("k"), recipe=thing("r"))
    records.link(thing("r2"), thing("k"))
    records.publish(record("other"), recipe=thing("other r"))

    records.forget(thing("k"))

    assert records.find(thing("k")) is None
    assert records.by_recipe([thing("r"), thing("r2")]) == {}
    assert records.find(thing("other")) is not None
    records.publish(record("k"), recipe=thing("r"))
    assert records.find(thing("k")) == record("k")


def test_it_is_known_why_recipes_lead_to_no_record_any_more(shelf):
    before = datetime.now(UTC).replace(microsecond=0)
    shelf.records.publish(record("k"), recipe=thing("r"))
    shelf.records.link(thing("r2"), thing("k"))
    shelf.records.publish(record("other", phase="files"), recipe=thing("other r"))
    assert shelf.records.evictions([thing("r"), thing("other r")]) == {}

    shelf.evict(thing("k"))

    found = shelf.records.evictions(iter([thing("r"), thing("r2"), thing("other r"), thing("never")]))
    assert set(found) == {thing("r"), thing("r2")}
    assert found[thing("r")] == found[thing("r2")]
    assert (found[thing("r")].phase, found[thing("r")].rule) == ("setup", "older than 30 days")
    assert before <= datetime.fromisoformat(found[thing("r")].evicted_at) <= datetime.now(UTC)
    assert shelf.records.find(thing("k")) is None
    assert shelf.records.find(thing("other")) is not None


def test_what_leads_to_a_record_again_was_not_evicted(shelf):
    shelf.records.publish(record("k"), recipe=thing("r"))
    shelf.records.link(thing("r2"), thing("k"))
    shelf.evict(thing("k"))

    shelf.records.publish(record("k"), recipe=thing("r"))
    assert set(shelf.records.evictions([thing("r"), thing("r2")])) == {thing("r2")}
    shelf.records.link(thing("r2"), thing("k"))

    assert shelf.records.evictions([thing("r"), thing("r2")]) == {}


def test_what_was_forgotten_was_not_evicted(records):
    records.publish(record("k"), recipe=thing("r"))

    records.forget(thing("k"))

    assert records.evictions([thing("r")]) == {}


def test_the_evictions_of_many_recipes_are_found_in_one_round(shelf):
    shelf.records.publish(record("k"), recipe=thing("r"))
    for number in range(1300):
        shelf.records.link(thing(f"r{number}"), thing("k"))
    shelf.evict(thing("k"))

    found = shelf.records.evictions(thing(f"r{number}") for number in range(2600))

    assert set(found) == {thing(f"r{number}") for number in range(1300)}


def test_forgetting_what_is_not_there_is_no_matter(records):
    records.forget(thing("k"))

    assert records.find(thing("k")) is None


def test_the_records_of_many_recipes_are_found_in_one_round(records):
    for number in range(1300):
        records.publish(record(f"k{number}"), recipe=thing(f"r{number}"))
    wanted = [thing(f"r{number}") for number in range(2600)]

    found = records.by_recipe(iter(wanted))

    assert {recipe: one.key for recipe, one in found.items()} == {
        thing(f"r{number}"): thing(f"k{number}") for number in range(1300)
    }


@pytest.mark.conforms("123")
def test_work_is_expected_to_take_what_it_took_the_last_time_whatever_it_was_done_on(records):
    for number, seconds in enumerate((5.0, 7.5)):
        records.publish(record(f"on {number}", seconds=seconds), recipe=thing(f"recipe {number}"), work=thing("work"))

    assert records.expected({thing("work"): "setup"}) == {thing("work"): 7.5}


def test_work_that_was_never_done_is_expected_to_take_the_mean_of_its_phase(records):
    for name, seconds in (("a", 1.0), ("b", 3.0)):
        records.publish(record(name, seconds=seconds), recipe=thing(name), work=thing(f"work {name}"))

    expected = records.expected({thing("new"): "setup", thing("work a"): "setup", thing("other"): "install"})

    assert expected == {thing("new"): 2.0, thing("work a"): 1.0}


def test_how_long_work_takes_is_known_after_its_record_is_gone(records):
    records.publish(record("a", seconds=4.0), recipe=thing("recipe"), work=thing("work"))
    records.forget(thing("a"))

    assert records.expected({thing("work"): "setup"}) == {thing("work"): 4.0}


def test_much_work_is_expected_at_once(records):
    for number in range(3):
        records.publish(record(f"{number}", seconds=1.0), recipe=thing(f"{number}"), work=thing(f"work {number}"))

    assert len(records.expected({thing(f"work {number}"): "setup" for number in range(2000)})) == 2000


class Holder:
    """A thread that holds a key until it is let go."""

    def __init__(self, records: Records, key: Digest) -> None:
        self._let_go = threading.Event()
        self._has = threading.Event()
        self._thread = threading.Thread(target=self._hold, args=(records, key))
        self._thread.start()
        assert self._has.wait(60)

    def _hold(self, records: Records, key: Digest) -> None:
        with records.exclusive(key, cancel=threading.Event(), waiting=lambda _owner: None):
            self._has.set()
            self._let_go.wait(60)

    def let_go(self) -> None:
        self._let_go.set()
        self._thread.join()


@pytest.fixture
def holder(records: Records) -> Iterator[Holder]:
    held = Holder(records, thing("k"))
    yield held
    held.let_go()


def never(_owner: str) -> None:
    pytest.fail("there is nobody to wait for")


def test_a_key_nobody_holds_is_held_without_waiting_again_and_again(records):
    for _ in range(3):
        with records.exclusive(thing("k"), cancel=threading.Event(), waiting=never):
            pass


def test_different_keys_are_held_at_once(records, holder):
    with records.exclusive(thing("other"), cancel=threading.Event(), waiting=never):
        pass


@pytest.mark.conforms("fault 20")
def test_a_waiter_says_once_for_whom_it_waits_and_goes_on_when_the_key_is_free(records, holder):
    owners: list[str] = []
    entered = threading.Event()

    def wait() -> None:
        with records.exclusive(thing("k"), cancel=threading.Event(), waiting=owners.append):
            entered.set()

    waiter = threading.Thread(target=wait)
    waiter.start()
    wait_until(lambda: owners)
    assert not entered.wait(0.3)

    holder.let_go()

    waiter.join()
    assert entered.is_set()
    assert len(owners) == 1
    assert owners[0]


@pytest.mark.conforms("fault 37")
def test_a_waiter_stops_when_the_run_is_told_to_and_holds_nothing(records, holder):
    cancel = threading.Event()

    with (
        pytest.raises(CancelledError),
        records.exclusive(thing("k"), cancel=cancel, waiting=lambda _owner: cancel.set()),
    ):
        pytest.fail("it is held by another thread")

    holder.let_go()
    with records.exclusive(thing("k"), cancel=threading.Event(), waiting=never):
        pass


def test_a_holder_that_fails_lets_go(records):
    with (
        pytest.raises(LookupError),
        records.exclusive(thing("k"), cancel=threading.Event(), waiting=never),
    ):
        raise LookupError

    with records.exclusive(thing("k"), cancel=threading.Event(), waiting=never):
        pass


@pytest.mark.conforms("fault 20")
def test_threads_that_want_one_key_have_it_one_after_the_other(records):
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        with records.exclusive(thing("k"), cancel=threading.Event(), waiting=lambda _owner: None):
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(24)))

    assert most == [1] * 24


def test_threads_publish_and_find_at_once(records):
    def work(number: int) -> bool:
        for at in range(10):
            records.publish(record(f"k{at}"), recipe=thing(f"r{number}-{at}"))
        return all(records.find(thing(f"k{at}")) is not None for at in range(10))

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(work, range(6)))

    assert len(records.by_recipe(thing(f"r{number}-{at}") for number in range(6) for at in range(10))) == 60
