from __future__ import annotations

import attrs
import pytest

from reeval_build.content.material import MAX_DOCUMENT_BYTES
from reeval_build.content.problems import ContentError
from reeval_build.content.skills import RegistryAddress, find_skills, registry_address
from reeval_build.errors import InfraError, PlanError
from reeval_build.model.skills import GitSkills, LocalSkills, NpmSkills, RegistrySkill
from tests.support.memory_store import MemoryFacts
from tests.unit.content.shelf import skill

LOCAL = LocalSkills(path="/home/me/skills")
GIT = GitSkills(repo="github:acme/tools", url="https://example.com/acme/tools.git")


def names(shelf, source, files):
    return [found.name for found in find_skills(source, shelf.tree(files), shelf.material).skills]


def refusal(shelf, source, files) -> ContentError:
    with pytest.raises(ContentError) as caught:
        find_skills(source, shelf.tree(files), shelf.material)
    return caught.value


@pytest.mark.conforms("92")
def test_a_directory_with_a_skill_file_is_one_skill(shelf):
    found = find_skills(LOCAL, shelf.tree({"SKILL.md": skill("review"), "sub/SKILL.md": skill()}), shelf.material)

    assert [one.name for one in found.skills] == ["review"]
    assert shelf.paths(found.skills[0].tree) == ["SKILL.md", "sub/SKILL.md"]


@pytest.mark.conforms("92")
def test_a_directory_of_such_directories_is_many_skills_by_name_and_deeper_ones_are_not_searched(shelf):
    files = {
        "b/SKILL.md": skill(),
        "a/SKILL.md": skill(),
        "group/deep/SKILL.md": skill(),
        "README.md": "",
        "empty/": "",
    }

    assert names(shelf, LOCAL, files) == ["a", "b"]


@pytest.mark.conforms("92")
@pytest.mark.parametrize("files", [{}, {"README.md": ""}, {".git/SKILL.md": skill()}, {"a/b/SKILL.md": "link to x"}])
def test_a_source_without_skills_is_an_infrastructure_error(shelf, files):
    error = refusal(shelf, LOCAL, files)

    assert isinstance(error, InfraError)
    assert str(error) == 'skill.local("/home/me/skills") has no SKILL.md, and no directory in it has one'


@pytest.mark.conforms("92")
@pytest.mark.parametrize(
    ("source", "hint"),
    [
        (LOCAL, "it has skills in: skills/.curated, skills/writing"),
        (GIT, "it has skills in: skills/.curated, skills/writing; name one as `path`"),
        (
            NpmSkills(spec="p@1.0.0", path="lib"),
            "it has skills in: skills/.curated, skills/writing; name one as `path`",
        ),
        (RegistrySkill(id="acme/tools@a"), "it has skills in: skills/.curated, skills/writing"),
    ],
)
def test_skills_that_are_deeper_are_not_searched_and_told_of(shelf, source, hint):
    files = {f"skills/{path}/SKILL.md": skill() for path in (".curated/a", ".curated/b", "writing/c")}

    assert refusal(shelf, source, files).hint == hint


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        ({"SKILL.md": skill()}, "it has skills in: .; name one as `path`"),
        ({"prompts/SKILL.md": skill()}, "it has skills in: prompts; name one as `path`"),
    ],
)
def test_the_hint_of_a_package_is_a_path_that_has_them(shelf, files, hint):
    assert refusal(shelf, NpmSkills(spec="p@1.0.0"), files).hint == hint
    path = hint.removeprefix("it has skills in: ").partition(";")[0]
    assert names(shelf, NpmSkills(spec="p@1.0.0", path=path), files) == ["p" if path == "." else path]


@pytest.mark.conforms("93")
def test_a_name_defaults_to_the_directory(shelf):
    assert names(shelf, LOCAL, {"house-style/SKILL.md": skill()}) == ["house-style"]
    assert names(shelf, LocalSkills(path="/x/tabs"), {"SKILL.md": skill()}) == ["tabs"]
    assert names(shelf, GIT, {"SKILL.md": skill()}) == ["tools"]
    assert names(shelf, GitSkills(repo="r", url="git@h:o/r.git"), {"SKILL.md": skill()}) == ["r"]
    assert names(shelf, NpmSkills(spec="@acme/pack@1.0.0"), {"skills/SKILL.md": skill()}) == ["skills"]
    assert names(shelf, NpmSkills(spec="@acme/pack@1.0.0", path="."), {"SKILL.md": skill()}) == ["pack"]
    assert names(shelf, NpmSkills(spec="pack", path="./"), {"SKILL.md": skill()}) == ["pack"]


