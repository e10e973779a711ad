"""What there is to say about a store."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

from reeval_build.errors import printable
from reeval_build.model.sizes import size_short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from reeval_build.stores.local.collect import Collected
    from reeval_build.stores.local.limits import Candidate
    from reeval_build.stores.local.usage import Stats, Usage
    from reeval_build.stores.local.verify import Findings

_DIGITS: Final = 3


def usage_text(usage: Usage) -> str:
    """A line a directory that has something in it, largest first, then the sum."""
    rows = [
        (size_short(room.bytes), f"{room.files} files", name)
        for name, room in sorted(usage.places.items(), key=lambda place: -place[1].bytes)
        if room.files
    ]
    return "\n".join(
        [*_columns(rows), f"{size_short(usage.bytes)} in {_shown(usage.path)}, {size_short(usage.free_bytes)} free"]
    )


def usage_json(usage: Usage) -> str:
    """One object. The shape is in `docs/reference/json.md`."""
    places = {name: {"bytes": room.bytes, "files": room.files} for name, room in usage.places.items()}
    return json.dumps(
        {"path": _shown(usage.path), "bytes": usage.bytes, "free_bytes": usage.free_bytes, "places": places}, indent=2
    )


def stats_text(stats: Stats) -> str:
    """Sums, a line a phase, and who uses the store."""
    rows = [("phase", "records", "needs", "took")]
    rows += [
        (phase, str(one.records), size_short(one.bytes), f"{one.seconds:.1f} s") for phase, one in stats.phases.items()
    ]
    objects, unneeded = size_short(stats.object_bytes), size_short(stats.unneeded_bytes)
    packs, live = size_short(stats.packs.bytes), size_short(stats.packs.live_bytes)
    lines = [
        f"{stats.objects} objects, {objects}; {unneeded} that no record needs",
        f"{stats.packs.count} packs, {packs}; {live} of it objects",
        f"{stats.cells} cells, {stats.evicted} records evicted",
    ]
    if stats.damaged:
        lines.append(f"{stats.damaged} records that cannot be read")
    lines += [f"in use by {printable(one.owner)}: {one.records} records" for one in stats.in_use]
    if stats.looked_after_by is not None:
        lines.append(f"looked after by {printable(stats.looked_after_by)}")
    return "\n".join([*lines, *(["", *_columns(rows)] if stats.phases else [])])


def stats_json(stats: Stats) -> str:
    """One object. The shape is in `docs/reference/json.md`."""
    return json.dumps(
        {
            "path": _shown(stats.path),
            "objects": {"count": stats.objects, "bytes": stats.object_bytes, "unneeded_bytes": stats.unneeded_bytes},
            "packs": {"count": stats.packs.count, "bytes": stats.packs.bytes, "live_bytes": stats.packs.live_bytes},
            "phases": {
                phase: {"records": one.records, "bytes": one.bytes, "seconds": round(one.seconds, _DIGITS)}
                for phase, one in stats.phases.items()
            },
            "cells": stats.cells,
            "damaged": stats.damaged,
            "evicted": stats.evicted,
            "in_use": [{"owner": one.owner, "records": one.records} for one in stats.in_use],
            "looked_after_by": stats.looked_after_by,
        },
        indent=2,
    )


def findings_text(findings: Findings) -> str:
    """A line for everything that is wrong, then the sum."""
    lines = [f"object {one.digest.short} {one.reason}" for one in findings.lost]
    for one in findings.broken:
        why = f"lacks {one.lost} objects" if one.lost else "is not as it was written"
        cells = f"  [{', '.join(map(printable, one.cells))}]" if one.cells else ""
        lines.append(f"record {one.key.short} of {one.phase} {why}{cells}")
    checked = f"{findings.objects} objects and {findings.records} records"
    if not lines:
        return f"{checked}: all is well"
    done = "dropped; what needs them is built again" if findings.repaired else "add --repair to drop them"
    wrong = f"{len(findings.lost)} objects lost, {len(findings.broken)} records broken"
    return "\n".join([*lines, f"{checked}: {wrong} ({done})"])


def findings_json(findings: Findings) -> str:
    """One object. The shape is in `docs/reference/json.md`."""
    return json.dumps(
        {
            "objects": findings.objects,
            "records": findings.records,
            "lost": [{"digest": one.digest.hex, "problem": one.reason} for one in findings.lost],
            "broken": [
                {"key": one.key.hex, "phase": one.phase, "lost": one.lost, "cells": list(one.cells)}
                for one in findings.broken
            ],
            "repaired": findings.repaired,
        },
        indent=2,
    )


def collected_text(collected: Collected) -> str:
    """A line for each record that went, or stayed because it is used, then the sum."""
    lines = [
        f"{one.record.phase} {one.record.key.short}  {rule}; took {one.record.seconds:.1f} s, {_ago(one.age_days)}"
        for one, rule in collected.evicted
    ]
    lines += [
        f"{one.record.phase} {one.record.key.short}  kept: in use by {printable(one.owner or '')}"
        for one in collected.held
    ]
    verb = "would remove" if collected.dry_run else "removed"
    what = f"{len(collected.evicted)} of {len(collected.evicted) + collected.kept} records, {collected.objects} objects"
    if collected.fetched:
        what += f", {collected.fetched} repositories and packages that were fetched"
    if collected.cells:
        what += f", {collected.cells} records of cells"
    return "\n".join(
        [*lines, f"{verb} {what}, {size_short(collected.freed_bytes)}; {size_short(collected.left_bytes)} left"]
    )


def collected_json(collected: Collected) -> str:
    """One object. The shape is in `docs/reference/json.md`."""
    return json.dumps(
        {
            "dry_run": collected.dry_run,
            "evicted": [{**_of_record(one), "rule": rule} for one, rule in collected.evicted],
            "held": [{**_of_record(one), "owner": one.owner} for one in collected.held],
            "kept": collected.kept,
            "objects": collected.objects,
            "fetched": collected.fetched,
            "cells": collected.cells,
            "freed_bytes": collected.freed_bytes,
            "left_bytes": collected.left_bytes,
        },
        indent=2,
    )


def _of_record(one: Candidate) -> dict[str, object]:
    return {
        "key": one.record.key.hex,
        "phase": one.record.phase,
        "seconds": round(one.record.seconds, _DIGITS),
        "age_days": one.age_days,
    }


def _ago(days: int) -> str:
    return "used today" if days == 0 else f"last used {days} {'day' if days == 1 else 'days'} ago"


def _columns(rows: Sequence[Iterable[str]]) -> list[str]:
    """Rows with every column but the last as wide as its widest."""
    lines = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _shown(path: Path) -> str:
    return printable(os.fsdecode(path))
