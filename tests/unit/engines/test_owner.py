from __future__ import annotations

import os
import subprocess
import sys

import pytest

from reeval_build.engines.owner import current_owner, is_dead


def test_this_process_is_alive():
    assert not is_dead(current_owner())


def test_a_process_that_ended_is_dead():
    code = "from reeval_build.engines.owner import current_owner; print(current_owner())"
    owner = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    assert is_dead(owner)


def test_a_process_that_ended_is_dead_before_its_parent_has_looked():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        place, _, start = current_owner().split(":")
        child.stdin.close()
        child.stdout.read()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

        assert is_dead(f"{place}:{child.pid}:{start}") or sys.platform != "linux"


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc tells when a process started")
def test_a_later_process_of_the_same_number_is_not_taken_for_the_owner():
    place, pid, start = current_owner().split(":")

    assert is_dead(f"{place}:{pid}:{int(start) - 1}")


@pytest.mark.parametrize(
    "changed", ["elsewhere:{pid}:{start}", "{place}:0:{start}", "{place}:-1:{start}", "{place}", ""]
)
def test_of_what_cannot_be_known_nothing_is_said(changed):
    place, pid, start = current_owner().split(":")

    assert not is_dead(changed.format(place=place, pid=pid, start=start))


def test_a_number_no_process_can_have_is_not_an_error():
    place, _, start = current_owner().split(":")

    assert not is_dead(f"{place}:{10**30}:{start}")


def test_another_users_process_is_alive_as_far_as_anyone_knows():
    place, _, start = current_owner().split(":")

    assert not is_dead(f"{place}:1:-")
    assert start
