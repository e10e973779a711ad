from __future__ import annotations

import pytest

from reeval_build.content.hooks import Hook, read_hooks
from reeval_build.content.problems import ContentError

EVENTS = {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "a.sh", "timeout": 5}]}],
    "Stop": [{"hooks": [{"type": "prompt", "prompt": "done?"}, {"command": "node", "args": ["b.js"]}]}],
}
HOOKS = (
    Hook(event="PreToolUse", type="command", command="a.sh"),
    Hook(event="Stop", type="prompt"),
    Hook(event="Stop", type="command", command="node b.js"),
)


@pytest.mark.parametrize(
    "value", [EVENTS, {"hooks": EVENTS}, {"description": "d", "hooks": EVENTS}, {"description": "d", **EVENTS}]
)
def test_hooks_are_an_event_map_which_may_stand_below_hooks(value):
    assert read_hooks(value, "h.json", where="p") == HOOKS


@pytest.mark.parametrize("value", [{}, {"hooks": {}}, {"description": "d"}, {"Stop": []}, {"Stop": [{"hooks": []}]}])
def test_there_may_be_no_hooks(value):
    assert read_hooks(value, "h.json", where="p") == ()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "must have hooks as an object, not as a list"),
        ("x", "must have hooks as an object, not as text"),
        ({"Stop": {}}, "must have a list for the hook event Stop, not an object"),
        ({"hooks": []}, "must have `hooks` as an object, not as a list"),
        ({"Stop": ["x"]}, "has for the hook event Stop an item without a list `hooks`"),
        ({"Stop": [{}]}, "has for the hook event Stop an item without a list `hooks`"),
        ({"Stop": [{"hooks": {}}]}, "has for the hook event Stop an item without a list `hooks`"),
        ({"Stop": [{"hooks": ["x"]}]}, "has for the hook event Stop text where a hook is needed"),
        ({"Stop": [{"hooks": [{"type": 1}]}]}, "has for the hook event Stop a hook whose type is a number"),
        ({"Stop": [{"hooks": [{"type": "command"}]}]}, "has for the hook event Stop a hook without a command"),
        ({"Stop": [{"hooks": [{"command": " "}]}]}, "has for the hook event Stop a hook without a command"),
        ({"Stop": [{"hooks": [{"command": "a", "args": "b"}]}]}, "a hook whose args are not a list of texts"),
        ({"a\x1b": 1}, "must have a list for the hook event a\\x1b, not a number"),
    ],
)
def test_malformed_hooks_are_refused_with_the_event(value, reason):
    with pytest.raises(ContentError) as caught:
        read_hooks(value, "h.json", where="p")

    assert str(caught.value).startswith('"h.json" in p ')
    assert reason in caught.value.reason
