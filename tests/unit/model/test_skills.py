"""Skills: what the helper and dictionaries make, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reeval_build import DEFAULT_SKILL_EXCLUDE, plugin, skill
from reeval_build.errors import DefinitionError
from reeval_build.model.skills import GitSkills, InlineSkill, LocalSkills, NpmSkills, RegistrySkill
from tests.support.definitions import mistakes, spec_of
from tests.support.names import name_of

HERE = Path(__file__).parent
WHERE = 'defineEnvironment("e")'


def problems(make) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        make()
    return caught.value.problems


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (skill.local("./s"), LocalSkills(path=f"{HERE}/s")),
        (skill.local("/s", only=["a", "a"], exclude=[]), LocalSkills(path="/s", only=("a",), exclude=())),
        (
            skill.local("s", exclude=[*DEFAULT_SKILL_EXCLUDE, "*.bak"], placement="workspace"),
            LocalSkills(
                path=f"{HERE}/s", exclude=("/evals/", ".history/", "*.eval.ts", "*.bak"), placement="workspace"
            ),
        ),
        (skill.git("github:o/r"), GitSkills(repo="github:o/r", url="https://github.com/o/r.git")),
        (
            skill.git("https://github.com/o/r/tree/v1/a"),
            GitSkills(repo="https://github.com/o/r/tree/v1/a", url="https://github.com/o/r.git", ref="v1", path="a"),
        ),
        (skill.git("git@h:o/r", ref="v1", path="b").path, "b"),
        (skill.npm("@acme/s@1.0.0"), NpmSkills(spec="@acme/s@1.0.0", path="skills")),
        (skill.npm("./s", path=".").spec, f"file:{HERE}/s"),
        (skill.npm("file:../s.tgz").spec, f"file:{HERE.parent}/s.tgz"),
        (skill.npm("file:/s").spec, "file:/s"),
        (skill.npm("/s").spec, "file:/s"),
        (skill.npm(".").spec, f"file:{HERE}"),
        (skill.registry("o/r@s"), RegistrySkill(id="o/r@s")),
        (skill.registry("o/r@s", version="v1").version, "v1"),
        (
            skill.inline(name="a", description="d", content="c", files={"x/y": "z"}),
            InlineSkill(name="a", description="d", content="c", files={"x/y": "z"}),
        ),
    ],
    ids=name_of,
)
def test_skill_helpers_make_values(made, expected):
    assert made == expected


@pytest.mark.conforms("98")
@pytest.mark.parametrize("id_", ["", "r@s", "o/r", "o/r@", "o/r@a/b", "o/r@a@b", "o/r/x@s", "o r/x@s", 3, None])
def test_the_id_of_a_registry_is_owner_repo_and_skill(id_):
    (problem,) = problems(lambda: skill.registry(id_))

    assert problem.startswith("id in skill.registry() must be 'owner/repo@skill' (got ")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: skill.local(""), 'path in skill.local() must be a path of this machine (got "")'),
        (lambda: skill.local("s", only="a"), 'only in skill.local() must be a list of names (got "a")'),
        (lambda: skill.local("s", only=["a", 3]), "only[1] in skill.local() must be text (got 3)"),  # type: ignore[list-item]
        (
            lambda: skill.local("s", exclude=["!a"]),
            'exclude[0] in skill.local() must not begin with !: what it matches is left out as it is (got "!a")',
        ),
        (
            lambda: skill.local("s", placement="home"),  # type: ignore[arg-type]
            'placement in skill.local() must be "harness" or "workspace" (got "home")',
        ),
        (
            lambda: skill.git("./s"),
            (
                "skill.git() needs a URL or github:owner/repo; a directory of this machine is for the "
                'local helper (got "./s")'
            ),
        ),
        (
            lambda: skill.git("github:o/r", path="../x"),
            (
                "path in skill.git() must be a relative path with forward slashes: '../x' has the segment "
                '\'..\', which is not a name: it is empty, "." or ".."'
            ),
        ),
        (
            lambda: skill.git("https://github.com/o/r/tree/v1/a/%2e%2e"),
            (
                "path in skill.git() must be a relative path with forward slashes: 'a/..' has the segment "
                '\'..\', which is not a name: it is empty, "." or ".."'
            ),
        ),
        (
            lambda: skill.npm("a b"),
            'spec in skill.npm() must be an npm package such as @acme/tools@1.2.0, or the path of one (got "a b")',
        ),
        (
            lambda: skill.npm("--registry=x"),
            'spec in skill.npm() must not begin with a dash, as options of npm do (got "--registry=x")',
        ),
        (
            lambda: skill.npm("a", path="/x"),
            "path in skill.npm() must be a relative path with forward slashes: '/x' is absolute",
        ),
        (lambda: skill.registry("o/r@s", version=""), 'version in skill.registry() must be text (got "")'),
        (
            lambda: skill.inline(name="a", description="", content="", files={"SKILL.md": ""}),
            "files in skill.inline() has SKILL.md, which is made of name, description and content",
        ),
        (
            lambda: skill.inline(name="a", description="", content="", files={"../x": ""}),
            (
                "files[\"../x\"] in skill.inline() must be a relative path with forward slashes: '../x' "
                'has the segment \'..\', which is not a name: it is empty, "." or ".."'
            ),
        ),
        (
            lambda: skill.inline(name="a", description="", content="", files={"x": 1}),  # type: ignore[dict-item]
            'files["x"] in skill.inline() must be text (got 1)',
        ),
        (
            lambda: skill.inline(name="a", description="", content="", files={"x": "", "x/y": ""}),
            'files["x"] in skill.inline() would be a file and a directory, for "x/y" is in it',
        ),
    ],
    ids=name_of,
)
def test_a_bad_option_of_a_skill_is_refused(make, message):
    assert problems(make) == (message,)


def test_every_bad_option_is_reported_at_once():
    bad: Any = 3

    assert len(problems(lambda: skill.local(bad, only=bad, exclude=bad, placement=bad))) == 4


@pytest.mark.conforms("101", "message: skills")
@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("./skills", '"./skills"'),
        (["./skills"], '"./skills"'),
        ([{"kind": "skill"}], '{"kind":"skill"}'),
        ([{"kind": "skill", "source": "svn"}], '{"kind":"skill","source":"svn"}'),
        ([plugin.local("/p")], '{"path":"/p","only":null,"build":null}'),
        (None, "null"),
    ],
)
def test_skills_that_are_not_from_the_helper_are_refused(value, got):
    assert mistakes({"skills": value}) == (
        f"skills in {WHERE} must come from the skill helper, e.g. skills: [skill.local('./skills')] (got {got})",
    )


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ({"source": "local", "path": "./s"}, LocalSkills(path="/project/s")),
        ({"source": "git", "repo": "github:o/r", "ref": "v1"}, skill.git("github:o/r", ref="v1")),
        ({"source": "npm", "spec": "../s", "path": "x"}, NpmSkills(spec="file:/s", path="x")),
        ({"source": "registry", "id": "o/r@s"}, skill.registry("o/r@s")),
        (
            {
                "source": "inline",
                "name": "a",
                "description": "d",
                "content": "c",
                "files": {},
                "placement": "workspace",
            },
            skill.inline(name="a", description="d", content="c", placement="workspace"),
        ),
    ],
    ids=name_of,
)
def test_skills_may_be_written_as_the_dictionaries_they_are(written, made):
    assert spec_of({"skills": [{"kind": "skill", **written}]}).skills == (made,)


def test_a_mistake_in_the_dictionary_of_a_skill_names_its_place():
    assert mistakes({"skills": [skill.local("s"), {"kind": "skill", "source": "local", "only": 3, "x": 1}]}) == (
        f"skills[1] in {WHERE}: skill.local() has no option x",
        f"skills[1] in {WHERE}: skill.local() needs path",
        f"skills[1] in {WHERE}: only in skill.local() must be a list of names (got 3)",
    )


def test_two_inline_skills_of_one_name_are_refused():
    one = skill.inline(name="a", description="d", content="c")
    other = skill.inline(name="a", description="e", content="f")

    assert mistakes({"skills": [one, other]}) == (f'skills in {WHERE} has more than one skill "a"',)
