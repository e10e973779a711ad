"""A private engine by hand: `python -m tests.support.engine start|stop|env|images`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tests.support.engine import images, kept
from tests.support.engine.engine import running
from tests.support.engine.needs import EngineError

if TYPE_CHECKING:
    from tests.support.engine.engine import PrivateEngine


@click.group()
def main() -> None:
    """Start and stop a private container engine, with a registry and base images for tests.

    The tests start engines of their own: this one is for work by hand.
    """


@main.command()
def start() -> None:
    """Start an engine that runs until `stop`, and say where it is."""
    _print(kept.start())


@main.command()
def stop() -> None:
    """Stop the engine that `start` started, and remove everything in it."""
    if not kept.stop():
        click.echo("no engine runs", err=True)


@main.command()
def env() -> None:
    """Say where the engine is, for `eval "$(python -m tests.support.engine env)"`."""
    engine = kept.current()
    if engine is None:
        raise EngineError("no engine runs: `python -m tests.support.engine start` starts one")
    _print(engine)


@main.command("images")
def make_images() -> None:
    """Make the base images, if this machine has none yet."""
    if not images.are_kept():
        with running():
            click.echo("made the base images")


def _print(engine: PrivateEngine) -> None:
    click.echo(f"export DOCKER_HOST={engine.url}")
    click.echo(f"export REEVAL_BUILD_TEST_BUSYBOX={engine.busybox}")
    click.echo(f"export REEVAL_BUILD_TEST_PYTHON={engine.python_image}")
    click.echo(f"export REEVAL_BUILD_TEST_REGISTRY={engine.registry}")


if __name__ == "__main__":
    try:
        main()
    except EngineError as error:
        sys.exit(f"error: {error}")
