"""What the figures and the roll-up must know of every call: what answered which golden call, and was it accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fcreview.importers.complexfuncbench.calls import CallVerdict, as_json, free
from fcreview.importers.complexfuncbench.parameters import differing, kind
from fcreview.importers.complexfuncbench.rules import error_word
from fcreview.importers.complexfuncbench.sample import GoldenPath
from fcreview.model import Pair
from fcreview.targets import call_address


def addresses(pairs: Sequence[Pair], verdicts: Sequence[CallVerdict]) -> dict[str, CallVerdict]:
    """The predicted calls by address."""
    by_predicted = {verdict.predicted.index: verdict for verdict in verdicts}
    places = ((call_address(0, place), pair.predicted) for place, pair in enumerate(pairs))
    return {address: by_predicted[index] for address, index in places if index is not None and index in by_predicted}


def calls(verdicts: Mapping[str, CallVerdict]) -> dict[str, dict[str, Any]]:
    """`{address: {"accepted": true, "golden": 4, "error": "value_error", "wrong": {"legs": "legs"}}}`

    `accepted` is null where nobody judged the call. `golden` is the place of the golden call it answers, from 1, left
    out if it answers none. `error` is the evaluator's word for it, of an accepted call the one it would get if refused.
    `wrong` are the parameters in which the two differ, with the paper's types.
    """
    return {address: _call(verdict) for address, verdict in verdicts.items()}


def _call(verdict: CallVerdict) -> dict[str, Any]:
    found: dict[str, Any] = {"accepted": verdict.ok}
    if verdict.golden is not None:
        found["golden"] = verdict.golden.index + 1
    wrong = _wrong(verdict)
    error = verdict.error_type
    if error is None and wrong and verdict.golden is not None:
        error = error_word(as_json(verdict.predicted), as_json(verdict.golden))[0]
    if error is not None:
        found["error"] = error
    return found | ({"wrong": {name: kind(name) for name in wrong}} if wrong else {})


def _compared(verdict: CallVerdict) -> bool:
    """Whether values were: not of a malformed call, and not of another function."""
    return verdict.golden is not None and verdict.tier != "format" and verdict.golden.name == verdict.predicted.name


def _wrong(verdict: CallVerdict) -> list[str]:
    if verdict.golden is None or not _compared(verdict):
        return []
    return differing(as_json(verdict.predicted)["arguments"], as_json(verdict.golden)["arguments"])


def parameters(verdicts: Sequence[CallVerdict]) -> dict[str, int]:
    """How many parameters of each type were compared."""
    names = [
        name
        for verdict in verdicts
        if verdict.golden is not None and _compared(verdict)
        for name in {**as_json(verdict.golden)["arguments"], **as_json(verdict.predicted)["arguments"]}
    ]
    return dict(Counter(map(kind, names)))


def needs(path: GoldenPath, verdicts: Mapping[str, CallVerdict], success: bool) -> list[list[str]]:
    """What `Extra.needs` says: of the calls that answer a golden call, one is accepted; a free one may be left out, but
    an accepted one that turns out wrong is not forgiven.

    What the recorded outcome shows not to be needed is left out; where it failed for something else, nothing helps.
    """
    found: list[list[str]] = []
    met: list[list[str]] = []
    for call in path.calls:
        answers = [at for at, verdict in verdicts.items() if verdict.golden is not None and verdict.golden is call]
        accepted = any(verdicts[at].ok for at in answers)
        if accepted or not free(call):
            found.append(answers)
        if accepted:
            met.append(answers)
    if success:
        return met
    return [*found, []] if len(met) == len(found) else found
