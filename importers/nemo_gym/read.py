"""Read rollouts of NeMo Gym as items: the request, the response, the reward and the golden answer.

The items of the response are the model's answer. Calls in the request are part of the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.jsonl import JsonRecord, reread_value
from fcreview.importers.common.judge_answers import add_judge_verdict, find_equivalence_label
from fcreview.importers.common.records import (
    add_issue,
    as_list,
    as_object,
    fill_safely,
    is_integer,
    list_objects,
    set_position,
    shorten_question,
)
from fcreview.importers.common.rewards import (
    PassRule,
    add_reward_verdicts,
    choose_pass_rule,
    read_reward,
)
from fcreview.importers.common.run_models import report_several_models
from fcreview.importers.dialects.context import quote_calls
from fcreview.importers.dialects.conversation import MessageIssue, ParsedConversation
from fcreview.importers.dialects.read import read_conversation
from fcreview.importers.dialects.to_item import fill_conversation, find_last_reply
from fcreview.importers.dialects.tools import add_tools
from fcreview.importers.dialects.values import to_text
from fcreview.importers.nemo_gym import incidents, rules
from fcreview.importers.nemo_gym.inputs import (
    GOLDEN_FIELDS,
    Golden,
    Inputs,
    read_golden,
    read_inputs,
)
from fcreview.importers.nemo_gym.rollouts import (
    AGENT,
    ATTEMPT_INDEX,
    FAILURE_CLASS,
    MASK,
    REQUEST,
    RESPONSE,
    REWARD,
    ROLLOUT_INDEX,
    TASK_INDEX,
    JsonObject,
    Owner,
    RolloutName,
    RolloutNamer,
    RunFiles,
    flatten_output,
    get_agent_name,
    get_rollout_index,
    get_task_index,
    is_failure,
    is_rollout,
    read_rollouts,
)
from fcreview.importers.nemo_gym.survey import Survey, survey_rollouts
from fcreview.matching.align import align_calls_by_turn
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.item import Call, ImportIssue, Item, MissingItem, RunFact
from fcreview.model.json_value import answer_hash
from fcreview.run_plan import RunPlan

RESPONSES_DIALECT = "openai_responses"
VERIFIER = "NeMo Gym verifier"
TOKEN_FIELDS = ("prompt_token_ids", "generation_token_ids", "generation_log_probs")
"""Fields of items with data for training."""
CHAT_FIELDS = ("tool_calls", "tool_call_id", "function_call")
"""Fields of messages in OpenAI's chat format, which some environments write to the input."""
REQUEST_FIELDS = frozenset(
    {
        "background",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "reasoning",
        "service_tier",
        "store",
        "stream",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    }
)
"""Fields of a request of OpenAI's Responses. Others become metadata, with a notice."""
READ_FIELDS = frozenset({REQUEST, RESPONSE, REWARD, TASK_INDEX, ROLLOUT_INDEX, *GOLDEN_FIELDS})
"""Fields of a rollout that do not become metadata, because the item has a place for them."""
NO_GOLDEN_CALLS = "+"
"""States of calls that are no errors where there is no golden call to compare them with."""
TASK_KEY = "task index"
ROLLOUT_KEY = "rollout index"
USAGE_KEY = "usage"
FAILED_KEY = "failed attempt"
EARLIER_KEY = "earlier failed attempts"
JUDGE_EVALUATIONS = "judge_evaluations"
JUDGE_TEXT_FIELDS = ("judge_output", "judge_response", "judge_text")
JUDGE_VERDICT_FIELDS = (
    "judge_verdict",
    "verdict",
    "verdict_label",
    "judgement",
    "judgment",
    "extracted_verdict",
)
REWARD_TOLERANCE = 1e-9


RolloutKey = tuple[int | None, int | None]
"""Task index and rollout index."""


