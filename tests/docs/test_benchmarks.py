"""The benchmarks that figures come from can be run."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.docs.pages import CHECKOUT


def test_benchmarks_say_what_they_measure():
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    script = CHECKOUT / "benchmarks" / "run.py"

    done = subprocess.run([sys.executable, str(script), "--help"], env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "startup, noop-fake, freshness, plan, noop-docker, cells, builds" in " ".join(done.stdout.split())
