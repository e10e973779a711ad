from __future__ import annotations

import pytest

from reeval_build.engines.docker.facts import read_facts

OVERLAY = {
    "Driver": "overlay2",
    "DriverStatus": [["Native Overlay Diff", "true"], ["userxattr", "false"]],
    "OSType": "linux",
    "SecurityOptions": ["name=seccomp,profile=default"],
}


def test_the_disk_of_an_engine_of_ours_is_read_when_it_is_a_plain_overlay():
    assert read_facts(OVERLAY, {}, is_ours=True).uppers_readable


@pytest.mark.parametrize(
    "change",
    [
        {"Driver": "vfs"},
        {"DriverStatus": [["Native Overlay Diff", "false"]]},
        {"DriverStatus": [["Native Overlay Diff", "true"], ["userxattr", "true"]]},
        {"DriverStatus": None},
        {"SecurityOptions": ["name=userns"]},
        {"SecurityOptions": ["name=rootless"]},
    ],
)
def test_any_other_disk_is_left_alone(change):
    facts = read_facts(OVERLAY | change, {}, is_ours=True)

    assert not facts.uppers_readable
    assert facts.unsupported is None


def test_the_disk_of_an_engine_elsewhere_is_left_alone():
    assert not read_facts(OVERLAY, {}, is_ours=False).uppers_readable


@pytest.mark.parametrize(
    ("info", "version", "kind"),
    [
        (OVERLAY, {"Components": [{"Name": "Podman Engine"}]}, "Podman"),
        (OVERLAY | {"OSType": "windows"}, {}, "windows"),
        (OVERLAY | {"DriverStatus": [["driver-type", "io.containerd.snapshotter.v1"]]}, {}, "containerd"),
    ],
)
def test_an_engine_that_does_not_take_our_images_is_named(info, version, kind):
    assert kind in (read_facts(info, version, is_ours=True).unsupported or "")
