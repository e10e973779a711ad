from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reeval_build.content.frontmatter import read_frontmatter
from reeval_build.content.inline_skill import quoted, write_inline_skill
from reeval_build.content.problems import ContentError
from reeval_build.content.skills import find_skills
from reeval_build.model.skills import InlineSkill, LocalSkills
from tests.unit.content.shelf import Shelf


def inline(**fields):
    return InlineSkill(**({"name": "tabs", "description": "Use tabs.", "content": "# Tabs\n"} | fields))


@pytest.mark.conforms("99")
def test_an_inline_skill_is_frontmatter_content_and_files(shelf):
    written = write_inline_skill(inline(files={"scripts/run.sh": "echo\n", "a.txt": ""}), shelf.material)

    (skill,) = written.skills
    assert (skill.name, skill.description, written.warnings) == ("tabs", "Use tabs.", ())
    assert shelf.files(skill.tree) == {
        "SKILL.md": b'---\nname: tabs\ndescription: "Use tabs."\n---\n\n# Tabs\n',
        "scripts/run.sh": b"echo\n",
        "a.txt": b"",
    }


@pytest.mark.conforms("99")
@given(
    st.from_regex(r"[a-z0-9]{1,4}(-[a-z0-9]{1,3}){0,2}", fullmatch=True)
    | st.sampled_from(["null", "true", "no", "on", "y", "12", "1e5", "0x1f", "2026-01-01", "1-2"]),
    st.text(min_size=1, max_size=40).filter(str.strip),
    st.text(max_size=40),
)
def test_what_is_written_is_read_back_as_the_same_skill(name, description, content):
    shelf = Shelf()

    (written,) = write_inline_skill(inline(name=name, description=description, content=content), shelf.material).skills
    (read,) = find_skills(LocalSkills(path="/s"), written.tree, shelf.material).skills

    assert read == written
    assert shelf.files(written.tree)["SKILL.md"].endswith(b"---\n\n" + content.encode())


@given(st.text())
def test_every_text_is_quoted_on_one_line_that_yaml_reads_back(text):
    assert yaml.safe_load(quoted(text)) == text
    assert not set(quoted(text)) & set("\n\r\x85\u2028\u2029\ufeff\0")


@pytest.mark.parametrize("description", ["a\n---\nname: b", 'q"\\', "\u2028x", "\x7f\0", "😀é", "-", "# no", "{{x}}"])
def test_a_description_cannot_end_the_frontmatter_or_add_to_it(shelf, description):
    (skill,) = write_inline_skill(inline(description=description), shelf.material).skills

    data = shelf.files(skill.tree)["SKILL.md"]
    assert read_frontmatter(data, "SKILL.md", where="here") == {"name": "tabs", "description": description}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "House Style"}, 'skill.inline("House Style") has the name "House Style", which is not kebab-case'),
        ({"name": ""}, "is not kebab-case"),
        ({"description": ""}, 'skill.inline("tabs") has an empty description'),
        ({"description": " \n"}, "has an empty description"),
        ({"description": "\ud800"}, "is not valid Unicode text"),
        ({"content": "\ud800"}, '"SKILL.md" in skill.inline("tabs") is not valid Unicode text'),
        ({"files": {"a": "\ud800"}}, '"a" in skill.inline("tabs") is not valid Unicode text'),
        ({"files": {"\ud800": ""}}, "is not valid Unicode text"),
        ({"files": {"../a": ""}}, "'..'"),
        ({"files": {"/a": ""}}, '"/a" in skill.inline("tabs") is absolute'),
        ({"files": {"a\\b": ""}}, "has a backslash"),
        ({"files": {"": ""}}, "is not a name"),
        ({"files": {"a\0": ""}}, "a NUL in it"),
        ({"files": {"SKILL.md": ""}}, "is made of `content`"),
        ({"files": {"SKILL.md/x": ""}}, "goes through 'SKILL.md', which is not a directory"),
        ({"files": {".git/config": ""}}, "is never part of a skill"),
        ({"files": {"a": "", "a/b": ""}}, "goes through 'a', which is not a directory"),
    ],
)
def test_what_no_skill_can_be_is_an_infrastructure_error(shelf, fields, message):
    with pytest.raises(ContentError) as caught:
        write_inline_skill(inline(**fields), shelf.material)

    assert message in str(caught.value)


def test_a_long_description_is_a_warning(shelf):
    (warning,) = write_inline_skill(inline(description="d" * 1025), shelf.material).warnings

    assert warning == 'skill.inline("tabs") has a description longer than 1024 characters'
