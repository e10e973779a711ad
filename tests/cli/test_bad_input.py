"""Bad input of every kind of source: who is told what, that other cells are built, and that nothing of it is kept."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import pytest

from reeval_build.digest import TREE, Digest
from reeval_build.paths import check_link, check_name
from reeval_build.stores.local import LocalStore
from reeval_build.tree.directory import decode, walk
from tests.cli.bad_inputs import World
from tests.sources.npm_registry import npm_registry
from tests.sources.npm_world import NEEDS_NPM
from tests.sources.servers import git_over_http
from tests.support.cli import Built, Done, ReevalBuild, assert_nothing_is_left
from tests.support.index import opened_index
from tests.support.projects import Project
from tests.support.users import checked_by_permissions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reeval_build.plan.outputs import Output

pytestmark = NEEDS_NPM

TABLE: Final = tomllib.loads(Path(__file__).with_name("bad_inputs.toml").read_text(encoding="utf-8"))
NOT_TRIED: Final = TABLE.pop("not tried")
ROWS: Final[dict[str, dict[str, Any]]] = {
    f"{kind} {variant}": row for kind, variants in TABLE.items() for variant, row in variants.items()
}
VARIANTS: Final = ("missing", "malformed", "huge", "escape", "link", "nul", "unreadable")
DEFINITION, INFRA = 2, 3
# What builds all of it, with npm below it: several times what it needs, and a fraction of what is tried.
MOST_KIB: Final = 256 * 1024

IMPORTS: Final = "from reeval_build import directory, plugin, skill\n"
# Runs a command and writes down how much memory it and what it started had at most, in KiB.
MEASURED: Final = (
    "import resource, subprocess, sys; done = subprocess.run(sys.argv[2:]);"
    "open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss));"
    "sys.exit(done.returncode)"
)


@attrs.frozen
class Tried:
    """Everything was tried: what was said of each row by its name, how the build of most of it ended, and its store."""

    said: dict[str, str]
    built: Built
    store: Path
    memory_kib: int


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    directory = tmp_path_factory.mktemp("bad")
    project = Project(directory / "project")
    project.directory.mkdir(exist_ok=True)
    with npm_registry() as registry, git_over_http(project.directory / "served", "password") as server:
        World(project, registry).make()
        npmrc = project.write("npmrc", f"registry={registry.url}/public/\n")
        measured = (sys.executable, "-c", MEASURED, str(directory / "memory"))
        reeval = ReevalBuild(
            project.directory,
            directory / "store",
            env={"NPM_CONFIG_USERCONFIG": str(npmrc)},
            prefix=(*measured, *checked_by_permissions()),
        )
        places = {"{root}": str(project.directory), "{git}": server.url}
        yield try_all(project, reeval, places)


def try_all(project: Project, reeval: ReevalBuild, places: dict[str, str]) -> Tried:
    """Mistakes of definitions, those that only show in a plan, and all else: three files, of which one is built."""
    cells = {name: f"e{number}" for number, name in enumerate(ROWS)}
    planned = [name for name, row in ROWS.items() if row["code"] == DEFINITION and name.startswith("plugin directory")]
    defined = [name for name, row in ROWS.items() if row["code"] == DEFINITION and name not in planned]
    others = [name for name, row in ROWS.items() if row["code"] == INFRA]
    for path, names in (("definitions.py", defined), ("plans.py", planned), ("env.py", others)):
        write(project, path, {cells[name]: name for name in names}, places)
    mistakes = reeval("build", "definitions.py", code=DEFINITION).messages
    said = dict(zip(defined, (line.partition(".py: ")[2] for line in mistakes), strict=True))
    said |= by_row(reeval("build", "plans.py", code=DEFINITION), cells)
    built = reeval.build("env.py", code=INFRA)
    said |= by_row(built, cells)
    memory = int((project.directory.parent / "memory").read_text())
    shown = {name: hidden(text, {**places, '("{cell}")': f'("{cells[name]}")'}) for name, text in said.items()}
    return Tried(shown, built, reeval.store, memory)


def write(project: Project, path: str, rows: dict[str, str], places: dict[str, str]) -> None:
    text = IMPORTS + 'good = define_environment("good", {"sandbox": fake_sandbox(), "setup": ["echo good > good"]})\n'
    for cell, name in rows.items():
        written = ROWS[name]["written"].replace("{git}", places["{git}"])
        text += f'{cell} = define_environment("{cell}", {{"sandbox": fake_sandbox(), {written}}})\n'
    project.define(text, path=path)


def by_row(done: Done, cells: dict[str, str]) -> dict[str, str]:
    """What is said of each cell, by its row: `FILE: CELL, ...: TEXT`."""
    names = {f"{cell}@fake": name for name, cell in cells.items()}
    said: dict[str, str] = {}
    for line in done.messages:
        about, _, text = line.partition(".py: ")[2].partition(": ")
        for name in [names[cell] for cell in about.split(", ") if cell in names]:
            assert name not in said, f"{name} failed for two reasons: {said[name]}, {text}"
            said[name] = text
    return said


def hidden(text: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        text = text.replace(place, name)
    return text


@pytest.mark.parametrize("name", ROWS)
def test_what_is_bad_is_named_with_its_source(tried: Tried, name: str) -> None:
    said = tried.said[name]

    assert said.startswith(ROWS[name]["said"])
    assert len(said) < 1000
    assert said.isprintable()


def test_each_kind_of_source_is_tried_in_every_way_it_can_be_bad() -> None:
    every = {f"{kind} {variant}" for kind in TABLE for variant in VARIANTS}

    assert every - ROWS.keys() == set(NOT_TRIED)


def test_what_has_nothing_to_do_with_it_is_built(tried: Tried) -> None:
    cells = {cell["environment"]: cell["status"] for cell in tried.built.value["cells"]}

    assert cells.pop("good") == "ran"
    assert set(cells.values()) == {"failed"}
    assert len(cells) == sum(row["code"] == INFRA for row in ROWS.values())


def test_nothing_of_it_can_be_found_in_the_store(tried: Tried) -> None:
    failed = [node["key"] for node in tried.built.nodes if node["status"] in {"failed", "skipped"}]
    with opened_index(tried.store) as database:
        kept = {key.hex() for (key,) in database.execute("SELECT recipe FROM recipes")}
        names = [name for (name,) in database.execute("SELECT name FROM cells")]
        records = [Digest(key) for (key,) in database.execute("SELECT key FROM records")]

    assert failed
    assert kept.isdisjoint(failed)
    assert names == ["good@fake"]
    with LocalStore(tried.store) as store:
        for key in records:
            record = store.records.find(key)
            assert record is not None
            for tree in trees(record.output):
                for parts, entry in walk(tree, lambda digest: decode(store.objects.read(TREE, digest))):
                    check_name(parts[-1])
                    assert entry.target is None or check_link(parts, entry.target)


def trees(output: Output) -> Iterator[Digest]:
    """The trees that an output consists of."""
    for field in ("workspace", "home", "baseline", "placed"):
        digest = getattr(output, field, None)
        if digest is not None:
            yield digest


def test_nothing_is_left_behind_and_little_memory_was_needed(tried: Tried) -> None:
    assert_nothing_is_left(tried.store)
    assert tried.memory_kib < MOST_KIB
