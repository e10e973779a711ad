"""What options take: each function reads one kind of value, or refuses it with what it must be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeGuard, TypeVar

from reeval_build.model.durations import seconds
from reeval_build.model.reading import Mistake, Refused
from reeval_build.model.secrets import VARIABLE
from reeval_build.model.shown import got, is_text, shown
from reeval_build.model.sizes import size_bytes
from reeval_build.paths import PathError, display, split

if TYPE_CHECKING:
    from reeval_build.model.site import Site

Item = TypeVar("Item")

# What engines count in: a signed number of 64 bits.
_MOST_BYTES: Final = 2**63 - 1
TOKEN_PREFIXES: Final = ("ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-")

_HOST: Final = re.compile(
    r"(?:\*\.)?(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?\.)*[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
)


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Whether a value is a list or a tuple, or behaves like one: text does not."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview))


def is_said(value: object) -> TypeGuard[str]:
    """Whether a value is text with more than white space in it."""
    return is_text(value) and bool(value.strip())


def text(value: object, _site: Site) -> str:
    """Text that says something."""
    if not is_said(value):
        raise Refused(f"must be text {got(value)}")
    return value


def content(value: object, _site: Site) -> str:
    """Text of a file: it may be empty."""
    if not is_text(value):
        raise Refused(f"must be text {got(value)}")
    return value


def flag(value: object, _site: Site) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise Refused(f"must be True or False {got(value)}")
    return value


def one_of(*choices: str) -> Callable[[object, Site], str]:
    """One of some words."""
    listed = f"{', '.join(map(shown, choices[:-1]))} or {shown(choices[-1])}"

    def read(value: object, _site: Site) -> str:
        if not isinstance(value, str) or value not in choices:
            raise Refused(f"must be {listed} {got(value)}")
        return value

    return read


def many(read: Callable[[object, Site], Item], what: str) -> Callable[[object, Site], tuple[Item, ...]]:
    """A list of what `read` reads, each once; `what` is the plural of their name."""

    def read_all(value: object, site: Site) -> tuple[Item, ...]:
        if not is_list(value):
            raise Refused(f"must be a list of {what} {got(value)}")
        mistakes: list[Mistake] = []
        items: list[Item] = []
        for at, item in enumerate(value):
            try:
                items.append(read(item, site))
            except Refused as refused:
                mistakes += refused.below(f"[{at}]")
        if mistakes:
            raise Refused(*mistakes)
        return tuple(dict.fromkeys(items))

    return read_all


def some(read: Callable[[object, Site], Item], what: str) -> Callable[[object, Site], tuple[Item, ...]]:
    """A list like `many` that is not empty."""
    read_all = many(read, what)

    def read_some(value: object, site: Site) -> tuple[Item, ...]:
        found = read_all(value, site)
        if not found:
            raise Refused(f"must be a list of {what}, at least one of them {got(value)}")
        return found

    return read_some


def host(value: object, _site: Site) -> str:
    """The name of a host, or `*.` and a name for all its subdomains."""
    if not isinstance(value, str) or not _HOST.fullmatch(value):
        raise Refused(
            f"must be the name of a host such as api.example.com, or *.example.com for subdomains {got(value)}"
        )
    return value.lower()


def variable(value: object, _site: Site) -> str:
    """The name of a host variable. What is refused is not shown: it may be a secret itself."""
    if not isinstance(value, str) or not VARIABLE.fullmatch(value) or value.lower().startswith(TOKEN_PREFIXES):
        raise Refused(
            'must be the name of a host variable: letters, digits and "_", starting with a letter or "_"; '
            "never the secret itself"
        )
    return value


def above_zero(value: object, _site: Site) -> float:
    """A finite number above zero."""
    found = _number(value)
    if found is None or not math.isfinite(found) or found <= 0:
        raise Refused(f"must be a number above 0 {got(value)}")
    return found


def count(value: object, _site: Site) -> int:
    """A whole number above zero; JSON may write it as 2.0."""
    found = _number(value)
    if found is None or not found.is_integer() or found < 1:
        raise Refused(f"must be a whole number above 0 {got(value)}")
    return value if isinstance(value, int) else int(found)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def size(value: object, site: Site) -> str | int:
    """How much memory, and not none: bytes, or text such as `512m` or `4g`, as it was written."""
    if size_bytes(value) == 0:
        raise Refused(f"must be more than nothing {got(value)}")
    return size_or_none(value, site)


def size_or_none(value: object, _site: Site) -> str | int:
    """As `size`, or none."""
    found = size_bytes(value)
    if found is None or found > _MOST_BYTES or not isinstance(value, (str, int)):
        raise Refused(f'must be a number of bytes, or text such as "512m" or "4g" {got(value)}')
    return value


def duration(example: str) -> Callable[[object, Site], float]:
    """A time limit, in seconds."""

    def read(value: object, site: Site) -> float:
        found = seconds(value, number_s=site.number_s)
        if found is None:
            raise Refused(f'must be a time above 0: seconds, or text such as "{example}" {got(value)}')
        return found

    return read


def host_path(value: object, site: Site) -> str:
    """A path of this machine, made absolute."""
    if not is_text(value) or not value:
        raise Refused(f"must be a path of this machine {got(value)}")
    return site.resolve(value)


def directory_inside(value: object, _site: Site) -> str:
    """A relative path with forward slashes, and no `.` or `..`."""
    return inside(value)


def inside(value: object) -> str:
    """As `directory_inside`."""
    if not is_text(value):
        raise Refused(f"must be a relative path with forward slashes {got(value)}")
    if "\\" in value:
        raise Refused(f"must be a relative path with forward slashes: {value!r} has a backslash")
    try:
        split(value.encode("utf-8"))
    except PathError as error:
        raise Refused(f"must be a relative path with forward slashes: {error}") from error
    return value


def directory_or_root(value: object, site: Site) -> str:
    """A path as `directory_inside` takes it, or `.`."""
    return "." if value == "." else directory_inside(value, site)


def files_inside(value: object, site: Site) -> dict[str, str]:
    """Texts of files by their relative paths."""
    if not isinstance(value, Mapping):
        raise Refused(f"must be a mapping of relative paths to text {got(value)}")
    mistakes: list[Mistake] = []
    found: dict[str, str] = {}
    for path, written in value.items():
        at = f"[{shown(path)}]"
        try:
            found[directory_inside(path, site)] = content(written, site)
        except Refused as refused:
            mistakes += refused.below(at)
    for above, path in covered(found):
        mistakes.append(Mistake(f'would be a file and a directory, for "{path}" is in it', f"[{shown(above)}]"))
    if mistakes:
        raise Refused(*mistakes)
    return found


def covered(paths: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Those of some relative paths that others are below, each with the other."""
    known = set(paths)
    for path in sorted(known):
        names = path.split("/")
        above = ("/".join(names[:length]) for length in range(1, len(names)))
        yield from ((one, path) for one in above if one in known)


def printable(path: str) -> str:
    """A host path as messages show it."""
    return display(path.encode("utf-8", "surrogateescape"))
