"""The reference says what the program does."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import reeval_build
from reeval_build import define_environment
from reeval_build.content.facts import Fact
from reeval_build.digest import BLOB
from reeval_build.errors import DefinitionError
from reeval_build.loading.declared import found_in
from reeval_build.model.environment import Environment
from reeval_build.model.harnesses import HARNESSES
from reeval_build.model.wire_values import value_to_wire
from reeval_build.plan.work import PHASES
from reeval_build.render.export import export_json
from reeval_build.stores.local import LocalStore
from tests.docs.pages import CHECKOUT, DOCS, blocks, tables

if TYPE_CHECKING:
    from pathlib import Path

REFERENCE = DOCS / "reference"
DEFINITIONS = REFERENCE / "definitions.md"
HELPERS = {name: getattr(reeval_build, name) for name in reeval_build.__all__}


def table(page: Path, *head: str) -> list[list[str]]:
    """The rows of all tables of a page with this head."""
    return [row for found in tables(page) if found.head == list(head) for row in found.rows]


def key_paths(value: object, above: str = "") -> set[str]:
    """Every key of a JSON value with the keys that lead to it: `cells[].name`."""
    if isinstance(value, list):
        return {path for item in value for path in key_paths(item, f"{above}[]")}
    if isinstance(value, dict):
        below = [key_paths(item, f"{above}.{key}") for key, item in value.items()]
        return {f"{above}.{key}" for key in value}.union(*below)
    return set()


def example(heading: str) -> dict[str, object]:
    """The example below a heading of the page about JSON."""
    text = (REFERENCE / "json.md").read_text(encoding="utf-8")
    line = text[: text.index(f"\n## {heading}\n")].count("\n")
    shown: dict[str, object] = json.loads(
        next(block.text for block in blocks(REFERENCE / "json.md") if block.line > line)
    )
    return shown


def test_pages_are_as_generated():
    script = REFERENCE / "generate.py"

    command, env = [sys.executable, str(script), "--check"], {"PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("written", "message"), table(DEFINITIONS, "written", "message"))
def test_what_is_refused_is_refused_in_these_words(written, message):
    def define():
        fields = eval(written, dict(HELPERS))  # noqa: S307 - an expression from our own page
        define_environment("e", fields)

    with pytest.raises(DefinitionError) as caught:
        define()

    assert caught.value.problems == (message,)


@pytest.mark.parametrize(("helper", "dictionary"), table(DEFINITIONS, "helper", "dictionary"))
def test_a_helper_is_written_as_this_dictionary(helper, dictionary):
    value = eval(helper, dict(HELPERS))  # noqa: S307 - an expression from our own page

    assert value_to_wire(value) == json.loads(dictionary)


def test_every_helper_of_a_field_has_its_dictionary():
    helpers = {row[0].partition("(")[0] for row in table(DEFINITIONS, "helper", "dictionary")}
    kinds = {f"{name}.{one}" for name in ("skill", "mcp", "plugin") for one in dir(HELPERS[name]) if one[0] != "_"}

    assert helpers >= kinds | {"docker", "fake_sandbox", "git", "file", "secret", "secret.from_env", "secret.template"}


def test_the_example_of_a_definition_can_be_defined():
    shown = next(block.text for block in blocks(DEFINITIONS) if block.language == "python")
    namespace: dict[str, object] = {}

    exec(shown, namespace)  # noqa: S102 - from our own page

    assert {value.name for value in namespace.values() if isinstance(value, Environment)} == {"base", "offline"}


def test_what_is_known_of_every_harness_is_shown():
    shown = table(REFERENCE / "harnesses.md", "harness", "rules", "skills it reads", "skills of the workspace")

    assert shown == [
        [harness.kind, harness.rules_file, harness.skills, harness.workspace_skills] for harness in HARNESSES.values()
    ]


def test_every_phase_is_explained():
    shown = [
        phase for phase, *_ in table(DOCS / "explanation" / "keys-and-states.md", "phase", "its work", "its parents")
    ]

    assert shown == list(PHASES)


def test_every_word_is_in_the_glossary_in_order():
    words = re.findall(r"^\*\*(\w+)\*\*:", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert words == sorted(words)
    assert set(words) >= {
        *("environment", "layer", "harness", "cell", "phase", "node", "key", "blob", "tree", "state"),
        *("snapshot", "record", "store", "remote", "engine"),
    }


def test_the_store_has_what_the_page_says(tmp_path):
    with LocalStore(tmp_path / "store") as store:
        store.tally.take(1)
        found = {f"{path.name}/" if path.is_dir() else path.name for path in (tmp_path / "store").iterdir()}

    shown = {path for path, _ in table(REFERENCE / "store.md", "path", "what is in it")}
    assert shown == {name for name in found if not name.endswith(("-wal", "-shm"))}


def test_the_database_has_the_tables_that_the_page_says(tmp_path):
    with LocalStore(tmp_path / "store") as store:
        store.stats.save(b"root", {})
        nothing = BLOB.digest(b"")
        store.facts.keep([Fact(question=nothing, about=nothing, answer=b"")])
        connection = sqlite3.connect(tmp_path / "store" / "store.sqlite")
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for name in names}
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.close()

    shown = table(REFERENCE / "store.md", "table", "columns", "a row for")
    shown += table(REFERENCE / "store.md", "table", "columns", "remembers")
    assert {name: re.findall(r"\w+", columns) for name, columns, _ in shown} == found
    assert (REFERENCE / "store.md").read_text(encoding="utf-8").startswith(f"# The store directory, format {version}\n")


@pytest.mark.parametrize(
    ("heading", "command"),
    [
        ("build --json", ["build", "--json", "environments.py"]),
        ("graph --format json", ["graph", "--format=json", "environments.py"]),
    ],
)
def test_a_command_prints_the_keys_that_the_page_says(heading, command, quickstart, reader):
    done = subprocess.run(
        ["reeval-build", *command, "--sandbox=fake"], cwd=quickstart, env=reader, capture_output=True, check=True
    )

    assert key_paths(json.loads(done.stdout)) == key_paths(example(heading))


def _of_any_phase(value: dict[str, Any]) -> dict[str, Any]:
    """An object whose phases are a list, for there are some or others."""
    return {**value, "phases": list(value.get("phases", {}).values())}


@pytest.mark.parametrize("command", [["du"], ["stats"], ["gc", "--budget=0"]], ids=lambda words: words[0])
def test_a_command_about_the_store_prints_the_keys_that_the_page_says(command, quickstart, reader):
    store = quickstart / "store"
    environment = {**reader, "REEVAL_BUILD_HOME": str(store)}
    subprocess.run(
        ["reeval-build", "build", "--sandbox=fake"], cwd=quickstart, env=environment, capture_output=True, check=True
    )

    # What is in use is only shown while something uses it.
    run = ["reeval-build", "run", "--sandbox=fake", "environments.py::base@fake", "--"]
    shown_by = ["reeval-build", "cache", *command, "--json", f"--store={store}"]
    done = subprocess.run([*run, *shown_by], cwd=quickstart, env=environment, capture_output=True, check=True)

    printed, _rest = json.JSONDecoder().raw_decode(done.stdout.decode())
    assert key_paths(_of_any_phase(printed)) == key_paths(_of_any_phase(example(f"cache {command[0]} --json")))


def test_verify_prints_the_keys_that_the_page_says(quickstart, reader):
    store = quickstart / "store"
    environment = {**reader, "REEVAL_BUILD_HOME": str(store)}
    subprocess.run(
        ["reeval-build", "build", "--sandbox=fake"], cwd=quickstart, env=environment, capture_output=True, check=True
    )
    for pack in (store / "packs").iterdir():
        pack.unlink()

    command = ["reeval-build", "cache", "verify", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)

    assert key_paths(json.loads(done.stdout)) == key_paths(example("cache verify --json"))


def test_what_the_page_says_that_export_writes_can_be_read():
    text = (REFERENCE / "json.md").read_text(encoding="utf-8")
    line = text[: text.index("\n## export\n")].count("\n")
    shown = [json.loads(block.text) for block in blocks(REFERENCE / "json.md") if block.line > line]

    found = [found_in(document, file="x.json", directory=REFERENCE) for document in shown]

    assert [json.loads(export_json(one)) for one in found] == shown


def test_run_writes_the_keys_that_the_page_says(quickstart, reader):
    script = "rm README.md; ln -s data latest"
    command = [
        "reeval-build",
        "run",
        "--sandbox=fake",
        "--diff-json=changes.json",
        "base@fake",
        "--",
        "sh",
        "-c",
        script,
    ]

    subprocess.run(command, cwd=quickstart, env=reader, capture_output=True, check=True)

    changes = json.loads((quickstart / "changes.json").read_text(encoding="utf-8"))
    assert key_paths(changes) == key_paths(example("run --diff-json FILE"))