@dataclass(slots=True)
class _RunContext:
    """What the rollouts of a run share while they are read."""

    rule: PassRule
    inputs: Inputs
    category: str
    namer: RolloutNamer = field(default_factory=RolloutNamer)
    n_without_input: int = 0
    n_without_golden: int = 0
    """Number of rollouts with an input, but without a golden answer in it."""
    n_rollouts: int = 0
    rewards: list[float] = field(default_factory=list)
    finished: set[RolloutKey] = field(default_factory=set)
    """Task and rollout index of the rollouts in the main file."""

    def count_without_golden(self, rollout: JsonObject) -> None:
        """Count a rollout without a golden answer, by whether it has an input."""
        if not self.inputs.has_files:
            return
        if self.inputs.is_joined(rollout):
            self.n_without_golden += 1
        else:
            self.n_without_input += 1


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue | RunFact | MissingItem]:
    """Yield an item for each rollout (attempt at a task) of a run: first the finished ones, then
    those that failed.

    At the end, yields what is missing in the files or contradicts them.
    """
    files: RunFiles = plan.importer_data
    # The rollouts are surveyed first, because their rewards show which ones pass.
    survey = survey_rollouts(files)
    context = _make_context(plan, files, survey)
    if survey.rewards:
        yield context.rule.make_fact()
    yield from context.inputs.issues
    yield from report_several_models(files.rollouts, survey.models)

    failures = _Failures()
    for path in files.list_rollout_files():
        yield from _read_finished_rollouts(path, files.owner, context, failures)
    yield from _read_failures(failures, context)
    yield from _report_unjoined_rollouts(files, context)
    yield from _report_inputs_without_golden(files, context)
    yield from _report_not_run(context)
    yield from _add_official_metrics(plan, files, context)


def _make_context(plan: RunPlan, files: RunFiles, survey: Survey) -> _RunContext:
    """Choose which rollouts pass, and read the inputs of the run."""
    rule = choose_pass_rule(
        plan.options.get("verdict_from", ""),
        survey.list_thresholds(),
        are_verdicts=survey.has_only_verdicts,
    )
    category = plan.run.generation or "all"
    return _RunContext(rule, read_inputs(files, survey, category), category)


def _read_finished_rollouts(
    path: Path, owner: Owner | None, context: _RunContext, failures: _Failures
) -> Iterator[Item | ImportIssue]:
    """Yield an item for each finished rollout (attempt at a task) of a file, and an issue for each
    record that is none.

    Failed attempts are added to `failures`. `owner` selects the rollouts of one of several agents.
    """
    is_empty = True
    for record in read_rollouts(path, owner):
        is_empty = False
        if isinstance(record, ImportIssue):
            yield record
        elif not is_rollout(record.value):
            yield _make_not_a_rollout_issue(path, record)
        elif is_failure(record.value):
            failures.add_attempt(record, path)
        else:
            yield _make_finished_item(record, path, context)
    # With several agents, a file may contain no rollout of this one.
    if is_empty and owner is None:
        yield ImportIssue(str(path), what="the file contains no records")


def _make_finished_item(record: JsonRecord, path: Path, context: _RunContext) -> Item:
    """Make the item of a finished rollout, and count the rollout and its reward."""
    name = context.namer.name(record)
    context.finished.add((get_task_index(record.value), get_rollout_index(record.value)))
    context.n_rollouts += 1
    reward = read_reward(record.value.get(REWARD))
    if reward is not None:
        context.rewards.append(reward)

    item = _make_item(record, name, path, context)
    fill_safely(item, partial(_recompute_verdict, item, record.value, context.inputs))
    fill_safely(item, partial(_add_reward, item, record.value, context.rule))
    fill_safely(item, partial(incidents.apply_rollout_incident, item, record.value))
    return item


def _make_not_a_rollout_issue(path: Path, record: JsonRecord) -> ImportIssue:
    what = f"the line is not a rollout: {REQUEST} or {RESPONSE} is missing or not an object"
    return ImportIssue(str(path), record.line, what=what, severity="error")


# -- one rollout


def _make_item(record: JsonRecord, name: RolloutName, path: Path, context: _RunContext) -> Item:
    """Make the item of a rollout, one attempt at a task, without its reward.

    The golden answer is in the rollout, or in the file of inputs, which `context` has.
    """
    item = Item(name.item_id, context.category, group=name.group, file=str(path))
    set_position(item, record)
    # The id of a rollout that occurs again ends with `#` and its line.
    if "#" in name.item_id:
        add_issue(item, "several rollouts have the same task and rollout index")

    rollout: JsonObject = record.value
    golden = _find_golden(rollout, context.inputs)
    if golden is None:
        context.count_without_golden(rollout)
    _fill_item(item, rollout, golden)
    return item


