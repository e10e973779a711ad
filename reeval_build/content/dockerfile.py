"""Which images a Dockerfile is built from, and the same Dockerfile with other names for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from reeval_build.content.dockerfile_lines import Directive, DockerfileError, Word, read_directives, read_instructions
from reeval_build.model.platforms import is_platform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reeval_build.content.dockerfile_lines import Instruction

SCRATCH: Final = "scratch"
"""What is not an image: a file system with nothing in it."""

# What a builder has built in: another one would be fetched by its name, whatever that is today.
_OWN_SYNTAX: Final = re.compile(r"(?:docker\.io/)?docker/dockerfile(?::1(?:\.\d+)*(?:-labs)?|:latest)?")
_VARIABLE: Final = re.compile(r"\\(.)|\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-+])([^{}]*))?\})|\$(\{)?")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)(?:=(.*))?", re.DOTALL)
_LONGEST_NAME: Final = 512
_QUOTING: Final = re.compile(r"""\\(.)|["']""", re.DOTALL)
_NEED_VALUES: Final = ("from", "mount", "platform")


@attrs.frozen(kw_only=True)
class ImageUse:
    """An image that is named, for a platform when one is named with it."""

    name: str
    platform: str | None = None

    @property
    def label(self) -> str:
        """What people call it."""
        return self.name if self.platform is None else f"{self.name} ({self.platform})"


@attrs.frozen
class _Place:
    """Where an image is named."""

    use: ImageUse
    start: int
    end: int


@attrs.frozen(kw_only=True)
class Dockerfile:
    """A Dockerfile as far as it says what it is built from.

    `final` is the image that the last stage lies on, itself or by way of the stages that it is made from.
    """

    text: str
    final: ImageUse

    _places: tuple[_Place, ...] = attrs.field(alias="places")
    _syntax: Directive | None = attrs.field(alias="syntax")

    @property
    def images(self) -> tuple[ImageUse, ...]:
        """The images that it names, each once."""
        return tuple(dict.fromkeys(place.use for place in self._places))

    def renamed(self, name: Callable[[ImageUse], str]) -> str:
        """The same text with other names for its images, and without that of a syntax; lines stay where they are."""
        text = self.text
        for place in sorted(self._places, key=lambda one: one.start, reverse=True):
            text = text[: place.start] + name(place.use) + text[place.end :]
        if self._syntax is not None:
            line = "#" + " " * (self._syntax.end - self._syntax.start - 1)
            text = text[: self._syntax.start] + line + text[self._syntax.end :]
        return text


