"""The benchmarks that figures come from can be run."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.docs.pages import CHECKOUT


def test_benchmarks_say_what_they_measure():
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    script = CHECKOUT / "benchmarks" / "run.py"

    done = subprocess.run([sys.executable, str(script), "--help"], env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert (
        "startup, noop-fake, freshness, plan, large-file, restoring, bytes, collecting, steps, "
        "noop-docker, cells, states, builds" in " ".join(done.stdout.split())
    )


def test_every_accepted_result_says_on_what_it_was_measured():
    accepted = json.loads((CHECKOUT / "benchmarks" / "baseline.json").read_text(encoding="utf-8"))

    assert accepted
    assert all(
        result["machine"] and (result["ours"].get("p50_s") or result["ours"]["bytes"]) > 0
        for result in accepted.values()
    )