def _fill_item(item: Item, rollout: JsonObject, golden: Golden | None) -> None:
    """Fill an item from its rollout. A failure in one part must not lose the others, such as the
    reward.
    """
    response = as_object(rollout.get(RESPONSE))
    item.prediction_hash = answer_hash(response.get("output"))
    fill_safely(item, partial(_fill_conversation, item, rollout))
    fill_safely(item, partial(_add_metadata, item, rollout))
    fill_safely(item, partial(_report_malformed_fields, item, rollout))
    item.ended = _describe_ending(response)
    fill_safely(item, partial(_add_usage, item, response))
    fill_safely(item, partial(_add_golden, item, golden))
    fill_safely(item, partial(_add_judge_verdicts, item, rollout))


def _find_golden(rollout: JsonObject, inputs: Inputs) -> Golden | None:
    """Return the golden answer in the rollout if it is readable, else that in its input."""
    own = read_golden(rollout)
    if own is not None and own.is_readable:
        return own
    return inputs.find_golden(rollout) or own


def _fill_conversation(item: Item, rollout: JsonObject) -> None:
    """Set the conversation of an item: the messages of the request, and then the model's answer."""
    request = as_object(rollout.get(REQUEST))
    response = as_object(rollout.get(RESPONSE))
    question = _read_request(item, request)
    answer = _read_response(item, response)
    question.messages.extend(answer.messages)
    question.issues.extend(answer.issues)
    _add_functions(question, request, response)
    fill_conversation(item, question)
    item.functions = question.functions
    if not item.question:
        item.question = shorten_question(str(rollout.get("name") or item.group))


def _read_request(item: Item, request: JsonObject) -> ParsedConversation:
    """Read the request of a rollout: what the model was asked.

    Calls in it are those of earlier turns, so they are shown but not compared.
    """
    messages = _list_request_messages(item, request)
    for name in request:
        if name not in REQUEST_FIELDS and request[name] is not None:
            add_issue(item, f"field {REQUEST}.{name} is not read", severity="notice")

    parts: JsonObject = {"messages": messages}
    if request.get("instructions") is not None:
        parts["instructions"] = request["instructions"]
    # Some environments write chat messages, whose dialect the messages show.
    is_chat = any(message.keys() & set(CHAT_FIELDS) for message in list_objects(messages))
    dialect = None if is_chat else RESPONSES_DIALECT
    conversation = _read_parts(parts, dialect, place=f"{REQUEST}.input")
    quote_calls(conversation)
    return conversation


def _list_request_messages(item: Item, request: JsonObject) -> list[Any]:
    """Return the messages of a request. A text is a message of the user."""
    written = request.get("input")
    if isinstance(written, str):
        return [{"role": "user", "content": written}]
    if not isinstance(written, list):
        add_issue(item, f"{REQUEST}.input is neither a text nor a list, so the question is unknown")
        return []
    return written


def _read_response(item: Item, response: JsonObject) -> ParsedConversation:
    """Read the answer of the model. Nested lists of it are flattened."""
    written = response.get("output")
    if not isinstance(written, list):
        add_issue(item, f"{RESPONSE}.output is not a list, so the answer is unknown")
        written = []
    output = [_without_token_data(each) for each in flatten_output(written)]
    return _read_parts({"messages": output}, RESPONSES_DIALECT, place=f"{RESPONSE}.output")


def _read_parts(parts: JsonObject, dialect: str | None, *, place: str) -> ParsedConversation:
    """Read messages, and name in each issue the field of the rollout that contains them."""
    # There is nothing to read.
    if not parts["messages"] and "instructions" not in parts:
        return ParsedConversation(RESPONSES_DIALECT)
    conversation = read_conversation(parts, dialect=dialect, reads_foreign=True)
    conversation.issues = [_place_issue(issue, place) for issue in conversation.issues]
    return conversation


def _place_issue(issue: MessageIssue, place: str) -> MessageIssue:
    rest = issue.path.removeprefix("input").removeprefix("messages")
    return replace(issue, path=place + rest)


def _without_token_data(item: Any) -> Any:
    if not isinstance(item, dict) or not item.keys() & set(TOKEN_FIELDS):
        return item
    return {name: value for name, value in item.items() if name not in TOKEN_FIELDS}


def _add_functions(
    conversation: ParsedConversation, request: JsonObject, response: JsonObject
) -> None:
    """Add the tools on offer. The response repeats those of the request."""
    tools = request.get("tools")
    if tools is None:
        tools = response.get("tools")
    add_tools(conversation, tools, path=f"{REQUEST}.tools")