def read_dockerfile(data: bytes, variables: Mapping[str, str]) -> Dockerfile:
    """Read a Dockerfile; `variables` are those that builders set, such as `TARGETPLATFORM`.

    Raises:
        DockerfileError: for what cannot be used, with the line it is in.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DockerfileError(data[: error.start].count(b"\n") + 1, "is not UTF-8") from error
    syntax = _syntax(text)
    reading = _Reading(variables)
    for instruction in read_instructions(text):
        reading.take(instruction)
    reading.end()
    if reading.final is None:
        raise DockerfileError(max(1, len(text.splitlines())), "there is no FROM, which says what it is built from")
    return Dockerfile(text=text, final=reading.final, places=tuple(reading.places), syntax=syntax)


def _syntax(text: str) -> Directive | None:
    for directive in read_directives(text):
        if directive.name == "syntax":
            if not _OWN_SYNTAX.fullmatch(directive.value):
                line = text[: directive.start].count("\n") + 1
                raise DockerfileError(
                    line,
                    f"syntax={directive.value} is an image that nothing locks; only docker/dockerfile:1 can be used",
                )
            return directive
    return None


class _Reading:
    """What was read so far."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = dict(variables)
        self._stages: dict[str, ImageUse] = {}
        self._count = 0
        self._outside: list[tuple[str, int]] = []
        self.places: list[_Place] = []
        self.final: ImageUse | None = None

    def take(self, instruction: Instruction) -> None:
        match instruction.name:
            case "ARG" if self.final is None:
                self._declare(instruction)
            case "FROM" if not instruction.is_trigger:
                self._begin(instruction)
            case "COPY":
                self._copy(instruction)
            case "RUN":
                self._run(instruction)

    def end(self) -> None:
        """Raises DockerfileError for what builders differ about: the newer ones copy from later stages, too."""
        for name, line in self._outside:
            if name.lower() in self._stages:
                raise DockerfileError(line, f"from={name} is a stage that is not before it")

    def _declare(self, instruction: Instruction) -> None:
        for word in instruction.words:
            match = _ASSIGNMENT.fullmatch(word.text)
            if match is None:
                raise DockerfileError(instruction.line, f"ARG {word.text} is no name of a variable")
            if match[2] is not None:
                self._variables[match[1]] = self._expanded(match[2], instruction.line)

    def _begin(self, instruction: Instruction) -> None:
        found, words = _flags(instruction)
        flags = dict(found)
        named = [word.text.upper() for word in words[1:2]]
        if len(words) not in (1, 3) or named not in ([], ["AS"]) or set(flags) - {"platform"}:
            raise DockerfileError(instruction.line, "FROM takes an image, or an image AS a name")
        name = self._expanded(words[0].text, instruction.line)
        platform = self._expanded(flags["platform"].text, instruction.line) if "platform" in flags else None
        if not name or len(name) > _LONGEST_NAME:
            raise DockerfileError(instruction.line, f"FROM {words[0].text} names no image")
        if platform is not None and not is_platform(platform):
            said = flags["platform"].text
            raise DockerfileError(instruction.line, f"--platform={said} is no platform such as linux/arm64")
        use = self._stages.get(name.lower())
        if use is None:
            use = ImageUse(name=name, platform=platform)
            self.places.append(_Place(use, words[0].start, words[0].end))
        self._count += 1
        if named:
            self._stages[words[2].text.lower()] = use
        self.final = use

    def _copy(self, instruction: Instruction) -> None:
        source = dict(_flags(instruction)[0]).get("from")
        if source is not None:
            self._use(source, _unquoted(source.text), instruction.line)

    def _run(self, instruction: Instruction) -> None:
        for flag, value in _flags(instruction)[0]:
            if flag == "mount":
                self._mount(value, instruction.line)

    def _mount(self, value: Word, line: int) -> None:
        start = value.start
        source: Word | None = None
        for field in _unquoted(value.text).split(","):
            name, _equals, text = field.partition("=")
            name, kind = name.lower(), text.lower()
            if name == "type" and kind in ("secret", "ssh"):
                raise DockerfileError(
                    line, f"RUN --mount=type={kind} is not supported: nothing secret is given to the build of an image"
                )
            if name == "from":
                source = Word(text, start + len("from="), start + len(field))
            start += len(field) + 1
        if source is not None:
            if _unquoted(value.text) != value.text:
                raise DockerfileError(
                    line, f"--mount={value.text} names an image or a stage: write it without quotes and backslashes"
                )
            self._use(source, source.text, line)

    def _use(self, word: Word, name: str, line: int) -> None:
        """An image in the place of a stage."""
        if "$" in name:
            raise DockerfileError(line, f"from={name} has a variable, which builders do not replace there")
        if name.isdigit():
            # The stage that it is in is the last that was counted.
            if name not in map(str, range(self._count - 1)):
                raise DockerfileError(line, f"from={name} is no stage that is before it")
        elif name.lower() not in self._stages:
            self._outside.append((name, line))
            self.places.append(_Place(ImageUse(name=name), word.start, word.end))

    def _expanded(self, text: str, line: int) -> str:
        def value(match: re.Match[str]) -> str:
            escaped, plain, braced, operator, word, _open = match.groups()
            name = plain or braced
            if escaped is not None:
                return escaped
            if name is None:
                raise DockerfileError(line, f"{text} cannot be read: variables are $NAME, ${{NAME}} or ${{NAME:-word}}")
            known = self._variables.get(name)
            is_there = bool(known) if operator and operator[0] == ":" else known is not None
            if operator is None:
                return known or ""
            if operator[-1] == "-":
                return (known or "") if is_there else self._expanded(word, line)
            return self._expanded(word, line) if is_there else ""

        unquoted = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
        return unquoted if text.startswith("'") else _VARIABLE.sub(value, unquoted)


def _flags(instruction: Instruction) -> tuple[list[tuple[str, Word]], tuple[Word, ...]]:
    """The flags of an instruction with their values, and the words after them."""
    flags: list[tuple[str, Word]] = []
    for at, word in enumerate(instruction.words):
        if not word.text.startswith("--"):
            return flags, instruction.words[at:]
        name, equals, value = word.text.removeprefix("--").partition("=")
        if _unquoted(name) != name:
            raise DockerfileError(instruction.line, f"the name of {word.text} has quotes or backslashes")
        if name.lower() in _NEED_VALUES and not equals:
            raise DockerfileError(instruction.line, f"{word.text} has no value: it is written {word.text}=...")
        flags.append((name.lower(), Word(value, word.end - len(value), word.end)))
    return flags, ()


def _unquoted(text: str) -> str:
    """What builders make of the text of a flag."""
    return _QUOTING.sub(lambda match: match[1] or "", text)
