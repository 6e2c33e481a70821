"""Recognise ComplexFuncBench samples without an answer, and judges that gave no score.

If the API gives no answer, the runner ends with `unknown_error` and writes no result record: the
log of the sample has no line `Message: `. A judge that gave no usable reply in ten attempts scores
-1, and an empty response scores -2 (`evaluation.py` and `models/` of the release, commit c37b284).
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.incidents import (
    make_empty_reply_incident,
    make_error_incident,
    make_incident,
)
from fcreview.importers.common.records import as_object
from fcreview.importers.complexfuncbench.log import EvaluationLog
from fcreview.model.incident import Incident

UNKNOWN_ERROR = "unknown_error"
JUDGE_FAILURES = {
    -1: "the judge gave no usable reply in 10 attempts",
    -2: "the response is empty, so the judge had nothing to score",
}
"""Score -> why the judge gave none."""
EMPTY_RESPONSE_SCORE = -2
NO_OUTCOME = "the log ends without an outcome"


def find_record_incident(record: dict[str, Any]) -> Incident | None:
    """Return the incident of a result record.

    Only changed runners write a record for a request that failed.
    """
    message = as_object(record.get("message"))
    if message.get("error_type") == UNKNOWN_ERROR:
        return make_error_incident(message.get("content") or UNKNOWN_ERROR, "message")

    evaluation = as_object(record.get("resp_eval"))
    scores = [as_object(entry).get("score") for entry in evaluation.values()]
    if EMPTY_RESPONSE_SCORE in scores:
        return make_empty_reply_incident("resp_eval")
    return None


def find_log_incident(log: EvaluationLog | None) -> Incident | None:
    """Return the incident of a sample that has a log but no result record."""
    if log is None or log.outcome is not None:
        return None
    if log.error is not None:
        return make_error_incident(log.error, "log", is_marked=False)
    return make_incident("unknown", NO_OUTCOME, "log", is_marked=False)


def find_judge_failure(score: Any, reason: Any) -> str | None:
    """Return why a judge gave no score, or None if it gave one.

    `reason` is the text that the file has for it.
    """
    if score in (0, 1, 2):
        return None
    failure = f"the recorded score {score} is not valid"
    if score in (-1, -2):
        failure = JUDGE_FAILURES.get(int(score), failure)
    return f"{failure} ({reason})" if reason else failure