def _add_metadata(item: Item, rollout: JsonObject) -> None:
    """Add the fields of a rollout that have no other place to the item's metadata, with the numbers
    of its task and its rollout.
    """
    metadata = item.extra.metadata
    for name, value in rollout.items():
        if name not in READ_FIELDS and value is not None:
            metadata[name] = value

    task_index = get_task_index(rollout)
    if task_index is not None:
        metadata[TASK_KEY] = task_index
    rollout_index = get_rollout_index(rollout)
    if rollout_index is not None:
        metadata[ROLLOUT_KEY] = rollout_index


def _report_malformed_fields(item: Item, rollout: JsonObject) -> None:
    """Add an issue for each field of a rollout that is ignored because of its form."""
    if rollout.get(AGENT) is not None and not get_agent_name(rollout):
        add_issue(item, f"{AGENT} has no name, so the rollout belongs to no agent")
    for name in (TASK_INDEX, ROLLOUT_INDEX):
        if rollout.get(name) is not None and not is_integer(rollout[name]):
            add_issue(item, f"{name} is not a whole number")
    mask = rollout.get(MASK)
    if mask is not None and not isinstance(mask, bool):
        add_issue(item, f"{MASK} is not true or false, so the rollout counts as not masked")


def _describe_ending(response: JsonObject) -> str | None:
    reason = as_object(response.get("incomplete_details")).get("reason")
    if isinstance(reason, str):
        return reason
    status = response.get("status")
    return status if isinstance(status, str) else None


def _add_usage(item: Item, response: JsonObject) -> None:
    """Set the numbers of tokens of an item from the recorded usage."""
    usage = response.get("usage")
    if usage is None:
        return
    if not isinstance(usage, dict):
        add_issue(item, f"{RESPONSE}.usage is not an object, so the tokens are unknown")
        return
    item.extra.metadata[USAGE_KEY] = usage
    tokens_in = usage.get("input_tokens")
    tokens_out = usage.get("output_tokens")
    item.tokens_in = tokens_in if is_integer(tokens_in) else None
    item.tokens_out = tokens_out if is_integer(tokens_out) else None


def _add_reward(item: Item, rollout: JsonObject, rule: PassRule) -> None:
    if REWARD not in rollout:
        add_issue(item, "the rollout has no reward")
    add_reward_verdicts(item, rollout.get(REWARD), rule, by=VERIFIER)


# -- golden answers


def _add_golden(item: Item, golden: Golden | None) -> None:
    """Set the golden answer of an item, and pair its calls.

    A golden answer can be calls, accepted texts, or a message. One that cannot be read becomes
    metadata, with its problems as issues.
    """
    has_golden_calls = golden is not None and golden.calls is not None
    if not has_golden_calls:
        item.pairs = align_calls_by_turn([], item.predicted)
        item.rule_note = "the rollout has no golden calls"
        item.extra.uncounted_states = NO_GOLDEN_CALLS
    if golden is None:
        return

    for problem in golden.problems:
        add_issue(item, problem)
    if not golden.is_readable:
        item.extra.metadata[golden.field_name] = golden.written
    item.golden_hash = answer_hash(golden.written)
    if golden.answers:
        item.extra.accepted_answers = list(golden.answers)
        item.extra.final_answer = find_last_reply(item)
    item.extra.golden_reply = golden.reply
    if golden.calls is not None:
        _compare_calls(item, golden)


def _compare_calls(item: Item, golden: Golden) -> None:
    # The golden calls answer the request, so they belong to the first turn with calls.
    turn = item.predicted[0].turn if item.predicted else item.n_turns - 1
    item.golden = [replace(call, turn=turn) for call in golden.calls or []]
    item.pairs = align_calls_by_turn(item.golden, item.predicted)
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)


def _recompute_verdict(item: Item, rollout: JsonObject, inputs: Inputs) -> None:
    golden = _find_golden(rollout, inputs)
    if golden is not None and golden.calls is not None:
        calls = _list_function_calls(item, as_object(rollout.get(RESPONSE)))
        rules.recompute_verdict(item, golden, calls)


def _list_function_calls(item: Item, response: JsonObject) -> list[Call]:
    """Return the predicted calls of functions of the environment, which its rules count.

    Calls of tools that the model's provider runs, such as a web search, are left out.
    """
    names = {
        output.get("name")
        for output in flatten_output(as_list(response.get("output")))
        if isinstance(output, dict) and output.get("type") == "function_call"
    }
    return [call for call in item.predicted if call.name in names]


