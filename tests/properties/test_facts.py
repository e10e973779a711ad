"""What is remembered of trees is what reading them finds, whatever they become and whatever is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
from hypothesis import example, given
from hypothesis import strategies as st

from reeval_build.content.problems import ContentError
from reeval_build.content.skills import find_skills
from reeval_build.model.skills import LocalSkills
from tests.support.memory_store import MemoryFacts
from tests.unit.content.shelf import LINK, Shelf, skill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reeval_build.content.material import Material
    from reeval_build.digest import Digest

# The same directory in several places and at several depths, where patterns and links mean something else.
PLACES: Final = ("one/", "two/", "one/evals/", "one/a/evals/", "one/a/", "two/a/b/")
NAMES: Final = ("SKILL.md", "x", "x.eval.ts", ".git/config", "link")
CONTENTS: Final = (
    skill(),
    skill("other"),
    skill("Not Kebab"),
    "no front matter",
    f"{LINK}x",
    f"{LINK}../x",
    f"{LINK}../../x",
)
PATTERNS: Final = (None, (), ("/evals/",), ("evals",), ("a/evals",), ("x*",), ("link", "/a/"), ("\ud800",), ("*.md",))

edits = st.tuples(st.sampled_from(PLACES), st.sampled_from(NAMES), st.sampled_from((*CONTENTS, None)))
SKILL: Final = [("one/", "SKILL.md", skill())]


@attrs.frozen
class Look:
    """Skills are looked for with these patterns."""

    exclude: tuple[str, ...] | None
    only: tuple[str, ...] | None = None


looks = st.builds(Look, st.sampled_from(PATTERNS), st.sampled_from([None, ("one",), ("other",)]))


@given(st.lists(edits | looks, max_size=20))
@example([*SKILL, ("one/a/", "link", f"{LINK}../x"), Look(()), ("one/", "link", f"{LINK}../x"), Look(())])
@example([*SKILL, ("one/a/evals/", "x", skill()), Look(("a/evals",)), ("one/evals/", "x", skill()), Look(("/evals/",))])
def test_what_is_remembered_is_what_reading_finds(steps: Sequence[tuple[str, str, str | None] | Look]) -> None:
    shelf, facts = Shelf(), MemoryFacts()
    remembering = attrs.evolve(shelf.material, facts=facts)
    files: dict[str, str | bytes] = {}

    for step in [*steps, *(Look(patterns) for patterns in PATTERNS)]:
        if isinstance(step, Look):
            tree = shelf.tree(files)
            source = LocalSkills(path="/s", exclude=step.exclude, only=step.only)
            first, again, without = (outcome(source, tree, one) for one in (remembering, remembering, shelf.material))
            assert first == again == without
        else:
            _edit(files, step)


def _edit(files: dict[str, str | bytes], edit: tuple[str, str, str | None]) -> None:
    place, name, content = edit
    if content is None:
        files.pop(place + name, None)
    else:
        files[place + name] = content


def outcome(source: LocalSkills, tree: Digest, material: Material) -> object:
    """What is found, with its warnings, or what is said."""
    try:
        found = find_skills(source, tree, material)
    except ContentError as error:
        return str(error)
    return found, found.warnings
