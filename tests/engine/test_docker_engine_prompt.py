"""What the engine is asked without the SDK is what the SDK says, and what cannot be told so is asked with it."""

from __future__ import annotations

import io
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pytest

from reeval_build.engines.docker.engine import DockerEngine
from reeval_build.engines.docker.prompt import PromptEngine, find_image
from reeval_build.engines.docker.registry import MissingImageError
from reeval_build.model.spec import DockerSandbox
from reeval_build.ports.engine import EngineAwayError
from reeval_build.state.state import State
from tests.support.memory_store import MemoryObjects

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.engine import PrivateEngine

CANCEL: Final = threading.Event()


@pytest.fixture
def prompt(engine: PrivateEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PromptEngine]:
    monkeypatch.setenv("DOCKER_HOST", engine.url)
    with closing(PromptEngine(MemoryObjects(), scratch=tmp_path)) as made:
        yield made


def test_an_image_is_what_the_sdk_says_it_is(engine, prompt, tmp_path):
    with closing(DockerEngine(MemoryObjects(), scratch=tmp_path)) as slow:
        for name in (engine.busybox, engine.python_image):
            sandbox = DockerSandbox(image=name)
            found = find_image(name)
            assert found is not None
            assert prompt.resolve(sandbox, cancel=CANCEL) == slow.resolve(sandbox, cancel=CANCEL)
            assert find_image(found.image_id) == found


def test_a_sandbox_starts_on_an_image_that_was_found_promptly(engine, prompt):
    base = prompt.resolve(DockerSandbox(image=engine.busybox), cancel=CANCEL)

    said = io.BytesIO()
    with prompt.start(State(base.identity), cancel=CANCEL) as sandbox:
        assert sandbox.execute(["echo", "here"], cwd="/", env={}, stdout=said, stderr=said) == 0
    assert said.getvalue() == b"here\n"


def test_an_image_that_is_nowhere_is_missing(prompt):
    with pytest.raises(MissingImageError, match=r"127\.0\.0\.1:1/none"):
        prompt.resolve(DockerSandbox(image="127.0.0.1:1/none"), cancel=CANCEL)


def test_an_engine_that_is_away_is_away(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")

    with closing(PromptEngine(MemoryObjects(), scratch=tmp_path)) as prompt, pytest.raises(EngineAwayError):
        prompt.resolve(DockerSandbox(image="any"), cancel=CANCEL)