@pytest.mark.conforms("93")
def test_the_caller_may_say_what_the_root_of_a_local_tree_is_called(shelf):
    tree = shelf.tree({"SKILL.md": skill()})

    assert find_skills(LOCAL, tree, shelf.material, directory_name="tabs").skills[0].name == "tabs"


@pytest.mark.conforms("93")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (skill("House Style"), 'has the name "House Style", which is not kebab-case'),
        (skill("house_style"), "is not kebab-case"),
        (skill("-a"), "is not kebab-case"),
        (skill("a--b"), "is not kebab-case"),
        (skill("a-"), "is not kebab-case"),
        (skill("''"), "is not kebab-case"),
        (skill("é"), "is not kebab-case"),
        (skill("../a"), "is not kebab-case"),
        (skill("12"), "has a name that is not text: 12"),
        (skill("[a]"), "has a name that is not text"),
        (skill("a" * 256), "has a name longer than 255 characters"),
        ("---\nname: a\n---\n", "has no description"),
        ("---\nname: a\ndescription:\n---\n", "has no description"),
        ("---\nname: a\ndescription: ''\n---\n", "has an empty description"),
        ("---\nname: a\ndescription: [b]\n---\n", "has a description that is not text"),
        ('---\ndescription: "\\uD800"\n---\n', "has a description that is not valid Unicode text"),
        ("no frontmatter", "has no frontmatter"),
    ],
)
def test_a_malformed_skill_is_an_infrastructure_error_that_names_its_file(shelf, text, reason):
    error = refusal(shelf, GIT, {"skills/a/SKILL.md": text})

    assert (error.where, error.path) == ('skill.git("github:acme/tools")', "skills/a/SKILL.md")
    assert reason in error.reason


@pytest.mark.conforms("93")
def test_a_directory_that_cannot_name_a_skill_is_refused_when_the_skill_does_not_name_itself(shelf):
    assert "not kebab-case" in str(refusal(shelf, LOCAL, {"My Skill/SKILL.md": skill()}))
    assert names(shelf, LOCAL, {"My Skill/SKILL.md": skill("mine")}) == ["mine"]


def test_beyond_the_limits_of_the_specification_there_is_a_warning(shelf):
    text = skill("a" * 65, "d" * 1025)

    found = find_skills(LOCAL, shelf.tree({f"{'a' * 65}/SKILL.md": text}), shelf.material)

    assert [warning.partition(" has ")[2] for warning in found.warnings] == [
        "a name longer than 64 characters",
        "a description longer than 1024 characters",
    ]


def test_names_that_are_not_those_of_their_directories_are_one_warning(shelf):
    files = {f"{directory}/SKILL.md": skill(name) for directory, name in (("b", "a"), ("c", "c"), ("d", "e"))}

    (warning,) = find_skills(LOCAL, shelf.tree(files), shelf.material).warnings

    assert warning == (
        'skill.local("/home/me/skills") has skills with another name than their directory, and they go by it: '
        "a (in b), e (in d)"
    )


def test_the_name_of_a_repository_or_package_is_no_directory_to_be_named_after(shelf):
    assert find_skills(GIT, shelf.tree({"SKILL.md": skill("a")}), shelf.material).warnings == ()


@pytest.mark.conforms("94")
def test_only_keeps_the_named_skills(shelf):
    source = LocalSkills(path="/s", only=("b", "c"))
    files = {"a/SKILL.md": skill(), "b/SKILL.md": skill(), "x/SKILL.md": skill("c")}

    assert names(shelf, source, files) == ["b", "c"]


@pytest.mark.conforms("94")
def test_only_with_an_unknown_name_lists_the_skills_found(shelf):
    error = refusal(
        shelf, LocalSkills(path="/s", only=("z",)), {"a/SKILL.md": skill(), "x/SKILL.md": skill("c"), "y/SKILL.md": ""}
    )

    assert isinstance(error, InfraError)
    assert str(error) == ('skill.local("/s") has no skill "z"; the skills found are: a, c, and 1 that cannot be read')


@pytest.mark.conforms("94")
def test_what_is_wrong_with_a_skill_that_only_leaves_out_is_no_error(shelf):
    files = {"a/SKILL.md": skill(), "broken/SKILL.md": "nothing"}

    assert names(shelf, LocalSkills(path="/s", only=("a",)), files) == ["a"]
    assert "has no frontmatter" in str(refusal(shelf, LocalSkills(path="/s", only=("broken",)), files))


def test_two_skills_of_one_name_are_refused_with_both_places(shelf):
    error = refusal(shelf, LOCAL, {"a/SKILL.md": skill("same"), "b/SKILL.md": skill("same")})

    assert str(error) == '"b" in skill.local("/home/me/skills") has the skill "same", and so has "a"'


