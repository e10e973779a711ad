"""What is said while a build runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reeval_build.plan.graph import Graph
from reeval_build.ports.events import BudgetExceeded, InUse, StoreWaiting
from reeval_build.render.progress import Progress

if TYPE_CHECKING:
    from reeval_build.ports.events import Event

OWNER = "process 1 on \x1b[2Jhost\n"


@pytest.mark.parametrize(
    "event",
    [StoreWaiting(owner=OWNER), BudgetExceeded(budget_bytes=1, bytes=2, uses=(InUse(owner=OWNER, bytes=2),))],
    ids=lambda event: type(event).__name__,
)
def test_what_another_process_says_of_itself_cannot_control_a_terminal(
    capsys: pytest.CaptureFixture[str], event: Event
) -> None:
    Progress(Graph(nodes={}, cells=()))(event)

    (line,) = capsys.readouterr().err.splitlines()
    assert "process 1 on \\x1b[2Jhost\\n" in line
