"""Relative host paths count from the file that has them, in real files that are imported."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import reeval_build
from reeval_build.model.callers import calling_file
from reeval_build.model.site import Site


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Write modules into a directory, and import one of them."""

    def load(name: str, **sources: str):
        for stem, source in sources.items():
            path = tmp_path / f"{stem}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(source))
        monkeypatch.syspath_prepend(str(tmp_path))
        for stem in sources:
            monkeypatch.delitem(sys.modules, stem, raising=False)
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def test_a_relative_path_counts_from_the_file_that_has_it(load, tmp_path, monkeypatch):
    monkeypatch.chdir("/")

    made = load("env", env="from reeval_build import file, git\nf = file('a/b.md')\ng = git('../repo')\n")

    assert made.f.path == str(tmp_path / "a/b.md")
    assert made.g.url == str(tmp_path.parent / "repo")
    assert made.g.repo == "../repo"


def test_a_path_in_a_plain_dictionary_counts_from_where_the_environment_is_defined(load, tmp_path):
    made = load(
        "env",
        env="""
        from reeval_build import define_environment
        e = define_environment("e", {
            "rules": {"kind": "file", "path": "r.md"},
            "files": {"x": {"kind": "file", "path": "./x"}},
            "workspace": {"kind": "git", "repo": "."},
        })
        """,
    )

    spec = made.e.layers[0].spec
    assert (spec.rules.path, spec.files["x"].path, spec.workspace.url) == (
        str(tmp_path / "r.md"),
        str(tmp_path / "x"),
        str(tmp_path),
    )
    assert made.e.file == str(tmp_path / "env.py")


def test_a_path_in_a_callback_counts_from_the_file_of_the_callback(load, tmp_path):
    made = load(
        "env",
        env="""
        from reeval_build import define_environment
        e = define_environment("e", lambda helpers: {"rules": helpers.file("r.md")})
        """,
    )

    assert made.e.layers[0].spec.rules.path == str(tmp_path / "r.md")


def test_a_path_in_a_helper_of_another_module_counts_from_that_module(load, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "__init__.py").write_text("")

    made = load(
        "env",
        env="""
        from reeval_build import define_environment
        from shared.house import rules, everything
        e = define_environment("e", {"rules": rules()})
        f = everything("f")
        """,
        **{
            "shared/house": """
        from reeval_build import define_environment, file
        def rules():
            return file("house.md")
        def everything(name):
            return define_environment(name, {"rules": {"kind": "file", "path": "f.md"}})
        """
        },
    )

    assert made.e.layers[0].spec.rules.path == str(shared / "house.md")
    assert made.f.layers[0].spec.rules.path == str(shared / "f.md")
    assert (made.e.file, made.f.file) == (str(tmp_path / "env.py"), str(shared / "house.py"))


def test_an_extension_counts_from_the_file_that_extends(load, tmp_path):
    made = load(
        "env",
        parent="from reeval_build import define_environment\ne = define_environment('p', {})\n",
        env="import parent\ne = parent.e.extend('c', {'rules': {'kind': 'file', 'path': 'r.md'}})\n",
    )

    assert made.e.layers[1].spec.rules.path == str(tmp_path / "r.md")
    assert made.e.file == str(tmp_path / "env.py")


def test_a_project_whose_name_begins_like_this_package_is_not_taken_for_it(load, tmp_path):
    package = Path(reeval_build.__file__).parent
    source = "from reeval_build import file\nf = file('a.md')\n"
    neighbour = f"{package}_examples/env.py"
    namespace: dict[str, Any] = {}

    exec(compile(source, neighbour, "exec"), namespace)  # noqa: S102 - as if it were a file beside the package

    assert namespace["f"].path == f"{package}_examples/a.md"


def test_code_that_is_from_no_file_counts_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}

    exec("from reeval_build import file\nf = file('a.md')\n", namespace)  # noqa: S102 - as `python -c` does

    assert namespace["f"].path == str(tmp_path / "a.md")


def test_the_calling_file_of_a_test_is_the_test():
    assert calling_file() == Path(__file__)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a", "{here}/a"),
        ("./a/./b", "{here}/a/b"),
        ("../a", "{above}/a"),
        ("a/../b", "{here}/b"),
        ("a//b/", "{here}/a/b"),
        (".", "{here}"),
        ("/a/../../b", "/b"),
        ("/", "/"),
        ("~/a", "/home/someone/a"),
        ("a/~/b", "{here}/a/~/b"),
    ],
)
def test_a_path_is_made_absolute_and_plain(path, expected, monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    here = Path(__file__).parent

    assert Site.of_caller().resolve(path) == expected.format(here=here, above=here.parent)
