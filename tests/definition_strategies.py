"""Everything that an environment may have, as helpers make it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from reeval_build import (
    DEFAULT_SKILL_EXCLUDE,
    docker,
    fake_sandbox,
    file,
    git,
    mcp,
    plugin,
    podman,
    secret,
    skill,
    step,
)
from reeval_build.model.egress import POLICIES
from reeval_build.model.plugins import PLUGIN_PARTS
from reeval_build.model.secrets import PLACES
from reeval_build.model.shown import is_text
from reeval_build.model.skills import PLACEMENTS
from tests.strategies import destinations, durations, steps, variable_names, words

if TYPE_CHECKING:
    from collections.abc import Callable

_text_of_files = st.text(max_size=10).filter(is_text)
_hosts = st.sampled_from(["api.example.com", "*.example.org", "localhost", "10.0.0.1"])
_directories = st.sampled_from(["s", "./a/b", "../x", "/srv/s"])
_repositories = st.sampled_from(
    ["github:o/r", "https://github.com/o/r/tree/v1.0.0/a", "git@example.com:o/r", "ssh://h/r"]
)
_packages = st.sampled_from(["@acme/p@1.0.0", "./p", "file:../p.tgz", "/srv/p"])
_files_of_skills = st.dictionaries(st.from_regex(r"[a-z]{1,3}\.md", fullmatch=True), _text_of_files, max_size=2)


def _options(**options: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the options of a helper."""
    return st.fixed_dictionaries({}, optional=options)


def _calls(helper: Callable[..., Any], *arguments: st.SearchStrategy[Any], **options: Any) -> st.SearchStrategy[Any]:
    """What a helper returns for some arguments, with some of its options."""
    return st.builds(lambda args, kwargs: helper(*args, **kwargs), st.tuples(*arguments), _options(**options))


_brokered = {"hosts": st.lists(_hosts, min_size=1, max_size=2), "optional": st.booleans()}
_places = st.lists(st.sampled_from(PLACES), min_size=1, max_size=2)
agent_secrets = _calls(secret.from_env, variable_names, **_brokered)
secrets = (
    agent_secrets
    | _calls(secret, to=st.sampled_from(["agent", "checks"]), **_brokered)
    | st.builds(lambda hosts, places: secret(hosts=hosts, in_=places), _brokered["hosts"], _places)
)
_placement = st.sampled_from(PLACEMENTS)
_chosen = {
    "only": st.lists(words, max_size=2),
    "exclude": st.lists(st.sampled_from([*DEFAULT_SKILL_EXCLUDE, "a/b", "**/x"]), max_size=2),
    "placement": _placement,
}
skill_sources = (
    _calls(skill.local, _directories, **_chosen)
    | _calls(skill.git, _repositories, ref=words, path=st.sampled_from(["a", "a/b"]), **_chosen)
    | _calls(skill.npm, _packages, path=st.sampled_from([".", "skills", "a/b"]), **_chosen)
    | _calls(skill.registry, st.just("o/r@s"), version=words, placement=_placement)
)
inline_skills = st.builds(
    skill.inline, name=words, description=st.text(max_size=5).filter(is_text), content=_text_of_files,
    files=_files_of_skills, placement=_placement,
)  # fmt: skip
_built = {
    "only": st.lists(st.sampled_from(PLUGIN_PARTS), max_size=3),
    "build": words
    | st.lists(words, min_size=1, max_size=2)
    | st.fixed_dictionaries({"run": words}, optional={"cwd": st.sampled_from([".", "a/b"])}),
}
plugin_sources = (
    _calls(plugin.local, _directories, **_built)
    | _calls(plugin.git, _repositories, ref=words, path=st.just("a"), **_built)
    | _calls(plugin.npm, _packages, path=st.just("a"), **_built)
    | _calls(plugin.marketplace, st.sampled_from(["a@github:o/r", "b@git@h:o/r"]), ref=words, **_built)
    | _calls(plugin.marketplace, st.just("c@npm:@acme/m@1.0.0"), **_built)
)
_headers = st.text(max_size=5).filter(lambda text: is_text(text) and not {"\n", "\r"} & set(text))
_servers = _calls(
    mcp.stdio,
    words,
    st.lists(words, max_size=2),
    env=st.dictionaries(variable_names, words | agent_secrets, max_size=2),
) | st.builds(
    lambda make, headers: make("https://example.com/mcp", headers=headers),
    st.sampled_from([mcp.http, mcp.sse]),
    st.dictionaries(
        st.sampled_from(["Authorization", "X-Api-Key"]),
        _headers | agent_secrets | st.just(secret.template("Bearer ${TOKEN}")),
        max_size=2,
    ),
)
_sizes = st.integers(1, 10**12) | st.sampled_from(["512m", "1.5G", "4096", "4GiB"])
_counts = st.integers(1, 1000)
_steps_of_install = words | st.fixed_dictionaries({"run": words}, optional={"timeout": durations})
_machine = {
    "install": st.lists(_steps_of_install, max_size=2),
    "root": st.booleans(),
    "capabilities": st.lists(st.sampled_from(["NET_ADMIN", "sys_ptrace"]), max_size=2),
    "cpus": st.integers(1, 64) | st.floats(0.001, 64),
    "memory": _sizes,
    "swap": _sizes | st.just(0),
    "pids": _counts,
    "id": words,
    "max_concurrent": _counts,
}


def _limited(helper: Callable[..., Any]) -> Callable[..., Any]:
    """A helper of containers that gives one with swap memory, too: it takes none without."""
    return lambda **options: helper(**{**({"memory": "4g"} if "swap" in options else {}), **options})


_sandboxes = (
    _calls(_limited(docker), from_=words, engine=st.sampled_from(["docker", "podman"]), **_machine)
    | _calls(_limited(podman), dockerfile=_directories, **_machine)
    | _calls(fake_sandbox, dir=_directories, id=words, max_concurrent=_counts)
)
_narrow_steps = st.builds(
    lambda run, inputs, options: step(run, inputs=inputs, **options),
    words,
    st.lists(st.sampled_from(["a", "a/b", "package.json"]), max_size=3),
    _options(timeout=durations, cwd=st.sampled_from([".", "sub"])),
)
policies = st.sampled_from(POLICIES) | st.fixed_dictionaries({"allow": st.lists(_hosts, max_size=3)})
variables = st.dictionaries(variable_names, st.text("abc \n\u00e9", max_size=5) | secrets, max_size=3)
whole_specs = st.fixed_dictionaries(
    {},
    optional={
        "egress": policies,
        "env": variables,
        "files": st.dictionaries(destinations, _text_of_files | _calls(file, _directories), max_size=3),
        "mcp": st.dictionaries(words, _servers, max_size=2),
        "plugins": st.lists(plugin_sources, max_size=3),
        "rules": _text_of_files | _calls(file, _directories),
        "sandbox": _sandboxes,
        "setup": st.lists(steps | _narrow_steps, max_size=3),
        "skills": st.builds(
            lambda sources, inline: [*sources, *inline],
            st.lists(skill_sources, max_size=2),
            st.lists(inline_skills, max_size=1),
        ),
        "workspace": _calls(git, _repositories | _directories, ref=words, path=st.just("a/b"), init=st.booleans())
        | _calls(git, st.just("https://example.com/r"), token=variable_names),
    },
)
