"""Golden documents hold in every condition in which this program may run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden.vectors import DOCUMENTS, document, kept

_CHECKOUT = Path(__file__).parents[2]
_NEEDED = ("attrs", "blake3")
# Interpreters, or directories of virtual environments, as in PATH.
_PYTHONS = "REEVAL_BUILD_TEST_PYTHONS"
_PRINT = """
import sys
from tests.golden.vectors import DOCUMENTS, document
sys.stdout.write("".join(map(document, DOCUMENTS)))
"""


@pytest.mark.conforms("fault 11", "fault 14")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_formats_and_keys_are_as_they_were(name):
    assert document(name) == kept(name).read_text(encoding="ascii")


@pytest.mark.conforms("fault 14")
@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONHASHSEED": "0"},
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "4294967295"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "C.UTF-8"},
        {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
        {"PYTHONUTF8": "1", "TZ": "Pacific/Kiritimati"},
        {"PYTHONUTF8": "0", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "random"},
        {"PYTHONOPTIMIZE": "1"},
        {"PYTHONOPTIMIZE": "2"},
    ],
    ids=lambda variables: " ".join(f"{name}={value}" for name, value in variables.items()),
)
def test_keys_are_the_same_under_any_hash_seed_locale_and_time_zone(variables):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}

    assert printed([sys.executable], {**clean, **variables}) == golden()


@pytest.mark.conforms("fault 14")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_keys_are_the_same_under_any_umask_and_in_any_directory(umask, tmp_path):
    assert printed([sys.executable], dict(os.environ), cwd=tmp_path, umask=umask) == golden()


@pytest.mark.conforms("fault 14")
@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_keys_are_the_same_on_every_supported_python(minor):
    python = interpreter(minor)
    if python is None:
        needed = " and ".join(_NEEDED)
        pytest.skip(f"there is no Python 3.{minor} with {needed}; {_PYTHONS} may name one, or a virtual environment")

    assert printed([python], dict(os.environ)) == golden()


def golden() -> str:
    return "".join(kept(name).read_text(encoding="ascii") for name in DOCUMENTS)


def printed(python: list[str], env: dict[str, str], *, cwd: Path = _CHECKOUT, umask: int = -1) -> str:
    path = os.pathsep.join(filter(None, [str(_CHECKOUT), env.get("PYTHONPATH")]))
    done = subprocess.run(
        [*python, "-c", _PRINT],
        env={**env, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=cwd,
        umask=umask,
        capture_output=True,
        encoding="ascii",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def interpreter(minor: int) -> str | None:
    """A Python of this version that has what is needed: one that is named, or else the first on PATH or of pyenv's."""
    if sys.version_info[:2] == (3, minor):
        return sys.executable
    named = (Path(name) for name in os.environ.get(_PYTHONS, "").split(os.pathsep) if name)
    candidates = [str(name / "bin" / "python") if name.is_dir() else str(name) for name in named]
    candidates += filter(None, [shutil.which(f"python3.{minor}")])
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += [str(found) for found in sorted(versions.glob(f"3.{minor}.*/bin/python3.{minor}"))]
    imports = "; ".join(f"import {name}" for name in _NEEDED)
    for candidate in candidates:
        said = subprocess.run(
            [candidate, "-c", f"import sys; {imports}; print(*sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        )
        if said.stdout.split() == ["3", str(minor)]:
            return candidate
    return None
