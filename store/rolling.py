"""Roll-up: what verdicts on parts say of the item, by the benchmarks' common rule (all calls right, all turns right).

Targets are addresses counted from 1: `turn:2`, `turn:2/call:1`, `turn:2/call:1/arg:city`, `response`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def rolled_up(verdicts: Mapping[str, Any], pairs: Mapping[int, int]) -> bool | None:
    """True, False or None (says nothing) for the item, from `{target: verdict}` and the call pairs of each turn.

    A part judged wrong makes the whole wrong, unless a verdict on something between the two says otherwise. The
    whole is right only if every call pair of every turn was judged right, itself or with its turn.
    """
    counts = {f"turn:{number}": count for number, count in pairs.items()}
    counts.update({name: 0 for name in map(_turn_of, verdicts) if name not in counts and name.startswith("turn:")})
    values = [_turn(verdicts, name, count) for name, count in counts.items()]
    if False in values or verdicts.get("response") is False:
        return False
    return True if pairs and all(value is True for value in values) else None


def _turn(verdicts: Mapping[str, Any], turn: str, n_pairs: int) -> bool | None:
    direct = verdicts.get(turn)
    if isinstance(direct, bool):
        return direct
    calls = {"/".join(target.split("/")[:2]) for target in verdicts if target.startswith(f"{turn}/call:")}
    values = [_call(verdicts, call) for call in calls]
    if False in values:
        return False
    return True if n_pairs and sum(value is True for value in values) >= n_pairs else None


def _call(verdicts: Mapping[str, Any], call: str) -> bool | None:
    direct = verdicts.get(call)
    if isinstance(direct, bool):
        return direct
    below = f"{call}/"
    return False if any(value is False and target.startswith(below) for target, value in verdicts.items()) else None


def _turn_of(target: str) -> str:
    return target.split("/")[0]