# -- judges


def _add_judge_verdicts(item: Item, rollout: JsonObject) -> None:
    """Add the verdicts of judges, LLMs that grade answers, with what they wrote as the explanation.

    Some environments write a list of evaluations, others the judge's text and verdict in fields of
    the rollout or of the judge's response.
    """
    evaluations = _list_judge_evaluations(item, rollout)
    for index, evaluation in enumerate(evaluations):
        _add_judge_evaluation(item, evaluation, index)
    if evaluations:
        return

    output = _find_value(rollout, JUDGE_TEXT_FIELDS)
    if output is None:
        return
    stated = _find_value(rollout, JUDGE_VERDICT_FIELDS)
    if stated is None:
        stated = _find_value(as_object(output), JUDGE_VERDICT_FIELDS)
    # Some environments write the judge's whole response, or the JSON of its reply.
    text = _join_output_texts(output) or to_text(output)
    if stated is None:
        stated = find_equivalence_label(text)
    add_judge_verdict(item, stated, text, criterion="correct", by=None)


def _list_judge_evaluations(item: Item, rollout: JsonObject) -> list[JsonObject]:
    """Return the evaluations of judges. An object is a single evaluation."""
    written = rollout.get(JUDGE_EVALUATIONS)
    if written is None:
        return []
    entries = written if isinstance(written, list) else [written]
    evaluations = list_objects(entries)
    if len(evaluations) < len(entries):
        add_issue(item, f"{JUDGE_EVALUATIONS} contains values that are no evaluations")
    return evaluations


def _add_judge_evaluation(item: Item, evaluation: JsonObject, index: int) -> None:
    """Add one evaluation of a judge as a verdict. If its label is missing, it is read from the
    judge's text.

    The first evaluation judges the answer. A further one, `index` 1 and higher, has a criterion of
    its own.
    """
    place = f"{JUDGE_EVALUATIONS}[{index}]"
    text = _join_output_texts(evaluation.get("response"))
    if not text:
        add_issue(item, f"{place}.response has no text, so the judge's explanation is unknown")
    label = evaluation.get("verdict_label")
    if label is not None and not isinstance(label, str):
        add_issue(item, f"{place}.verdict_label is not a text")
    criterion = "correct" if index == 0 else f"judge {index + 1}"
    add_judge_verdict(
        item,
        label or find_equivalence_label(text),
        text,
        criterion=criterion,
        by=_get_model(evaluation),
    )


def _join_output_texts(response: Any) -> str:
    """Return the texts of the messages in a judge's response."""
    texts: list[str] = []
    for message in list_objects(as_object(response).get("output")):
        for part in list_objects(message.get("content")):
            if isinstance(part.get("text"), str):
                texts.append(part["text"])
    return "\n".join(texts)


def _get_model(evaluation: JsonObject) -> str | None:
    model = as_object(evaluation.get("response")).get("model")
    return model if isinstance(model, str) and model else None


