"""Eval files that load, in a real runner of the published package."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING

import pytest

from reeval_build.loading.runner import collect
from tests.loading.conftest import FILE, IMPORTS, OWN

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loading.conftest import EvalProject

ONE = '@evaluate("one", {"environment": define_environment("e", {"rules": RULES})})\ndef one(c): ...\n'


def rules_of(tree: object) -> object:
    """The rules of the environment of the first eval."""
    return tree["children"][0]["options"]["environment"]["layers"][0]["spec"]["rules"]  # type: ignore[index]


def test_a_file_s_declarations_come_as_data(project: EvalProject) -> None:
    assert project.collect('RULES = "r"\n' + ONE) == {
        "children": [
            {
                "type": "eval",
                "name": "one",
                "mode": "run",
                "options": {
                    "environment": {
                        "kind": "environment",
                        "name": "e",
                        "layers": [{"name": "e", "spec": {"rules": "r"}}],
                    }
                },
                "body": "b1",
            }
        ]
    }


def test_a_file_that_declares_nothing_is_an_empty_tree(project: EvalProject) -> None:
    assert project.collect("") == {"children": []}


def test_each_file_has_a_process_of_its_own(project: EvalProject) -> None:
    text = "import os\nRULES = str(os.getpid())\n" + ONE

    assert rules_of(project.collect(text)) != rules_of(project.collect(text))


def test_what_it_prints_goes_to_standard_error(project: EvalProject, capfd: pytest.CaptureFixture[str]) -> None:
    project.collect(
        """
        import subprocess, sys
        print("to stdout", flush=True)
        print("to stderr", file=sys.stderr)
        subprocess.run(["echo", "from a program"])
        sys.stdout.buffer.write(b"not UTF-8: \\xff\\n")
        sys.__stderr__.write("without an end"); sys.__stderr__.flush()
        """
    )

    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "to stdout",
        "to stderr",
        "from a program",
        "not UTF-8: \\xff",
        "without an end",
    ]


def test_a_traceback_that_it_prints_itself_is_passed_on(
    project: EvalProject, capfd: pytest.CaptureFixture[str]
) -> None:
    project.collect(
        'import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()\nprint("on")'
    )

    said = capfd.readouterr().err
    assert said.startswith("Traceback (most recent call last):\n")
    assert said.endswith("ZeroDivisionError: division by zero\non\n")


def test_output_that_never_ends_a_line_is_passed_on(project: EvalProject, capfd: pytest.CaptureFixture[str]) -> None:
    project.collect('import os\nfor _ in range(100):\n    os.write(2, b"x" * 10_000)\n')

    assert capfd.readouterr().err == "x" * 1_000_000 + "\n"


def test_it_has_no_standard_input(project: EvalProject) -> None:
    assert rules_of(project.collect("import sys\nRULES = sys.stdin.read()\n" + ONE)) == ""


def test_imports_resolve_from_the_root(project: EvalProject) -> None:
    project.write("evals/environments.py", 'RULES = "imported"\n')

    assert rules_of(project.collect("from evals.environments import RULES\n" + ONE)) == "imported"


def test_a_python_that_is_told_to_be_safe_still_imports_from_the_root(
    project: EvalProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    project.write("rules.py", 'RULES = "imported"\n')

    assert rules_of(project.collect("from rules import RULES\n" + ONE)) == "imported"


def test_an_edit_of_an_imported_module_that_its_size_and_time_do_not_show_is_seen(
    project: EvalProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    for content in ("old", "new"):
        module = project.write("rules.py", f'RULES = "{content}"\n')
        os.utime(module, (1_700_000_000, 1_700_000_000))

        assert rules_of(project.collect("from rules import RULES\n" + ONE)) == content


def test_the_root_is_where_the_nearest_project_begins(project: EvalProject) -> None:
    project.write("pyproject.toml", "")
    project.write("part/.git", "gitdir: elsewhere\n")
    project.write("part/rules.py", 'RULES = "of the part"\n')
    file = project.file("from rules import RULES\n" + ONE, path="part/evals/deep/x.eval.py")

    assert rules_of(collect(file, candidates=(OWN,))) == "of the part"


def test_without_a_project_the_root_is_the_file_s_directory(project: EvalProject) -> None:
    project.write("alone/rules.py", 'RULES = "beside it"\n')
    file = project.file("from rules import RULES\n" + ONE, path="alone/x.eval.py")

    assert rules_of(collect(file, candidates=(OWN,))) == "beside it"


@pytest.mark.parametrize("name", ["a b.eval.py", "a'\"\n\\.eval.py", "é\N{PARTY POPPER}.eval.py", "\udcff.eval.py"])
def test_a_file_may_have_any_name(project: EvalProject, name: str) -> None:
    file = project.file('RULES = "r"\n' + ONE, path=f"evals/{name}")

    assert rules_of(project.collect_file(file)) == "r"


def test_a_file_may_be_named_by_way_of_other_directories(project: EvalProject) -> None:
    file = project.file('RULES = "r"\n' + ONE)

    assert rules_of(project.collect_file(file.parent / ".." / "evals" / file.name)) == "r"


def test_a_project_may_be_reached_by_a_link(project: EvalProject, tmp_path: Path) -> None:
    file = project.file('RULES = "r"\n' + ONE)
    (tmp_path / "link").symlink_to(project.directory)

    assert rules_of(project.collect_file(file, root=tmp_path / "link")) == "r"
    assert rules_of(project.collect_file(tmp_path / "link" / FILE)) == "r"


def test_a_file_may_be_a_link_out_of_the_project(project: EvalProject, tmp_path: Path) -> None:
    project.write("evals/y.eval.py", "")
    (tmp_path / "shared.eval.py").write_text(IMPORTS + 'RULES = "shared"\n' + ONE)
    (project.directory / FILE).symlink_to(tmp_path / "shared.eval.py")

    assert rules_of(project.collect_file(project.directory / FILE)) == "shared"


def test_a_large_declaration_comes_whole(project: EvalProject) -> None:
    assert rules_of(project.collect("RULES = 'é\\n' * 2_000_000\n" + ONE)) == "é\n" * 2_000_000


def test_files_can_be_loaded_at_the_same_time(project: EvalProject) -> None:
    files = [project.file(f"RULES = '{at}'\n" + ONE, path=f"evals/{at}.eval.py") for at in range(4)]
    loaded: dict[Path, object] = {}
    threads = [
        threading.Thread(target=lambda file=file: loaded.update({file: rules_of(project.collect_file(file))}))
        for file in files
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [loaded[file] for file in files] == ["0", "1", "2", "3"]


def test_a_file_that_leaves_a_thread_running_is_done_when_it_is_loaded(project: EvalProject) -> None:
    tree = project.collect(
        'import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\nRULES = "r"\n' + ONE
    )

    assert rules_of(tree) == "r"


def test_a_runner_that_does_not_end_is_killed_when_it_has_answered(project: EvalProject) -> None:
    tree = project.collect('import os, time\nos._exit = lambda code: time.sleep(600)\nRULES = "r"\n' + ONE)

    assert rules_of(tree) == "r"


def test_its_answer_is_what_json_says_of_it(project: EvalProject) -> None:
    tree = project.collect("RULES = [1, 1.5, True, None, {'a': ()}, '\\ud800']\n" + ONE)

    assert json.dumps(rules_of(tree)) == '[1, 1.5, true, null, {"a": []}, "\\ud800"]'
