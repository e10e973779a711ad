"""Comparisons as text for people and as JSON to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import machine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from measuring import Comparison, Times


def as_text(comparison: Comparison, accepted: Mapping[str, Any] | None = None) -> str:
    """The times of a comparison, and how they relate; beside each ratio that of the run that was `accepted`."""
    before = {peer["name"]: f" (accepted: {peer['ratio']:.2f})" for peer in (accepted or {}).get("peers", ())}
    ours, rounds = comparison.ours, len(comparison.ours.seconds)
    line = _line if comparison.unit == "s" else _line_of_bytes
    lines = [f"{comparison.question} ({rounds} rounds)", line(ours)]
    for peer in comparison.peers:
        lines += [f"{line(peer)}   ratio {ours.p50_s / peer.p50_s:.2f}{before.get(peer.name, '')}"]
    if comparison.goal_s is not None:
        verdict = "met" if ours.p50_s < comparison.goal_s else "missed"
        lines.append(f"  goal: p50 under {comparison.goal_s * 1000:.0f} ms: {verdict}")
    if comparison.goal_ratio is not None and comparison.peers:
        verdict = "met" if ours.p50_s <= comparison.goal_ratio * comparison.peers[0].p50_s else "missed"
        lines.append(f"  goal: at most {comparison.goal_ratio:g} of {comparison.peers[0].name}: {verdict}")
    return "\n".join(lines)


def _line(times: Times) -> str:
    return f"  {times.name:<28} p50 {times.p50_s * 1000:8.0f} ms   p95 {times.p95_s * 1000:8.0f} ms"


def _line_of_bytes(size: Times) -> str:
    return f"  {size.name:<28} {size.p50_s / 1e6:8.1f} MB"


def as_json(comparison: Comparison) -> dict[str, Any]:
    """The same, to keep."""
    ours, what = comparison.ours, _times if comparison.unit == "s" else _bytes
    return {
        "machine": machine.describe(),
        "load": round(machine.load(), 1),
        "rounds": len(ours.seconds),
        "goal_s": comparison.goal_s,
        "goal_ratio": comparison.goal_ratio,
        "ours": what(ours),
        "peers": [{**what(peer), "ratio": round(ours.p50_s / peer.p50_s, 3)} for peer in comparison.peers],
    }


def _times(times: Times) -> dict[str, Any]:
    return {"name": times.name, "p50_s": round(times.p50_s, 4), "p95_s": round(times.p95_s, 4)}


def _bytes(size: Times) -> dict[str, Any]:
    return {"name": size.name, "bytes": int(size.p50_s)}
