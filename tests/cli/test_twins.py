"""Files whose names differ in case or Unicode form only: a warning that names both, when they are placed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.cli import ReevalBuild
    from tests.support.projects import Project

SAME = (
    " differ in case or Unicode form only: a file system that does not tell these apart, as those of macOS do not, "
    "cannot have both"
)


def test_twins_of_a_workspace_and_of_what_meets_it_are_warned_of_when_they_are_placed(
    project: Project, reeval: ReevalBuild
) -> None:
    project.repository("app", {"readme.md": "1", "d/x": "1", "d/X": "2", "caf\u00e9": "1", "cafe\u0301": "2"})
    project.define(
        """
        one = define_environment("one", {
            "sandbox": fake_sandbox(), "workspace": git("app"), "files": {"README.md": "3", "~/a": "1", "~/A": "1"},
        })
        """
    )

    first, again = reeval.build(), reeval.build()

    expected = (
        'reeval: warning: one@fake: "README.md" and "readme.md", "cafe\\u0301" and "caf\\xe9", "d/X" and "d/x", '
        f'"A" and "a"{SAME}'
    )
    assert [line for line in first.messages if SAME in line] == [expected]
    assert [line for line in again.messages if SAME in line] == []


def test_twins_in_a_skill_are_warned_of(project: Project, reeval: ReevalBuild) -> None:
    project.write("skills/note/SKILL.md", "---\nname: note\ndescription: Notes.\n---\nNote.\n")
    project.write("skills/note/a.txt", "1")
    project.write("skills/note/A.txt", "2")
    project.define('one = define_environment("one", {"sandbox": fake_sandbox(), "skills": [skill.local("skills")]})')

    (message,) = reeval.build("--harness", "claude-code").messages

    assert message.startswith("reeval: warning: one@claude-code: ")
    assert '/A.txt" and ' in message
    assert message.endswith(SAME)