def _find_value(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """Return the first of some fields that is not empty, or None."""
    for name in names:
        value = fields.get(name)
        if value not in (None, "", [], {}):
            return value
    return None


# -- failed attempts


@dataclass(slots=True)
class _FailedRollout:
    """A rollout (attempt at a task) that failed: how each try failed, and the place of the last try
    in the file.
    """

    path: Path
    last: JsonRecord
    """Place of the last attempt, without its value."""
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Failures:
    """Failed rollouts in the order of their first attempts."""

    rollouts: dict[RolloutKey | tuple[Path, int | None], _FailedRollout] = field(
        default_factory=dict
    )
    """The key of an attempt without indexes is its file and line."""

    def add_attempt(self, record: JsonRecord, path: Path) -> None:
        """Add an attempt to its rollout. The attempts of a rollout have the same indexes.

        An attempt without indexes is a rollout of its own, because it is unknown to which one it
        belongs.
        """
        task_index = get_task_index(record.value)
        rollout_index = get_rollout_index(record.value)
        key: RolloutKey | tuple[Path, int | None] = (path, record.line)
        if task_index is not None and rollout_index is not None:
            key = (task_index, rollout_index)

        place = replace(record, value=None)
        name = _name_failure(record.value)
        earlier = self.rollouts.get(key)
        if earlier is None:
            self.rollouts[key] = _FailedRollout(path, place, names=[name])
            return
        earlier.path = path
        earlier.last = place
        earlier.names.append(name)


def _read_failures(failures: _Failures, context: _RunContext) -> Iterator[Item]:
    """Yield an item for each rollout that never finished: its last failed attempt."""
    for key, rollout in failures.rollouts.items():
        if key in context.finished:
            continue
        value = as_object(reread_value(rollout.path, rollout.last))
        record = replace(rollout.last, value=value)
        item = _make_item(record, context.namer.name(record), rollout.path, context)
        *earlier_names, last_name = rollout.names
        item.extra.metadata[FAILED_KEY] = last_name
        if earlier_names:
            item.extra.metadata[EARLIER_KEY] = earlier_names
        fill_safely(item, partial(incidents.apply_failure, item, value))
        yield item


def _name_failure(failure: JsonObject) -> str:
    attempt = failure.get(ATTEMPT_INDEX)
    number = f"attempt {attempt}: " if is_integer(attempt) else ""
    return number + str(failure.get(FAILURE_CLASS))


# -- the run


def _report_unjoined_rollouts(files: RunFiles, context: _RunContext) -> Iterator[ImportIssue]:
    """Yield an issue if rollouts have no input, and so no golden answer."""
    if not context.n_without_input:
        return
    names = _list_input_names(files)
    what = (
        f"{context.n_without_input:,} rollouts belong to no input of {names}: no input has the"
        " same task index or the same messages. They have no golden answer"
    )
    yield ImportIssue(str(files.rollouts), what=what)


def _report_inputs_without_golden(files: RunFiles, context: _RunContext) -> Iterator[ImportIssue]:
    """Yield a notice, because the field of the golden answer can have a name of its own."""
    if not context.n_without_golden:
        return
    names = _list_input_names(files)
    fields = ", ".join(GOLDEN_FIELDS)
    what = (
        f"{context.n_without_golden:,} rollouts have an input in {names}, but no golden answer:"
        f" neither the rollout nor the input has one of the fields {fields}"
    )
    yield ImportIssue(str(files.rollouts), what=what, severity="notice")


def _list_input_names(files: RunFiles) -> str:
    paths = list(files.datasets)
    if files.materialized_inputs is not None:
        paths.insert(0, files.materialized_inputs)
    return ", ".join(path.name for path in paths)


def _report_not_run(context: _RunContext) -> Iterator[RunFact | MissingItem]:
    if context.inputs.n_expected is None:
        return
    yield RunFact("expected_items", context.inputs.n_expected, "rows of the materialized inputs")
    yield from context.inputs.not_run


def _add_official_metrics(
    plan: RunPlan, files: RunFiles, context: _RunContext
) -> Iterator[ImportIssue]:
    """Set the official metrics of the run from its file of aggregates, and yield its issues."""
    if files.aggregate is None:
        return
    issues: list[ImportIssue] = []
    entries = list_objects(read_json(files.aggregate, issues, list))
    yield from issues
    metrics = _find_agent_metrics(entries, plan.run.generation)
    if metrics:
        plan.run.official_metrics = {"rollouts": metrics}
        yield from _compare_mean_reward(metrics, files.aggregate, context.rewards)


def _compare_mean_reward(
    metrics: JsonObject, aggregate_file: Path, rewards: Sequence[float]
) -> Iterator[ImportIssue]:
    """Yield a notice if the mean reward in the metrics differs from the mean of the rollouts."""
    stated_mean = read_reward(metrics.get("mean/reward"))
    if stated_mean is None or not rewards:
        return
    mean = sum(rewards) / len(rewards)
    # A small difference comes from rounding.
    if abs(stated_mean - mean) > REWARD_TOLERANCE:
        what = (
            f"mean/reward is {stated_mean:g} in {aggregate_file.name}, but the mean of the"
            f" rollouts is {mean:g}"
        )
        yield ImportIssue(str(aggregate_file), what=what, severity="notice")


def _find_agent_metrics(entries: list[JsonObject], agent: str) -> JsonObject:
    """Return the numeric metrics of an agent from the entries of all agents.

    If there is only one entry, it counts whatever its name is.
    """
    for entry in entries:
        is_of_agent = as_object(entry.get(AGENT)).get("name") == agent
        if not is_of_agent and len(entries) > 1:
            continue
        metrics = as_object(entry.get("agent_metrics"))
        return {name: value for name, value in metrics.items() if read_reward(value) is not None}
    return {}
