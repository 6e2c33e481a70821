"""Read the runs of LangSmith that are requests to a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fcreview.importers.common.json_text import JsonRecord
from fcreview.importers.common.records import as_list, as_object, is_integer, list_objects
from fcreview.importers.dialects.read import find_tools, has_reply, join_exchange
from fcreview.importers.dialects.token_counts import NO_COUNTS, TokenCounts, read_token_counts
from fcreview.importers.generic_format.traced_requests import (
    JsonObject,
    TracedRequest,
    TraceLine,
    UnreadEntries,
    choose_id,
    get_text,
)
from fcreview.model.item import ImportIssue
from fcreview.model.wording import format_count

RUN_FIELDS = frozenset({"trace_id", "session_id", "dotted_order", "parent_run_id"})
"""Fields of runs, of which each run has at least one."""
MODEL_RUN = "llm"
GENERATIONS = "generations"
"""Field in which LangChain has a list of replies for each prompt."""
REPLY_LISTS = ("choices", "candidates", "messages")
"""Fields in which APIs and users have several replies."""
FINISH_REASONS = ("finish_reason", "finishReason", "stop_reason", "stopReason")
CHILD_RUNS = "child_runs"
RECORD_FIELDS = ("id", "inputs", "outputs", "error", CHILD_RUNS)
"""Fields of a run that have their own place in a record."""


def is_run(fields: Mapping[str, Any]) -> bool:
    return _has_type(fields) and "inputs" in fields and bool(fields.keys() & RUN_FIELDS)


def _has_type(run: Mapping[str, Any]) -> bool:
    return isinstance(run.get("run_type"), str)


def read_runs(
    line: TraceLine, run: JsonObject, unread: UnreadEntries
) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the record of each request to a model in a run and its child runs, and issues about
    what is not read of it. `unread` counts the other runs.
    """
    runs = [run]
    while runs:
        next_run = runs.pop()
        if next_run["run_type"] == MODEL_RUN:
            yield from _read_request(line, next_run)
        else:
            unread.add(f"runs of the type {next_run['run_type'][:60]}", line.record.line)
        child_runs = filter(_has_type, list_objects(next_run.get(CHILD_RUNS)))
        runs.extend(reversed(list(child_runs)))


def _read_request(line: TraceLine, run: JsonObject) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the record of a request to a model, and issues about what is not read of it."""
    run_id = choose_id(run, "id", line)
    yield from _report_unread_inputs(line, as_object(run.get("inputs")), item=run_id)
    # A run that failed has no outputs.
    if run.get("outputs") or not run.get("error"):
        yield from _report_unread_outputs(line, as_object(run.get("outputs")), item=run_id)
    yield _make_request(run_id, run).make_record(line)


def _make_request(run_id: str, run: JsonObject) -> TracedRequest:
    outputs = as_object(run.get("outputs"))
    request = _find_request(as_object(run.get("inputs")))
    response = _find_response(outputs)
    return TracedRequest(
        run_id,
        group=get_text(run, "trace_id"),
        messages=join_exchange(request, response),
        tools=as_list(find_tools(request, _get_parameters(run))),
        tokens=_count_tokens(run, outputs),
        extra={name: value for name, value in run.items() if name not in RECORD_FIELDS},
        finish_reason=_find_finish_reason(outputs, response),
        error=str(run["error"]) if run.get("error") else None,
    )


def _get_parameters(run: JsonObject) -> JsonObject:
    return as_object(as_object(run.get("extra")).get("invocation_params"))


# -- the request


def _find_request(inputs: JsonObject) -> JsonObject:
    """Return the inputs of a run as a request.

    LangChain has a list of conversations, of which there is one, or texts of prompts.
    """
    conversations = _list_conversations(inputs)
    if conversations:
        return inputs | {"messages": conversations[0]}
    prompts = as_list(inputs.get("prompts"))
    if prompts and "messages" not in inputs:
        return {"messages": [{"role": "user", "content": prompts[0]}]}
    return inputs


def _list_conversations(inputs: JsonObject) -> list[list[Any]]:
    """Return the conversations of LangChain's inputs. Empty for one list of messages."""
    messages = as_list(inputs.get("messages"))
    are_conversations = all(isinstance(conversation, list) for conversation in messages)
    return messages if are_conversations else []


