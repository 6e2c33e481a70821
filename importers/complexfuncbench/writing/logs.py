"""A sample's log by what people say of its calls: the log is the only place that keeps the verdict on a call.

What the tiers said of a pair gives way to the lines of a judge's verdict; the rest of the log tells how the run went,
and stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fcreview.importers.complexfuncbench.calls import as_json, judge_calls
from fcreview.importers.complexfuncbench.covering import addresses
from fcreview.importers.complexfuncbench.log import HEADER, Comparison, Log, outcome, read_log
from fcreview.importers.complexfuncbench.read import pairs_of
from fcreview.importers.complexfuncbench.sample import Made, golden_path, made

Json = dict[str, Any]
Place = tuple[int, int]
"""(call turn, comparison in it), both from 0, in the last try."""
WORDS = "people say so"


def with_calls(text: str, record: Json, known: Json | None, said: Mapping[str, bool]) -> tuple[str, set[str]]:
    """The log with people's verdicts on calls, by address, and of which calls it has none. `known` is the dataset's
    sample."""
    log, ours, golden = read_log(text), made(record), golden_path(known)
    verdicts = judge_calls(ours, golden, (known or {}).get("functions") or [], log)
    compared = _compared(ours, log)
    places: dict[Place, bool] = {}
    missing = set(said)
    for address, verdict in addresses(pairs_of(verdicts, golden), verdicts).items():
        place = compared.get(verdict.predicted.index)
        if address in said and place is not None:
            places[place] = said[address]
            missing.discard(address)
    return _edited(text, places), missing


def _compared(ours: Made, log: Log) -> dict[int, Place]:
    """Which comparison is of which predicted call: taken in order, as `judge_calls` takes them."""
    found: dict[int, Place] = {}
    for turn, (calls, logged) in enumerate(zip(ours.steps, log.turns, strict=False)):
        rest = list(enumerate(logged.comparisons))
        for call in calls:
            place = next((each for each in rest if each[1].predicted == as_json(call)), None)
            if place is not None:
                rest.remove(place)
                found[call.index] = (turn, place[0])
    return found


@dataclass(slots=True)
class _Part:
    """A record of the log with its header, or what stands before the first."""

    header: str
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join([self.lines[0][len(self.header) :], *self.lines[1:]])


def _parts(text: str) -> Iterator[_Part]:
    part: _Part | None = None
    for line in text.split("\n"):
        found = HEADER.match(line)
        if found or part is None:
            if part is not None:
                yield part
            part = _Part(found.group() if found else "", [line])
        else:
            part.lines.append(line)
    if part is not None:
        yield part


def _edited(text: str, places: Mapping[Place, bool]) -> str:
    parts = list(_parts(text))
    start = max((at for at, part in enumerate(parts) if part.text.startswith("Test Example ")), default=0)
    kept: list[str] = []
    turn, number, said = -1, -1, None
    for at, part in enumerate(parts):
        if at >= start and part.text.startswith("Function Calls:"):
            turn, number = turn + 1, -1
        if said is not None and outcome(part.text, Comparison(None, None)):
            continue
        said = None
        kept += part.lines
        if at >= start and part.text.startswith("Start compare_single_call:"):
            number += 1
            said = places.get((turn, number))
            if said is not None:
                kept += _lines(part.header, said)
    return "\n".join(kept)


def _lines(header: str, accepted: bool) -> list[str]:
    end = "LLM-based compare success." if accepted else "All compare method failed."
    judge = {"is_equal": accepted, "reason": WORDS}
    return [f"{header}LLM-based comparison output: {judge}", f"{header}{end}"]
