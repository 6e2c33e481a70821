"""Recognise MCP-Atlas tasks without an answer of the model.

`run_eval.py` (commit 5b6220c) writes `ERROR:` as the answer if the harness did not reply. If a
request to the model fails inside of the harness, nothing says so: `run_eval.py` drops the harness's
record of the error, and takes the last text that the model wrote before, or an empty text, as the
answer. The conversation then ends with the result of a tool, or has no message of the model. The
same is left of a run that used up its turns or calls, so this is only an issue. Older files state
the reason in the column `errors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.importers.common.error_replies import check_reply_text
from fcreview.importers.common.incidents import (
    apply_incident,
    make_empty_reply_incident,
    make_error_incident,
    make_incident,
)
from fcreview.importers.common.records import add_issue, as_list, as_object
from fcreview.importers.mcp_atlas import columns
from fcreview.importers.mcp_atlas.claims import Judgement
from fcreview.model.incident import Incident
from fcreview.model.item import Item, Message

ERROR_PREFIX = "ERROR:"
RESPONSE = "response"
FINAL_RESPONSE = "final response"
"""Name of the message with the answer, if the conversation does not end with it."""
NO_ANSWER_KEY = "no answer"
"""Metadata key of tasks whose request failed, or whose answer is empty."""
LIMITS = ("max_tool_calls_reached", "max_turns_reached")
SERVER_RESPONSE = "serverResponse"
"""Key of an error of a request to the model. Errors of tools have none."""
SCORING_FAILURE = "Failed:"
"""Beginning of the explanation of a task that the scorer could not score (`score_claims.py`)."""


def apply_task_incident(item: Item, cells: dict[str, str], response: str) -> None:
    """Record why a task has no answer of the model, and report what looks like it.

    The official score of a task without an answer is 0.
    """
    errors = as_list(item.extra.metadata.get(columns.ERRORS))
    item.ended = _describe_first_error(errors)
    is_error = response.startswith(ERROR_PREFIX)
    is_empty = not response.strip()
    is_cut = _ends_with_result(item, cells, response)

    if is_error:
        apply_incident(item, make_error_incident(response, RESPONSE, is_marked=False))
    elif is_empty or is_cut:
        _apply_missing_answer(item, errors, is_cut=is_cut, is_empty=is_empty)
    else:
        _check_answer(item, cells, response, errors)
    if is_error or is_empty:
        item.extra.metadata[NO_ANSWER_KEY] = True


def _apply_missing_answer(
    item: Item, errors: Sequence[Any], *, is_cut: bool, is_empty: bool
) -> None:
    """Record why the conversation has no final answer, as far as the file says it."""
    stated = _find_stated_error(errors)
    if stated is not None:
        apply_incident(item, stated)
        return
    if is_empty:
        apply_incident(item, make_empty_reply_incident(RESPONSE))
    if is_cut:
        add_issue(
            item,
            "the conversation ends with the result of a tool and without a final answer. Either a"
            " request to the model failed, or a limit of the run was used up; the file does not"
            " say which",
        )
    elif not _list_replies(item) and not item.predicted:
        add_issue(
            item,
            "the conversation has no message of the model, so the first request to the model"
            " probably failed. The file does not say so",
        )


def _check_answer(item: Item, cells: dict[str, str], response: str, errors: Sequence[Any]) -> None:
    """Mark or report an answer that is probably not of the model."""
    is_silent = _is_model_silent(item, cells)
    check_reply_text(item, response, RESPONSE, is_model_silent=is_silent)
    if item.has_incident:
        return
    # The answer may be that of the program which ran the model.
    if is_silent:
        add_issue(item, "there is an answer, but the conversation has no message of the model")
    if any(_is_request_error(error) for error in errors):
        add_issue(
            item,
            f"{columns.ERRORS} has a failed request to the model, so the answer may be cut",
        )


def _find_stated_error(errors: Sequence[Any]) -> Incident | None:
    """Return the incident that the column `errors` states for a task without a final answer."""
    # First any failed request among the errors, and only then a limit.
    for error in errors:
        if _is_request_error(error):
            return make_error_incident(error, columns.ERRORS)
    for error in errors:
        text = _describe_error(error)
        if text in LIMITS:
            return make_incident("limit", text, columns.ERRORS)
    return None


def _is_request_error(error: Any) -> bool:
    fields = as_object(error)
    return SERVER_RESPONSE in fields and isinstance(fields.get("message"), str)


def _describe_first_error(errors: Sequence[Any]) -> str | None:
    return _describe_error(errors[0]) if errors else None


def _describe_error(error: Any) -> str | None:
    """Return an error as text: `max_tool_calls_reached`. None if it has no text."""
    if isinstance(error, str):
        return error
    fields = as_object(error)
    for text in (fields.get("message"), fields.get("reason")):
        if isinstance(text, str):
            return text
    return None


def _list_replies(item: Item) -> list[Message]:
    """Return the messages of the model in the conversation, without an answer that is not in it."""
    return [
        message
        for message in item.messages
        if message.role == "assistant" and message.name != FINAL_RESPONSE
    ]


def _ends_with_result(item: Item, cells: dict[str, str], response: str) -> bool:
    """Whether a conversation ends with the result of a tool, and the answer is not a text of its
    own.

    The trajectories of older files never contain the answer.
    """
    if not cells.get(columns.CONVERSATION):
        return False
    conversation = [message for message in item.messages if message.name != FINAL_RESPONSE]
    if not conversation or conversation[-1].role != "tool":
        return False
    # An answer that repeats an earlier text of the model is none of its own.
    earlier_texts = {message.content for message in _list_replies(item)}
    return not response.strip() or response in earlier_texts


def _is_model_silent(item: Item, cells: dict[str, str]) -> bool:
    """Whether the file shows that the model wrote nothing: there is a column for the conversation,
    it can be read, and it has no message and no call of the model.
    """
    if item.predicted or _list_replies(item):
        return False
    known_columns = [
        name for name in (columns.CONVERSATION, columns.OLD_TRAJECTORY) if name in cells
    ]
    # An issue about a column begins with its name.
    is_readable = not any(issue.what.startswith(tuple(known_columns)) for issue in item.issues)
    return bool(known_columns) and is_readable


def check_skipped_claims(item: Item, judgements: Sequence[Judgement], response: str) -> None:
    """Report an answer that the scorer took for an empty one or an error.

    pandas, with which the scorer reads the file, takes words such as `N/A` and `None` for empty.
    """
    is_skipped = bool(judgements) and all(judgement.is_skipped for judgement in judgements)
    if is_skipped and response.strip() and not response.startswith(ERROR_PREFIX):
        add_issue(item, "the scorer did not show the answer to the judge, although it is not empty")


def find_scoring_failure(details: Any) -> str | None:
    """Return why the scorer could not score a task, or None if it could."""
    explanation = as_object(details).get("explanation")
    is_failure = isinstance(explanation, str) and explanation.startswith(SCORING_FAILURE)
    return explanation if is_failure else None
