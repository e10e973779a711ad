"""Writes docs/reference/conformance.md: which test holds which documented behaviour.

A test says so with `@pytest.mark.conforms("57", "fault 11", "exit 2", "message: rules")`, by the names in
`documented.toml`, which also says why no test holds what none holds. Run `python -m tests.support.conformance` after
changing either. It fails when something documented has neither a test nor a reason, or both; with --check it writes
nothing, fails when the page is out of date, and says which tests the page lists that are not there any more. A unit
test runs it so.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tomllib
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CHECKOUT: Final = Path(__file__).parents[2]
PAGE: Final = _CHECKOUT / "docs" / "reference" / "conformance.md"
_DOCUMENTED: Final = Path(__file__).with_name("documented.toml")
_NAME: Final = _DOCUMENTED.relative_to(_CHECKOUT)
_HEAD: Final = """\
# Conformance

<!-- Written by `python -m tests.support.conformance` from the marks of the tests; mark a test, then run it. -->

Which test holds which documented behaviour, or why none does.
"""
# In documented.toml, in a mark, and as the page calls it.
_SECTIONS: Final = {
    "checklist": ("", "The environment model"),
    "messages": ("message: ", "What authors are told"),
    "exit": ("exit ", "Exit codes"),
    "faults": ("fault ", "Faults that must not be possible"),
}
_LISTED: Final = re.compile(r"\[`(?P<file>[^`]+)`\]\([^)]*\) (?P<name>[^<|]+?)(?= <br>| \|)")


class UnknownBehaviourError(Exception):
    """Tests are marked with something that is not documented."""

    def __init__(self, unknown: Iterable[str]) -> None:
        super().__init__("\n".join(["not in tests/support/documented.toml:", *unknown]))


class UnaccountedBehaviourError(Exception):
    """Something is documented that has neither a test nor a reason for having none, or has both."""

    def __init__(self, neither: Iterable[str], both: Iterable[str]) -> None:
        super().__init__(
            "\n".join(
                [
                    *(f"{name!r} has no test: mark one, or say why not in [not-held] of {_NAME}" for name in neither),
                    *(f"{name!r} has a test: take it out of [not-held] of {_NAME}" for name in both),
                ]
            )
        )


class CollectionError(Exception):
    """The tests could not be collected."""


@attrs.frozen(order=True)
class Held:
    """A test, once however many parameters it has."""

    file: str
    name: str

    @property
    def sentence(self) -> str:
        """The test's name as the sentence it is."""
        return self.name.rpartition("::")[2].removeprefix("test_").replace("_", " ")

    @property
    def link(self) -> str:
        """How the page lists it."""
        return f"[`{self.file.removeprefix('tests/')}`](../../{self.file}) {self.sentence}"


class _Collector:
    """A pytest plugin that notes what the collected tests are marked with."""

    def __init__(self) -> None:
        self.held: dict[str, set[Held]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            if item.get_closest_marker("xfail") is not None:
                # It says what is not held.
                continue
            file, _, name = item.nodeid.partition("[")[0].partition("::")
            for mark in item.iter_markers("conforms"):
                for behaviour in mark.args:
                    self.held.setdefault(str(behaviour), set()).add(Held(file, name))


def collect() -> dict[str, set[Held]]:
    """The tests that hold each behaviour. Raises CollectionError when a test cannot be collected."""
    collector, said = _Collector(), io.StringIO()
    with redirect_stdout(said):
        code = pytest.main(
            ["--collect-only", "--quiet", "-p", "no:cacheprovider", f"--rootdir={_CHECKOUT}", str(_CHECKOUT / "tests")],
            plugins=[collector],
        )
    if code != pytest.ExitCode.OK:
        raise CollectionError(said.getvalue())
    return collector.held


@attrs.frozen
class Documented:
    """All that is documented: the sections of the page by title, and why no test holds what none holds.

    A section has the name and the text of each behaviour, by what marks call it.
    """

    sections: Mapping[str, Mapping[str, tuple[str, str]]]
    not_held: Mapping[str, str]

    @classmethod
    def read(cls) -> Documented:
        """What `documented.toml` says."""
        written = tomllib.loads(_DOCUMENTED.read_text(encoding="utf-8"))
        sections = {
            title: {f"{prefix}{name}": (name, text) for name, text in written[section].items()}
            for section, (prefix, title) in _SECTIONS.items()
        }
        return cls(sections, written["not-held"])

    @property
    def behaviours(self) -> set[str]:
        """What marks may name."""
        return {behaviour for section in self.sections.values() for behaviour in section}


def check(held: Mapping[str, set[Held]], documented: Documented) -> None:
    """See that everything documented has a test or a reason.

    Raises:
        UnknownBehaviourError: for marks and reasons of what is not documented.
        UnaccountedBehaviourError: for what has neither, and for what has both.
    """
    known = documented.behaviours
    unknown = [f"  {name!r} on {test.file}::{test.name}" for name in held.keys() - known for test in sorted(held[name])]
    unknown += [f"  {name!r} in [not-held]" for name in documented.not_held.keys() - known]
    if unknown:
        raise UnknownBehaviourError(sorted(unknown))
    neither, both = known - held.keys() - documented.not_held.keys(), held.keys() & documented.not_held.keys()
    if neither or both:
        raise UnaccountedBehaviourError(sorted(neither), sorted(both))


def page(held: Mapping[str, set[Held]], documented: Documented) -> str:
    """The whole page."""
    sections = documented.sections.items()
    return "\n".join([_HEAD, *(line for title, rows in sections for line in _section(title, rows, held, documented))])


def _section(
    title: str, rows: Mapping[str, tuple[str, str]], held: Mapping[str, set[Held]], documented: Documented
) -> Iterator[str]:
    count = sum(behaviour in held for behaviour in rows)
    yield from (f"## {title}", "", f"{count} of {len(rows)} are held by a test.", "")
    yield from ("| | behaviour | held by |", "|---|---|---|")
    for behaviour, (name, text) in rows.items():
        tests = " <br> ".join(test.link for test in sorted(held.get(behaviour, ())))
        yield f"| {name} | {_cell(text)} | {tests or _cell(documented.not_held[behaviour])} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def listed(text: str) -> set[tuple[str, str]]:
    """The tests that a page lists, by file and sentence."""
    return {(found["file"], found["name"]) for found in _LISTED.finditer(text)}


def complaint(kept: str, made: str) -> str | None:
    """What is wrong with the page that is kept, or None when it is the one that would be made."""
    if kept == made:
        return None
    missing = sorted(listed(kept) - listed(made))
    lines = [f"{PAGE.relative_to(_CHECKOUT)} is out of date: run `python -m tests.support.conformance`"]
    lines += [f"  it lists a test that is not there: {file}: {sentence}" for file, sentence in missing]
    return "\n".join(lines)


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the page is out of date")
    checks_only = parser.parse_args().check
    documented = Documented.read()
    try:
        held = collect()
        check(held, documented)
    except (UnknownBehaviourError, UnaccountedBehaviourError, CollectionError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    made = page(held, documented)
    if not checks_only:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    problem = complaint(PAGE.read_text(encoding="utf-8"), made)
    if problem is not None:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