@pytest.mark.conforms("95")
def test_the_default_exclude_and_git_are_left_out(shelf):
    files = {
        "a/SKILL.md": skill(),
        "a/evals/x": "",
        "a/sub/evals/x": "",
        "a/.history/x": "",
        "a/sub/.history/x": "",
        "a/sub/x.eval.ts": "",
        "a/.git/config": "",
        "a/sub/.git": "",
        "a/keep": "#!/bin/sh",
    }

    (found,) = find_skills(LOCAL, shelf.tree(files), shelf.material).skills

    assert shelf.paths(found.tree) == ["SKILL.md", "keep", "sub/evals/x"]


@pytest.mark.conforms("95")
def test_exclude_replaces_the_defaults(shelf):
    files = {"a/SKILL.md": skill(), "a/evals/x": "", "a/x.eval.ts": "", "a/notes": "", "a/.git/config": ""}

    (found,) = find_skills(LocalSkills(path="/s", exclude=("notes",)), shelf.tree(files), shelf.material).skills

    assert shelf.paths(found.tree) == ["SKILL.md", "evals/x", "x.eval.ts"]


def test_a_skill_file_that_exclude_leaves_out_is_refused(shelf):
    error = refusal(shelf, LocalSkills(path="/s", exclude=("*.md",)), {"a/SKILL.md": skill()})

    assert str(error) == '"a/SKILL.md" in skill.local("/s") is left out by `exclude`, and a skill needs it'


def test_an_untouched_skill_is_the_very_tree_of_its_source(shelf):
    inner = shelf.tree({"SKILL.md": skill(), "x": "1"})

    (found,) = find_skills(LOCAL, shelf.tree({"a/SKILL.md": skill(), "a/x": "1"}), shelf.material).skills

    assert found.tree == inner


@pytest.mark.conforms("96")
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"skills/a/SKILL.md": skill(), "b/SKILL.md": skill()}, ["a"]),
        ({"SKILL.md": skill("root"), "skills/a/SKILL.md": skill()}, ["root"]),
        ({"b/SKILL.md": skill()}, ["b"]),
        ({"skills": "a file", "b/SKILL.md": skill()}, ["b"]),
    ],
)
def test_a_repository_without_a_path_is_read_at_skills_unless_the_root_is_a_skill(shelf, files, expected):
    assert names(shelf, GIT, files) == expected


@pytest.mark.parametrize("path", ["pack/mine", "./pack/mine", "pack/mine/"])
def test_a_path_is_one_skill_or_a_directory_of_them(shelf, path):
    source = GitSkills(repo="r", url="u", path=path)

    assert names(shelf, source, {"pack/mine/SKILL.md": skill(), "skills/a/SKILL.md": skill()}) == ["mine"]
    assert names(shelf, source, {"pack/mine/a/SKILL.md": skill(), "skills/b/SKILL.md": skill()}) == ["a"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nowhere", "is not there"),
        ("file", "is not a directory"),
        ("link", "is a symbolic link, which is not followed"),
        ("../up", "'..'"),
        ("/abs", "is absolute"),
        ("a\\b", "has a backslash; use forward slashes"),
        ("a\0b", "has a slash or a NUL in it"),
        ("\ud800", "is not valid Unicode text"),
        ("a//b", "''"),
    ],
)
@pytest.mark.parametrize("kind", ["git", "npm"])
def test_a_path_that_is_no_directory_of_the_source_is_refused(shelf, kind, path, reason):
    source = GitSkills(repo="r", url="u", path=path) if kind == "git" else NpmSkills(spec="r", path=path)

    error = refusal(shelf, source, {"file": "", "link": "link to sub", "sub/SKILL.md": skill()})

    assert error.where == f'skill.{kind}("r")'
    assert reason in error.reason


def test_a_package_is_read_at_skills(shelf):
    assert names(shelf, NpmSkills(spec="p@1.0.0"), {"skills/a/SKILL.md": skill(), "SKILL.md": skill()}) == ["a"]
    assert refusal(shelf, NpmSkills(spec="p@1.0.0"), {"SKILL.md": skill()}).reason == "is not there"


@pytest.mark.conforms("98")
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"skills/a/SKILL.md": skill(), "skills/b/SKILL.md": "broken", "SKILL.md": skill("a")}, ["a"]),
        ({"a/SKILL.md": skill()}, ["a"]),
        ({"SKILL.md": skill("a")}, ["a"]),
    ],
)
def test_a_registry_gives_the_named_skill_from_skills_when_present_and_else_from_the_root(shelf, files, expected):
    assert names(shelf, RegistrySkill(id="o/r@a"), files) == expected


