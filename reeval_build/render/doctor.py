"""What a look at everything found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reeval_build.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reeval_build.checkup import Finding


def finding_text(finding: Finding) -> str:
    """One line."""
    hint = f" ({finding.hint})" if finding.hint else ""
    return f"{finding.verdict.value:8} {finding.about:8} {printable(finding.text + hint)}"


def findings_json(findings: Iterable[Finding]) -> str:
    """One object. The shape is in `docs/reference/json.md`."""
    rows = [
        {"about": one.about, "verdict": one.verdict.value, "text": printable(one.text), "hint": one.hint}
        for one in findings
    ]
    return json.dumps({"findings": rows}, indent=2)
