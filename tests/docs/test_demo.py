"""The demo shows what it says, on nothing but a shell, Python and git, and leaves nothing behind."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.docs.pages import QUICKSTART

DEMO = QUICKSTART / "demo.sh"


def demo(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", str(DEMO)], env=env, capture_output=True, text=True, check=False)


def test_the_demo_ends_well_and_leaves_nothing_behind(reader):
    before = sorted(Path(reader["TMPDIR"]).iterdir())

    done = demo(reader)

    assert done.returncode == 0, done.stderr
    assert sorted(Path(reader["TMPDIR"]).iterdir()) == before
    assert list(Path(reader["HOME"]).iterdir()) == []


def test_the_demo_fails_when_the_program_does_nothing(reader):
    program = Path(reader["TMPDIR"]) / "bin" / "reeval-build"
    program.write_text("#!/bin/sh\necho '{\"nodes\": []}'\n")

    done = demo(reader)

    assert done.returncode == 1
    assert "demo: what was built: expected" in done.stderr