def _report_unread_inputs(
    line: TraceLine, inputs: JsonObject, *, item: str
) -> Iterator[ImportIssue]:
    """Yield issues about inputs without messages, and about further prompts, of which only the
    first one is read.
    """
    if not join_exchange(_find_request(inputs), {}):
        message = "inputs of the run have no messages that could be read"
        yield line.make_issue(message, item=item, raw=inputs)
    prompts = as_list(inputs.get("prompts")) if "messages" not in inputs else []
    further = (_list_conversations(inputs) or prompts)[1:]
    if further:
        count = format_count(len(further), "further prompt")
        yield line.make_issue(
            f"{count} of the run not read, only the first", item=item, raw=further
        )
    tools = find_tools(inputs)
    if tools is not None and not isinstance(tools, list):
        yield line.make_issue("tools of the run are not a list", item=item, raw=tools)


# -- the response


def _find_response(outputs: JsonObject) -> JsonObject:
    """Return the outputs of a run as a response, with the first of several replies."""
    generation = _get_first_generation(outputs)
    if isinstance(generation.get("message"), dict):
        return {"message": generation["message"]}
    if isinstance(generation.get("text"), str):
        return {"message": {"role": "assistant", "content": generation["text"]}}
    messages = list_objects(outputs.get("messages"))
    if messages:
        return {"message": messages[0]}
    return outputs


def _list_generations(outputs: JsonObject) -> list[Any]:
    """Return LangChain's replies to the first prompt."""
    replies_by_prompt = as_list(outputs.get(GENERATIONS))
    return as_list(replies_by_prompt[0]) if replies_by_prompt else []


def _get_first_generation(outputs: JsonObject) -> JsonObject:
    generations = _list_generations(outputs)
    return as_object(generations[0]) if generations else {}


def _report_unread_outputs(
    line: TraceLine, outputs: JsonObject, *, item: str
) -> Iterator[ImportIssue]:
    """Yield issues about outputs without a reply, and about further replies."""
    if not outputs:
        yield line.make_issue("the run has no outputs", item=item)
    elif not has_reply(_find_response(outputs)):
        message = "outputs of the run have no reply that could be read"
        yield line.make_issue(message, item=item, raw=outputs)
    generations = _list_generations(outputs)
    yield from line.report_further_replies(f"{GENERATIONS}[0]", generations, item=item)
    for name in REPLY_LISTS:
        yield from line.report_further_replies(name, as_list(outputs.get(name)), item=item)


def _find_finish_reason(outputs: JsonObject, response: JsonObject) -> str | None:
    """Return why the model ended its first reply.

    The places are searched in this order: those in which LangChain writes the reason, then those in
    which the APIs of the models write it.
    """
    generation = _get_first_generation(outputs)
    message = as_object(response.get("message"))
    # LangChain may wrap the fields of a message in `kwargs`.
    fields_of_message = as_object(message.get("kwargs")) or message
    places = [
        generation.get("generation_info"),
        fields_of_message.get("response_metadata"),
        fields_of_message,
        _get_first_choice(outputs),
        outputs,
    ]
    for place in places:
        for name in FINISH_REASONS:
            reason = get_text(as_object(place), name)
            if reason is not None:
                return reason
    return None


def _get_first_choice(outputs: JsonObject) -> JsonObject:
    """Return the first reply of a response: `choices` of OpenAI, or `candidates` of Gemini. Empty
    if there is none.
    """
    replies = list_objects(outputs.get("choices")) or list_objects(outputs.get("candidates"))
    for reply in replies:
        return reply
    return {}


def _count_tokens(run: JsonObject, outputs: JsonObject) -> TokenCounts:
    """Return the numbers of tokens. LangSmith has them in the run, LangChain in the message or in
    the outputs, and APIs in the outputs.
    """
    of_run = TokenCounts(_get_count(run, "prompt_tokens"), _get_count(run, "completion_tokens"))
    message = as_object(_get_first_generation(outputs).get("message"))
    model_output = as_object(outputs.get("llm_output"))
    owners = [
        outputs,
        as_object(message.get("kwargs")),
        {"usage": model_output.get("token_usage")},
        model_output,
    ]
    for counts in (of_run, *map(read_token_counts, owners)):
        if counts != NO_COUNTS:
            return counts
    return of_run


def _get_count(run: JsonObject, name: str) -> int | None:
    return run[name] if is_integer(run.get(name)) else None
