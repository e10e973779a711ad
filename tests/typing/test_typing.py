"""An editor and mypy know what may be written: they accept it, and refuse everything else on its line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# Not a .py file: the project's own run of mypy would refuse it.
REFUSED = (HERE / "refused.txt").read_text(encoding="utf-8")


def errors_of(file: Path, cache: Path) -> set[int]:
    """The lines of a file that mypy refuses."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file=", "--no-pretty"]
    command += [f"--cache-dir={cache}", str(file)]
    done = subprocess.run(command, cwd=HERE.parent.parent, capture_output=True, text=True, check=False)
    found = re.findall(r"^(.*?):([0-9]+): error: ", done.stdout, re.MULTILINE)
    assert not done.stderr, done.stderr
    assert {Path(name).name for name, _line in found} <= {file.name}, done.stdout
    return {int(line) for _name, line in found}


def test_what_may_be_written_is_accepted(tmp_path):
    assert errors_of(HERE / "accepted.py", tmp_path / "cache") == set()


def test_every_mistake_is_refused_on_its_line(tmp_path):
    file = tmp_path / "refused.py"
    file.write_text(REFUSED, encoding="utf-8")

    marked = {number for number, line in enumerate(REFUSED.splitlines(), 1) if "# refused:" in line}
    assert errors_of(file, tmp_path / "cache") == marked
