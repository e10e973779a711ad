from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeval_build import docker, fake_sandbox
from reeval_build.model.spec import DockerSandbox, FakeSandbox
from reeval_build.model.start_options import UNLIMITED, StartOptions, at_rest
from tests import strategies

MIB = 1024**2


def test_a_container_that_nobody_limits_is_not_limited():
    assert StartOptions.of(docker()) == StartOptions.of(fake_sandbox()) == UNLIMITED == StartOptions()


def test_options_are_in_one_unit_whatever_they_were_written_in():
    sandbox = docker(
        cpus=1.5, memory="64m", swap=0, pids=20, capabilities=["net_admin", "CAP_SYS_PTRACE"], max_concurrent=3
    )

    assert StartOptions.of(sandbox) == StartOptions(
        cpus=1.5,
        memory_bytes=64 * MIB,
        swap_bytes=0,
        pids=20,
        capabilities=frozenset({"NET_ADMIN", "SYS_PTRACE"}),
        max_concurrent=3,
    )


def test_swap_that_nobody_spoke_of_is_as_much_as_memory():
    assert StartOptions.of(docker(memory="64m")) == StartOptions(memory_bytes=64 * MIB, swap_bytes=64 * MIB)


def test_a_fake_sandbox_has_a_place_and_a_number():
    assert StartOptions.of(fake_sandbox(dir="/d", max_concurrent=2)) == StartOptions(directory="/d", max_concurrent=2)


LIMITS = ["cpus", "memory_bytes", "swap_bytes", "pids"]


@given(strategies.start_options, strategies.start_options)
def test_joined_options_are_no_less_than_each_asked_for(one, other):
    both = one.joined(other)

    for name in LIMITS:
        limits = [getattr(options, name) for options in (one, other)]
        assert getattr(both, name) == (None if None in limits else max(limits))
    assert both.capabilities == one.capabilities | other.capabilities
    assert both.directory in {one.directory, other.directory} - ({None} if both.directory else set())


@given(strategies.start_options, strategies.start_options)
def test_joined_options_are_for_no_more_sandboxes_at_once_than_each_allowed(one, other):
    said = {one.max_concurrent, other.max_concurrent} - {None}

    assert one.joined(other).max_concurrent == min(said, default=None)


@given(strategies.start_options, strategies.start_options, strategies.start_options)
def test_joining_is_the_same_in_any_order(one, other, third):
    assert one.joined(other) == other.joined(one)
    assert one.joined(other).joined(third) == one.joined(other.joined(third))
    assert one.joined(one) == one


@pytest.mark.conforms("78", "fault 18")
@pytest.mark.parametrize("kind", [DockerSandbox, FakeSandbox])
@given(data=st.data())
def test_a_sandbox_at_rest_has_lost_exactly_what_decides_how_it_starts(kind, data):
    sandbox, donor = (data.draw(strategies.sandboxes[kind]) for _ in range(2))
    field = data.draw(st.sampled_from([field for field in attrs.fields(kind) if field.init]))
    changed = attrs.evolve(sandbox, **{field.name: getattr(donor, field.name)})

    assert (at_rest(changed) == at_rest(sandbox)) == (field.name in START_FIELDS or changed == sandbox)


START_FIELDS = {"cpus", "memory", "swap", "pids", "capabilities", "max_concurrent", "dir", "start_timeout_s"}
