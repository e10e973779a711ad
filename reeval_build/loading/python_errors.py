"""Says an error of Python in the words of a definition's author: the names of helpers, and how they are called."""

from __future__ import annotations

import difflib
import inspect
import re
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_PACKAGE: Final = "reeval_build"
# `secret` is an instance of SecretHelper, which its author never wrote.
_INSTANCE: Final = re.compile(r"'(Secret|Skill|Plugin|Mcp)Helper' object")
_METHOD: Final = re.compile(r"\b(Secret|Skill|Plugin|Mcp)Helper\.(__call__\b)?")
_CALL: Final = re.compile(r"(?P<called>[a-z_]+(?:\.[a-z_]+)?|Environment\.[a-z_]+)\(\) (?P<rest>.+)")
_TOO_MANY: Final = re.compile(r"takes (?:from \d+ to )?\d+ positional arguments? but \d+ (?:was|were) given")
_NO_SUCH_NAME: Final = re.compile(r"cannot import name '(?P<name>\w+)' from 'reeval_build'")
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def in_words_of_author(error: BaseException) -> str:
    """The message of `error`, of one line; with what was meant when that can be told.

    reeval's documentation writes names as TypeScript does, so `fromEnv` is taken for `from_env`.
    """
    text = _message(error)
    match error:
        case AttributeError(name=str(name), obj=holder):
            return _renamed(text) + _meant(name, _names(holder))
        case ImportError() if found := _NO_SUCH_NAME.match(text):
            return text + _meant(found["name"], _helpers())
        case NameError(name=str(name)) if name in _helpers():
            return f"{text}; import it from {_PACKAGE}"
        case TypeError():
            return _of_call(_renamed(text))
    return text


def _message(error: BaseException) -> str:
    try:
        return " ".join(str(error).split()) or "no message"
    except Exception:  # noqa: BLE001 - an author's exception may do anything
        return "no message"


def _renamed(text: str) -> str:
    text = _INSTANCE.sub(lambda found: found[1].lower(), text)
    return _METHOD.sub(lambda found: found[1].lower() + ("" if found[2] else "."), text)


def _of_call(text: str) -> str:
    found = _CALL.fullmatch(text)
    signature = None if found is None else _signature(found["called"])
    if found is None or signature is None:
        return text
    if _TOO_MANY.fullmatch(found["rest"]):
        # Python counts the helper itself as an argument, so its numbers say nothing to who called it.
        return f"{found['called']}() is given too many arguments without a name: it is {found['called']}{signature}"
    if "unexpected keyword argument" in found["rest"]:
        return f"{text}: it is {found['called']}{signature}"
    return text


def _signature(called: str) -> inspect.Signature | None:
    """How a helper is called, without types; None for what is no helper."""
    name, _, method = called.partition(".")
    helper = getattr(import_module(_PACKAGE), name, None) if name in _helpers() else None
    function = getattr(helper, method, None) if method else helper
    if not callable(function):
        return None
    signature = inspect.signature(function)
    shown = [one.replace(annotation=one.empty) for one in signature.parameters.values() if one.name != "self"]
    return signature.replace(parameters=shown, return_annotation=signature.empty)


def _meant(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(_CAPITAL.sub("_", name).lower(), [one for one in known if one[0] != "_"], n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


def _names(holder: object) -> Iterable[str]:
    if inspect.ismodule(holder):
        return _helpers() if holder.__name__ == _PACKAGE else ()
    return dir(holder) if type(holder).__module__.startswith(f"{_PACKAGE}.") else ()


def _helpers() -> Iterable[str]:
    names: Iterable[str] = import_module(_PACKAGE).__all__
    return names