@pytest.mark.conforms("98")
def test_a_registry_without_the_named_skill_lists_those_it_has(shelf):
    error = refusal(shelf, RegistrySkill(id="o/r@z"), {"skills/a/SKILL.md": skill()})

    assert str(error) == '"skills" in skill.registry("o/r@z") has no skill "z"; the skills found are: a'


@pytest.mark.conforms("98")
def test_a_registry_id_is_a_repository_and_a_name_in_it():
    address = registry_address("vercel-labs/agent-skills@web.design")

    assert address == RegistryAddress(owner="vercel-labs", repository="agent-skills", skill="web.design")
    assert address.url == "https://github.com/vercel-labs/agent-skills.git"


@pytest.mark.conforms("98")
@pytest.mark.parametrize(
    "identifier",
    ["", "a", "o/r", "o/r@", "@s", "o/r@s@t", "o/r/x@s", "o r/x@s", "../r@s", "o/..@s", "o/r@a/b", "-o/r@s", "o/r@s\n"],
)
def test_any_other_registry_id_is_refused_in_the_plan(identifier):
    with pytest.raises(PlanError, match="owner/repo@skill"):
        registry_address(identifier)


def test_a_link_out_of_a_skill_is_refused_with_its_path_unless_it_is_excluded(shelf):
    files = {"shared": "", "a/SKILL.md": skill(), "a/sub/up": "link to ../../shared"}

    error = refusal(shelf, LOCAL, files)

    assert error.path == "a/sub/up"
    assert "is a symbolic link out of its tree" in error.reason
    assert names(shelf, LocalSkills(path="/s", exclude=("up",)), files) == ["a"]


def test_a_link_inside_a_skill_is_kept_as_it_is(shelf):
    files = {"a/SKILL.md": skill(), "a/sub/to": "link to ../SKILL.md"}

    (found,) = find_skills(LOCAL, shelf.tree(files), shelf.material).skills

    assert shelf.files(found.tree)["sub/to"] == b"../SKILL.md"


def test_links_are_not_followed_to_find_skills(shelf):
    files = {"a/SKILL.md": skill(), "b": "link to a"}

    found = find_skills(LOCAL, shelf.tree(files), shelf.material)

    assert [one.name for one in found.skills] == ["a"]
    assert [warning.partition(" in ")[0] for warning in found.warnings] == ['"b"']
    assert "is a symbolic link, which is not followed" in str(refusal(shelf, LOCAL, {"a/SKILL.md": "link to x"}))


def test_a_skill_file_that_is_a_directory_or_too_large_is_refused_unread(shelf):
    assert "is a directory, not a file" in str(refusal(shelf, LOCAL, {"a/SKILL.md/x": ""}))
    assert "bytes, more than the" in str(refusal(shelf, LOCAL, {"a/SKILL.md": b"-" * (MAX_DOCUMENT_BYTES + 1)}))
    assert shelf.read == []


def test_a_directory_whose_name_is_not_text_is_shown_escaped(shelf):
    error = refusal(shelf, LOCAL, {"a\udcff/SKILL.md": skill()})

    assert 'has the name "a\\xff"' in str(error)


def many_files(*, changed: str = "") -> dict[str, str]:
    """Skills with many directories, in which one file may be another."""
    files = {f"{name}/{one}/{other}/x": "1" for name in "ab" for one in range(5) for other in range(5)}
    return files | {"a/SKILL.md": skill(), "b/SKILL.md": skill("other")} | ({changed: "2"} if changed else {})


@pytest.fixture
def remembering(shelf):
    return attrs.evolve(shelf.material, facts=MemoryFacts())


def reads(shelf, work):
    """How many directories, and how many files, are read."""
    directories, files = len(shelf.loaded), len(shelf.read)
    work()
    return len(shelf.loaded) - directories, len(shelf.read) - files


def test_of_skills_that_were_looked_at_only_the_place_of_each_is_read(shelf, remembering):
    tree = shelf.tree(many_files())

    first = reads(shelf, lambda: find_skills(LOCAL, tree, remembering))
    again = reads(shelf, lambda: find_skills(LOCAL, tree, remembering))

    assert first[0] > 1 + 5 + 25
    assert first[1] == 2
    assert again[0] < 10
    assert again[1] == 0


def test_of_a_skill_with_a_changed_file_only_the_directories_above_it_are_read(shelf, remembering):
    before, after = shelf.tree(many_files()), shelf.tree(many_files(changed="a/3/3/x"))
    find_skills(LOCAL, before, remembering)

    nothing = reads(shelf, lambda: find_skills(LOCAL, before, remembering))
    changed = reads(shelf, lambda: find_skills(LOCAL, after, remembering))

    assert (changed[0] - nothing[0], changed[1]) == (3, 0)
