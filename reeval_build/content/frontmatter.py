"""The YAML between two `---` lines at the top of a markdown file that anyone may have written."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from reeval_build.content.problems import ContentError, shown

MAX_FRONTMATTER_BYTES: Final = 64 * 1024
_OPENING: Final = re.compile(rb"---[ \t]*(?:\r\n|\n|\r)")
_CLOSING: Final = re.compile(rb"(?:^|(?<=\n)|(?<=\r))---[ \t]*(?:\r\n|\n|\r|\Z)")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_MAPPING_IN_TEXT: Final = "mapping values are not allowed here"


class _RefusedError(yaml.YAMLError):
    """YAML that the safe loader takes and this program does not."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, less what frontmatter has no use for.

    Without aliases, for a short text must not stand for a long one; without tags, some of which break the loader; and
    without repeated keys.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise _RefusedError("an alias (*name), which is not supported here")
        event = self.peek_event()  # type: ignore[no-untyped-call]  # its stubs do not say what it gives
        if getattr(event, "tag", None) is not None:
            raise _RefusedError("a tag (!name), which is not supported here")
        node: yaml.Node | None = super().compose_node(parent, index)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise _RefusedError(f'the key "{shown(key.value[:80])}" twice')
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def read_frontmatter(data: bytes, path: str, *, where: str) -> dict[str, Any]:
    """The frontmatter of a markdown file; a byte order mark and any line ending are allowed.

    Raises:
        ContentError: when there is none, it does not end, is larger than 64 KiB, is not UTF-8 or not YAML, has a key
            twice, an alias or a tag, or is not a map with text as keys.
    """
    text = _between(data.removeprefix(_BYTE_ORDER_MARK), path, where)
    try:
        value = yaml.load(text, _Loader)  # noqa: S506 - a subclass of the safe loader
    except yaml.YAMLError as error:
        raise ContentError(where, path, f"has frontmatter that is not YAML: {_reason(error)}") from error
    except RecursionError as error:
        raise ContentError(where, path, "has frontmatter that is nested too deep") from error
    except (ValueError, OverflowError) as error:  # a date that is none, a number too long
        raise ContentError(where, path, "has frontmatter with a number or a date that cannot be read") from error
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ContentError(where, path, "has frontmatter that is not a map of names to values")
    return value


def _between(data: bytes, path: str, where: str) -> str:
    opening = _OPENING.match(data)
    if opening is None:
        raise ContentError(where, path, 'has no frontmatter: its first line is not "---"')
    closing = _CLOSING.search(data, opening.end(), opening.end() + MAX_FRONTMATTER_BYTES)
    if closing is None:
        reason = (
            'has frontmatter without the "---" that ends it'
            if len(data) <= opening.end() + MAX_FRONTMATTER_BYTES
            else f'has no "---" that ends its frontmatter within {MAX_FRONTMATTER_BYTES} bytes'
        )
        raise ContentError(where, path, reason)
    try:
        return data[opening.end() : closing.start()].decode("utf-8")
    except UnicodeDecodeError as error:
        raise ContentError(where, path, "has frontmatter that is not UTF-8 text") from error


def _reason(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        line = "" if error.problem_mark is None else f" (line {error.problem_mark.line + 2})"
        # What people write most often, in a description.
        advice = '; text that has ": " in it needs quotes' if error.problem == _MAPPING_IN_TEXT else ""
        return shown(f"{error.problem or error.context or 'it cannot be read'}{line}{advice}")
    if isinstance(error, yaml.reader.ReaderError):
        return "it has a character that YAML does not allow"
    return shown(str(error))
