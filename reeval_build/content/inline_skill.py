"""Writes out a skill that is part of a definition."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reeval_build.content.problems import ContentError, shown
from reeval_build.content.skill_file import SKILL_FILE, FoundSkill, check_description, check_name, length_warnings
from reeval_build.content.skills import FoundSkills
from reeval_build.paths import PathError, split
from reeval_build.tree.draft import Draft

if TYPE_CHECKING:
    from reeval_build.content.material import Material
    from reeval_build.model.skills import InlineSkill
    from reeval_build.paths import Parts

_PLAIN: Final = re.compile(r"[a-z][a-z0-9-]*")
# Words that YAML 1.1 or 1.2 reads as something else than text.
_NOT_TEXT: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def write_inline_skill(source: InlineSkill, material: Material) -> FoundSkills:
    """The skill as files: SKILL.md with `name` and `description` above its content, and the other files.

    Raises:
        ContentError: for a name that is not kebab-case, no description, a path that leaves the skill or takes the
            place of SKILL.md, or text that is not valid Unicode.
    """
    where = f'skill.inline("{shown(str(source.name)[:80])}")'
    name = check_name(source.name, "", where=where)
    description = check_description(source.description, "", where=where)
    draft = Draft(material.load)
    draft.put((SKILL_FILE,), material.file(_text(_skill_file(name, description, source.content), "SKILL.md", where)))
    for path, content in sorted(source.files.items()):
        try:
            draft.put(_parts(path, where), material.file(_text(content, path, where)))
        except PathError as error:
            raise ContentError(where, path, error.reason) from error
    skill = FoundSkill(name=name, description=description, tree=draft.save(material.save))
    return FoundSkills(skills=(skill,), warnings=tuple(length_warnings(name, description, where)))


def _parts(path: str, where: str) -> Parts:
    if "\\" in path:
        raise ContentError(where, path, "has a backslash; use forward slashes")
    parts = split(_text(path, path, where))
    if parts == (SKILL_FILE,):
        raise ContentError(where, path, "is made of `content`, and cannot be one of `files`")
    if b".git" in parts:
        raise ContentError(where, path, "has the segment '.git', which is never part of a skill")
    return parts


def _text(text: str, path: str, where: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ContentError(where, path, "is not valid Unicode text") from error


def _skill_file(name: str, description: str, content: str) -> str:
    written_name = name if _PLAIN.fullmatch(name) and name not in _NOT_TEXT else quoted(name)
    return f"---\nname: {written_name}\ndescription: {quoted(description)}\n---\n\n{content}"


def quoted(text: str) -> str:
    """`text` as a double-quoted scalar on one line, which every YAML reader reads back as `text`."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    """The ranges are written out, for which characters are letters differs between versions of Unicode."""
    code = ord(character)
    if character in '"\\':
        return "\\" + character
    if character == "\n":
        return "\\n"
    # Half a surrogate pair is left as it is: it is no text, and is refused when it is encoded.
    if 0x20 <= code <= 0x7E or 0xA1 <= code <= 0x2027 or 0x202A <= code <= 0xFDFF:  # noqa: PLR2004 - code points are their own names
        return character
    if code <= 0xFF:  # noqa: PLR2004 - the same
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"  # noqa: PLR2004 - the same
