"""A sample's calls as people's verdicts leave them: accepted calls, golden calls, error word, wrong parameters.

What follows from a verdict on a call (`equivalent`, or `correct` of the call):

| said | call accuracy | the sample (rolls up by `Extra.needs`) |
|---|---|---|
| an accepted call is wrong | one accepted call fewer | fails, unless another accepted call answers its golden call |
| a refused call is right | one more, unless another answers its golden call | succeeds, if nothing else is missing |
| people differ | counts neither way, nor does its golden call | as those have it who overrule |

A verdict on the item moves success and error words; `completeness` and `correctness` of the response their mean only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fcreview.agreement.held import ROLLING
from fcreview.figures import Scored


@dataclass(slots=True)
class Judged:
    """One predicted call."""

    recorded: bool | None
    """Whether the evaluator accepted it; None if nobody judged it."""
    golden: int | None
    error: str | None
    wrong: Mapping[str, str] = field(default_factory=dict)
    """Parameter -> type."""
    people: bool | None = None
    disputed: bool = False

    @property
    def accepted(self) -> bool | None:
        if self.disputed:
            return None
        return self.recorded if self.people is None else self.people


def judged(item: Scored) -> list[Judged]:
    """The predicted calls, as far as the importer has put them into `more`."""
    calls = item.more.get("calls")
    return [_judged(item, address, call) for address, call in calls.items()] if isinstance(calls, dict) else []


def _judged(item: Scored, address: str, call: Mapping[str, Any]) -> Judged:
    said = [item.overruled[address, criterion] for criterion in ROLLING if (address, criterion) in item.overruled]
    people = next((value for value in said if isinstance(value, bool)), None)
    disputed = people is None and None in said
    return Judged(call["accepted"], call.get("golden"), call.get("error"), call.get("wrong") or {}, people, disputed)


@dataclass(slots=True)
class CallCounts:
    correct: int
    golden: int


def call_counts(item: Scored, calls: list[Judged]) -> CallCounts:
    """The recorded numbers, moved by what people said of single calls.

    A repeated free call that the evaluator counted twice stays counted twice; what people accept counts once a golden
    call.
    """
    counts = item.more.get("counts")
    counts = counts if isinstance(counts, dict) else {}
    found = CallCounts(
        number(counts, "correct_call_num") if counts else sum(call.recorded is True for call in calls),
        number(counts, "total_call_num") or item.n_golden,
    )
    covered = {call.golden for call in calls if call.recorded and call.accepted}
    for call in calls:
        if call.recorded and not call.accepted:
            found.correct -= 1
        elif call.accepted and not call.recorded and call.golden is not None and call.golden not in covered:
            found.correct += 1
            covered.add(call.golden)
    open_ones = {call.golden for call in calls if call.disputed and call.golden is not None}
    found.golden -= len(open_ones - covered)
    return found


def number(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def error(item: Scored, calls: list[Judged]) -> str | None:
    """The word of a failed sample: the recorded one, else that of the first call that people refuse."""
    if item.valid is not False:
        return None
    refused = (call.error for call in calls if call.recorded and call.accepted is False and call.error)
    return item.error_type or next(refused, None)


def wrong_parameters(calls: list[Judged]) -> Iterator[str]:
    """Types of the parameters in which refused calls differ from their golden calls."""
    for call in calls:
        if call.accepted is False:
            yield from call.wrong.values()
