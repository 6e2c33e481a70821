"""Read rollouts of verifiers as items: an episode of 0.4, or a line of a legacy run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.json_text import make_excerpt
from fcreview.importers.common.jsonl import JsonRecord
from fcreview.importers.common.judge_answers import add_judge_verdict
from fcreview.importers.common.not_run import list_some
from fcreview.importers.common.records import (
    add_issue,
    as_list,
    as_object,
    fill_safely,
    is_integer,
    is_number,
    list_objects,
    set_position,
    shorten_question,
)
from fcreview.importers.common.rewards import (
    PassRule,
    add_reward_verdicts,
    choose_pass_rule,
    format_threshold,
    parse_threshold,
    read_reward,
)
from fcreview.importers.common.run_models import (
    MAX_NAME_LENGTH,
    RunModels,
    report_several_models,
)
from fcreview.importers.dialects.conversation import ParsedConversation
from fcreview.importers.dialects.to_item import fill_conversation, find_last_reply, make_issues
from fcreview.importers.dialects.tools import add_tools
from fcreview.importers.verifiers import incidents
from fcreview.importers.verifiers.messages import (
    MessageTree,
    Node,
    describe_nodes,
    join_context_and_answer,
    read_branch,
    read_messages,
    read_tree,
)
from fcreview.importers.verifiers.rollouts import (
    CORRECT_REWARD,
    JsonObject,
    Reward,
    RolloutName,
    RolloutNamer,
    RunFiles,
    choose_main_trace,
    compute_total,
    get_agent_name,
    get_model_name,
    list_models,
    read_rewards,
    read_rollouts,
)
from fcreview.matching.align import align_calls_by_turn
from fcreview.model.item import ImportIssue, Item, Message, RunFact, Verdict
from fcreview.model.json_value import answer_hash
from fcreview.model.review import CORRECT
from fcreview.model.verdict import TOTAL_REWARD
from fcreview.run_plan import RunPlan

SCORING = "verifiers scoring"
REWARD_PREFIX = "reward "
"""Beginning of the criteria of single rewards: `reward correct`."""
DEFAULT_PASS_THRESHOLD = 0.5
MAX_CHOICES = 50
MAX_LOG_LENGTH = 100_000
TRIAL_KEY = "trial"
DECIDING_KEY = "deciding reward"
"""Metadata key of the name of the reward that decides whether a rollout passes."""
ERROR_KEY = "has error"
"""Metadata key of rollouts that ended with an error, which the figures leave out."""
PER_EXAMPLE_KEY = "rollouts per example"
METRICS_KEY = "metrics"
MAX_COUNT = 2**62
"""Number of tokens from which a value is an error. The store holds only smaller ones."""
TRACE_METADATA = ("stop_condition", "is_completed", "is_timeout", "ok", "root_reply", "errors")
LEGACY_METADATA = ("info", "is_completed", "is_truncated", "stop_condition", "error", "timing")
LEGACY_READ_FIELDS = (
    "example_id",
    "prompt",
    "completion",
    "answer",
    "reward",
    METRICS_KEY,
    "tool_defs",
    "token_usage",
)
"""Fields of a legacy rollout that do not become metadata, because an item has a place for them."""
TRACE_FIELDS = frozenset(
    {
        *TRACE_METADATA,
        "version",
        "id",
        "verifiers",
        "task",
        "agent",
        "tools",
        "nodes",
        "calls",
        "rewards",
        "metrics",
        "info",
        "timing",
        "mm_token_type_id_map",
        "request_rewrites",
        "response_rewrites",
        "extra_usage",
        "num_input_tokens",
        "num_output_tokens",
        "num_total_tokens",
    }
)


@dataclass(slots=True)
class _Survey:
    """Rewards of all rollouts of a run."""

    scores_by_name: dict[str, set[float]] = field(default_factory=dict)
    totals: set[float] = field(default_factory=set)
    """Distinct totals, at most `MAX_CHOICES`."""
    models: RunModels = field(default_factory=RunModels)
    """Model of each episode."""

    def add(self, scores: Mapping[str, float], total: float | None) -> None:
        for name, score in scores.items():
            known = self.scores_by_name.setdefault(name, set())
            if len(known) < MAX_CHOICES:
                known.add(score)
        if total is not None and len(self.totals) < MAX_CHOICES:
            self.totals.add(total)

    def find_deciding_reward(self) -> str | None:
        """Return the reward that is a verdict by itself: `correct`, else the only one, if it is 0
        or 1 in all rollouts.
        """
        names = list(self.scores_by_name)
        if CORRECT_REWARD in names:
            candidate = CORRECT_REWARD
        elif len(names) == 1:
            candidate = names[0]
        else:
            return None

        scores = self.scores_by_name[candidate]
        has_other_scores = bool(scores - {0.0, 1.0})
        if not scores or has_other_scores:
            return None
        return candidate

    def list_thresholds(self) -> list[str]:
        return [format_threshold(total) for total in sorted(self.totals, reverse=True)]


def list_verdict_choices(plan: RunPlan) -> list[str]:
    return _survey_rollouts(plan.importer_data).list_thresholds()


def _survey_rollouts(files: RunFiles) -> _Survey:
    """Read the models and the rewards of all rollouts, from which it follows which rewards are
    verdicts.
    """
    survey = _Survey()
    for record in read_rollouts(files):
        if isinstance(record, ImportIssue):
            continue
        if files.is_legacy:
            survey.add({}, read_reward(record.value.get("reward")))
            continue
        survey.models.add(get_model_name(record.value))
        trace = choose_main_trace(record.value)
        rewards = read_rewards(trace)
        scores = {name: reward.score for name, reward in rewards.items()}
        survey.add(scores, compute_total(rewards))
    return survey


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue | RunFact]:
    """Yield an item for each rollout of a run, with issues and facts.

    All rollouts are surveyed first, because their rewards show which ones are verdicts. Files of
    older versions have another form.
    """
    files: RunFiles = plan.importer_data
    survey = _survey_rollouts(files)
    category = plan.run.generation or "all"
    yield from report_several_models(files.rollouts, survey.models)
    if files.is_legacy:
        yield from _read_legacy_run(plan, files, survey, category)
    else:
        yield from _read_run(plan, files, survey, category)


def _read_run(
    plan: RunPlan, files: RunFiles, survey: _Survey, category: str
) -> Iterator[Item | ImportIssue | RunFact]:
    """Yield the items of a run, in which a rollout is an episode with the traces of agents."""
    user_choice = plan.options.get("verdict_from", "")
    # The rule is about totals of several rewards, which are no verdicts without a threshold.
    rule = choose_pass_rule(user_choice, survey.list_thresholds(), are_verdicts=False)
    deciding_reward = _find_deciding_reward(user_choice, survey)
    if deciding_reward is not None:
        yield RunFact("verdict_from", deciding_reward, "the reward is 0 or 1 in all rollouts")
    elif survey.totals:
        yield rule.make_fact()

    namer = RolloutNamer(is_legacy=False)
    for record in read_rollouts(files):
        if isinstance(record, ImportIssue):
            yield record
        else:
            item = _make_item(record, namer.name(record), files, category)
            yield _fill_episode(item, record.value, rule, deciding_reward)


def _find_deciding_reward(user_choice: str, survey: _Survey) -> str | None:
    """Return the name of the reward that is the verdict: one that is always 0 or 1. A threshold
    that the user chose replaces it.
    """
    if parse_threshold(user_choice) is not None:
        return None
    return survey.find_deciding_reward()


def _make_item(record: JsonRecord, name: RolloutName, files: RunFiles, category: str) -> Item:
    """Make the item of a rollout, without its conversation. An issue says if its task is only known
    by the question.
    """
    item = Item(name.item_id, category, group=name.group, file=str(files.rollouts))
    set_position(item, record)
    item.extra.metadata[TRIAL_KEY] = name.trial
    if not name.has_stated_group:
        # Any of these fields names the task, so all of them are missing.
        field_names = "example_id" if files.is_legacy else "task.key and no task.data.idx"
        add_issue(
            item,
            f"the rollout has no {field_names} that is a text or a whole number. Rollouts with the"
            " same question count as trials of one task",
        )
    item.rule_note = "verifiers has no golden calls"
    # So a predicted call without a golden one is no error.
    item.extra.uncounted_states = "+"
    return item


# -- episodes of version 0.4


def _fill_episode(item: Item, episode: JsonObject, rule: PassRule, deciding: str | None) -> Item:
    """Fill the item of an episode, a rollout with the trace of each agent, and return it.

    Args:
        item: The item. Its conversation is the trace of the main agent.
        episode: The record of the episode.
        rule: The rule that makes a verdict from the rewards.
        deciding: Name of the reward that is the verdict itself, if there is one.
    """
    trace = choose_main_trace(episode)
    nodes = [as_object(node).get("message") for node in as_list(trace.get("nodes"))]
    item.prediction_hash = answer_hash(nodes)

    # A failure in one part must not lose the others, such as the rewards.
    steps = (
        partial(_add_episode_conversation, item, episode, trace),
        partial(_add_task, item, as_object(episode.get("task"))),
        partial(_add_rewards, item, trace, rule, deciding),
        partial(_add_judge_calls, item, trace),
        partial(_add_other_traces, item, episode, trace),
        partial(_add_episode_metadata, item, episode, trace),
        partial(incidents.apply_episode_incident, item, episode),
    )
    for step in steps:
        fill_safely(item, step)
    return item


def _add_episode_conversation(item: Item, episode: JsonObject, trace: JsonObject) -> None:
    """Add the conversation of the main agent to an item.

    Its messages form a tree, because an agent can rewrite its context. The last branch is the
    conversation.
    """
    if not trace:
        _add_prompt(item, episode)
        return

    tree = read_tree(trace.get("nodes"), place="traces.nodes")
    leaves = tree.list_leaves()
    last_branch = tree.list_branch(leaves[-1]) if leaves else []
    conversation = read_branch(last_branch)
    conversation.issues = [*tree.issues, *conversation.issues]
    _add_functions(conversation, trace)
    fill_conversation(item, conversation)
    item.functions = conversation.functions
    item.pairs = align_calls_by_turn([], item.predicted)

    # Messages that only earlier branches have are shown before the conversation.
    _add_earlier_branches(item, tree, leaves, last_branch)
    if len(leaves) > 1:
        item.extra.metadata["branches"] = len(leaves)
        item.extra.metadata["calls in all branches"] = _count_calls(tree)


def _add_prompt(item: Item, episode: JsonObject) -> None:
    """Show the question of an episode that has no trace, because the agent never started."""
    data = as_object(as_object(episode.get("task")).get("data"))
    message_by_place = _list_prompt_messages(data)
    if not message_by_place:
        return
    conversation = read_messages(list(message_by_place.values()), list(message_by_place))
    fill_conversation(item, join_context_and_answer(conversation, ParsedConversation("")))


def _list_prompt_messages(data: JsonObject) -> dict[str, Any]:
    """Return the messages of the question by their places in the record.

    The question is a text or a list of messages, which a system prompt can precede.
    """
    message_by_place: dict[str, Any] = {}
    if data.get("system_prompt"):
        system_prompt = {"role": "system", "content": data["system_prompt"]}
        message_by_place["task.data.system_prompt"] = system_prompt
    prompt = data.get("prompt")
    if isinstance(prompt, str):
        message_by_place["task.data.prompt"] = {"role": "user", "content": prompt}
    for index, message in enumerate(as_list(prompt)):
        message_by_place[f"task.data.prompt[{index}]"] = message
    return message_by_place


def _add_functions(conversation: ParsedConversation, trace: JsonObject) -> None:
    """Add the tools of the trace, or else those of its first root."""
    tools = trace.get("tools")
    if tools is None:
        roots = [
            node.get("tools") for node in list_objects(trace.get("nodes")) if node.get("tools")
        ]
        tools = roots[0] if roots else None
    add_tools(conversation, tools, path="traces.tools")


def _add_earlier_branches(
    item: Item, tree: MessageTree, leaves: list[Node], last_branch: list[Node]
) -> None:
    """Add the earlier branches of a message tree, each as one log message before the conversation.

    A branch has only the messages that are not shown before it.

    Args:
        item: The item, whose conversation is the last branch.
        tree: The messages of all branches.
        leaves: The last message of each branch.
        last_branch: The messages of the last branch.
    """
    shown_indexes = {node.index for node in last_branch}
    logs: list[Message] = []
    for number, leaf in enumerate(leaves[:-1], 1):
        own_nodes = tree.list_own_nodes(leaf, shown_indexes)
        shown_indexes |= {node.index for node in own_nodes}
        described = describe_nodes(own_nodes)
        text = described.text[:MAX_LOG_LENGTH]
        name = f"earlier branch {number}"
        logs.append(Message(turn=0, step=-1, role="log", content=text, name=name))
        item.issues.extend(make_issues(item, described.issues))
    item.messages = [*logs, *item.messages]


def _count_calls(tree: MessageTree) -> int:
    """Return the number of calls of all nodes, each node once."""
    return sum(len(as_list(as_object(node.message).get("tool_calls"))) for node in tree.nodes)


def _add_task(item: Item, task: JsonObject) -> None:
    """Set the expected answer, which is a text or any JSON of the environment."""
    data = as_object(task.get("data"))
    if not data:
        add_issue(item, "task.data is missing or not an object, so the expected answer is unknown")
    answer = data.get("answer")
    if answer not in (None, ""):
        item.extra.accepted_answers = [answer]
        item.extra.final_answer = find_last_reply(item)
        item.golden_hash = answer_hash(answer)
    prompt = data.get("prompt")
    if not item.question and isinstance(prompt, str):
        item.question = shorten_question(prompt)


def _add_rewards(item: Item, trace: JsonObject, rule: PassRule, deciding: str | None) -> None:
    """Add the rewards of a rollout as scores, their weighted sum, and the verdict that follows from
    them.

    Args:
        item: The item of the rollout.
        trace: The main trace of the rollout, which has the rewards.
        rule: Which weighted sums pass.
        deciding: Name of the reward that is the verdict itself. Without one, the rule decides.
    """
    rewards = read_rewards(trace)
    _report_unread_rewards(item, trace, rewards)
    for name, reward in rewards.items():
        _add_official_score(item, f"{REWARD_PREFIX}{name}", reward.score)

    total = compute_total(rewards)
    if deciding is None:
        add_reward_verdicts(item, total, rule, by=SCORING)
        return
    if total is not None:
        _add_official_score(item, TOTAL_REWARD, total)
    # A rollout without the deciding reward has no verdict.
    if deciding in rewards:
        item.extra.metadata[DECIDING_KEY] = deciding
        item.official = rewards[deciding].score == 1
        item.verdicts.append(Verdict("official", item.official, by=SCORING))


def _add_official_score(item: Item, criterion: str, score: float | None) -> None:
    item.verdicts.append(Verdict("official", score, criterion=criterion, by=SCORING))


def _report_unread_rewards(item: Item, trace: JsonObject, rewards: Mapping[str, Reward]) -> None:
    """Add an issue for each reward of a trace that is not in `rewards`, or not read completely."""
    written = trace.get("rewards")
    if trace and not isinstance(written, dict):
        add_issue(item, "traces.rewards is missing or not an object, so there are no rewards")
    for name, value in as_object(written).items():
        shown_name = name[:60]
        # A reward is null if the scoring did not run.
        if value is None:
            continue
        if name not in rewards:
            problem = "is missing or not a number"
            add_issue(item, f"score or weight of the reward {shown_name} {problem}")
        elif value.keys() != {"score", "weight"}:
            fields = ", ".join(value)[:60]
            add_issue(
                item, f"the reward {shown_name} has the fields {fields} instead of score, weight"
            )


def _add_judge_calls(item: Item, trace: JsonObject) -> None:
    """Add the verdict of each judge. That of the first judge is on the item itself."""
    written = as_object(trace.get("info")).get("judge_calls")
    if written is not None and not isinstance(written, list):
        add_issue(item, "traces.info.judge_calls is not a list, so there are no judge verdicts")
    for index, call in enumerate(as_list(written)):
        fields = as_object(call)
        criterion = CORRECT if index == 0 else f"judge {fields.get('name')}"
        place = f"traces.info.judge_calls[{index}]"
        _add_judge_call(item, fields, criterion=criterion, place=place)


def _add_judge_call(item: Item, call: JsonObject, *, criterion: str, place: str) -> None:
    """Add the verdict of a judge, with its reply as the explanation. `place`: path of the call."""
    response = as_object(call.get("response"))
    reply = as_object(response.get("message")).get("content")
    if not isinstance(reply, str):
        add_issue(item, f"{place}.response.message.content is not a text")
        reply = None
    answer = response.get("parsed")
    if answer is None or isinstance(answer, (list, dict)):
        add_issue(item, f"{place}.response.parsed is no verdict")
    add_judge_verdict(item, answer, reply, criterion=criterion, by=_name_judge(call))


def _name_judge(call: JsonObject) -> str | None:
    """Return the model and the name of a judge: `oak-20b correctness`."""
    names = [as_object(call.get("request")).get("model"), call.get("name")]
    return " ".join(name for name in names if isinstance(name, str) and name) or None


def _add_other_traces(item: Item, episode: JsonObject, main: JsonObject) -> None:
    """Show the other agents of an episode as logs, with the rewards of those that are trained."""
    for index, trace in enumerate(as_list(episode.get("traces"))):
        place = f"traces[{index}]"
        if not isinstance(trace, dict):
            add_issue(item, f"{place} is not an object")
            continue
        if trace is main:
            continue
        agent = get_agent_name(trace)
        if not agent:
            add_issue(item, f"{place}.agent has no name")
            agent = f"agent {index + 1}"
        _add_other_trace(item, trace, agent, place=place)


def _add_other_trace(item: Item, trace: JsonObject, agent: str, *, place: str) -> None:
    """Add the trace of another agent of an episode: its messages as a log in the last step, and its
    rewards as scores.

    `place` is the place of the trace, for issues.
    """
    tree = read_tree(trace.get("nodes"), place=f"{place}.nodes")
    described = describe_nodes(tree.nodes)
    item.issues.extend(make_issues(item, [*tree.issues, *described.issues]))

    last_step = max(item.n_steps - 1, 0)
    text = described.text[:MAX_LOG_LENGTH]
    log = Message(item.n_turns - 1, last_step, role="log", content=text, name=agent)
    item.messages.append(log)
    for name, reward in read_rewards(trace).items():
        _add_official_score(item, f"{REWARD_PREFIX}{agent}/{name}", reward.score)


def _add_episode_metadata(item: Item, episode: JsonObject, trace: JsonObject) -> None:
    """Add the fields of an episode and its main trace that have no other place."""
    _report_unread_fields(item, trace)
    _report_errors_without_text(item, episode, trace)
    item.extra.metadata |= _list_episode_facts(episode, trace)
    models = list_models(episode)
    if len(models) > 1:
        names = [make_excerpt(name, MAX_NAME_LENGTH) for name in models]
        add_issue(
            item,
            f"the agent called several models: {list_some(names)}. The rollout counts for the first"
            " one",
        )

    stop = trace.get("stop_condition")
    item.ended = stop if isinstance(stop, str) else None
    item.tokens_in = _read_count(trace.get("num_input_tokens"))
    item.tokens_out = _read_count(trace.get("num_output_tokens"))


def _list_episode_facts(episode: JsonObject, trace: JsonObject) -> JsonObject:
    """Return the metadata of an item from its episode (the whole record) and its trace (the
    conversation in it).
    """
    facts: JsonObject = {"episode id": episode.get("id")}
    for name in TRACE_METADATA:
        if trace.get(name) not in (None, [], ""):
            facts[name] = trace[name]
    if episode.get("errors"):
        facts["episode errors"] = episode["errors"]
    facts[METRICS_KEY] = as_object(trace.get("metrics"))
    agent = get_agent_name(trace)
    if agent:
        facts["agent"] = agent
    info = _get_info_without_judge_calls(trace)
    if info:
        facts["info"] = info
    facts[ERROR_KEY] = bool(episode.get("errors") or trace.get("errors"))
    return facts


def _get_info_without_judge_calls(trace: JsonObject) -> JsonObject:
    """Return the further data of a trace. The calls of judges are verdicts instead."""
    info = dict(as_object(trace.get("info")))
    info.pop("judge_calls", None)
    return info


def _report_unread_fields(item: Item, trace: JsonObject) -> None:
    for name, value in trace.items():
        if name not in TRACE_FIELDS and value is not None:
            add_issue(item, f"field traces.{name} is not read", severity="notice")


def _report_errors_without_text(item: Item, episode: JsonObject, trace: JsonObject) -> None:
    """Add an issue for each recorded error without a type or a message, which therefore explains
    nothing.
    """
    for owner, place in ((episode, "errors"), (trace, "traces.errors")):
        if not isinstance(owner.get("errors"), (list, type(None))):
            add_issue(item, f"{place} is not a list")
    for error in [*as_list(episode.get("errors")), *as_list(trace.get("errors"))]:
        fields = as_object(error)
        has_type = isinstance(fields.get("type"), str)
        has_message = isinstance(fields.get("message"), str)
        if not has_type or not has_message:
            add_issue(item, "the type or the message of an error is missing or not a text")


def _read_count(value: Any) -> int | None:
    """Return a number of tokens, or None for a value that is none or that the store cannot
    hold.
    """
    is_count = is_number(value) and 0 <= value < MAX_COUNT
    return int(value) if is_count else None


# -- legacy runs


def _read_legacy_run(
    plan: RunPlan, files: RunFiles, survey: _Survey, category: str
) -> Iterator[Item | ImportIssue | RunFact]:
    """Yield the items of a run in the form of older versions, in which a rollout is one flat
    record.

    Metadata of the run, with official figures and the passing reward, can be in a file beside it.
    """
    issues: list[ImportIssue] = []
    metadata: JsonObject = {}
    if files.config:
        metadata = read_json(files.config, issues, dict) or {}
    yield from issues

    plan.run.official_metrics = {"rollouts": _list_official_figures(metadata)}
    threshold = read_reward(metadata.get("pass_threshold"))
    rule = _choose_legacy_rule(plan, survey, threshold)
    if survey.totals:
        yield rule.make_fact()

    namer = RolloutNamer(is_legacy=True)
    for record in read_rollouts(files):
        if isinstance(record, ImportIssue):
            yield record
        else:
            item = _make_item(record, namer.name(record), files, category)
            yield _fill_legacy_with_run_data(item, record.value, metadata, rule)


def _fill_legacy_with_run_data(
    item: Item, rollout: JsonObject, metadata: JsonObject, rule: PassRule
) -> Item:
    """Fill the item of a rollout, also with what the metadata says about all rollouts of the
    run.
    """
    per_example = metadata.get("rollouts_per_example")
    if is_integer(per_example):
        item.extra.metadata[PER_EXAMPLE_KEY] = per_example
    # A rollout without tools of its own has those of the run.
    return _fill_legacy(item, {"tool_defs": metadata.get("tools")} | rollout, rule)


def _choose_legacy_rule(plan: RunPlan, survey: _Survey, threshold: float | None) -> PassRule:
    """A rollout passes from the threshold of the metadata, as in `pass_at_k`."""
    chosen = plan.options.get("verdict_from", "")
    if parse_threshold(chosen) is not None:
        return choose_pass_rule(chosen, survey.list_thresholds(), are_verdicts=False)
    if survey.totals <= {0.0, 1.0}:
        return PassRule(1.0, "every reward is 0 or 1")
    if threshold is None:
        return PassRule(DEFAULT_PASS_THRESHOLD, "the default pass_threshold of verifiers")
    return PassRule(threshold, "pass_threshold of metadata.json")


def _list_official_figures(metadata: JsonObject) -> JsonObject:
    """Return the figures that the metadata of a run contain."""
    names = ("avg_reward", "avg_metrics", "avg_error", "pass_at_k", "pass_all_k", "pass_threshold")
    return {name: metadata[name] for name in names if metadata.get(name) is not None}


def _fill_legacy(item: Item, rollout: JsonObject, rule: PassRule) -> Item:
    """Fill an item from a rollout of an older version. Each part is filled on its own, so that an
    error loses only this part.
    """
    item.prediction_hash = answer_hash(rollout.get("completion"))
    steps = (
        partial(_add_legacy_conversation, item, rollout),
        partial(_add_legacy_answer, item, rollout),
        partial(_add_legacy_reward, item, rollout, rule),
        partial(_add_legacy_metadata, item, rollout),
    )
    for step in steps:
        fill_safely(item, step)
    incidents.apply_legacy_incident(item, rollout)
    return item


def _add_legacy_conversation(item: Item, rollout: JsonObject) -> None:
    """Set the conversation of an item from a record in the older format: the prompt, and the
    model's completion.
    """
    prompt = _list_messages(item, rollout, "prompt", role="user")
    completion = _list_messages(item, rollout, "completion", role="assistant")
    context = read_messages(prompt, [f"prompt[{index}]" for index in range(len(prompt))])
    answer = read_messages(completion, [f"completion[{index}]" for index in range(len(completion))])
    conversation = join_context_and_answer(context, answer)
    add_tools(conversation, rollout.get("tool_defs"), path="tool_defs")
    fill_conversation(item, conversation)
    item.functions = conversation.functions
    item.pairs = align_calls_by_turn([], item.predicted)


def _list_messages(item: Item, rollout: JsonObject, name: str, *, role: str) -> list[Any]:
    """Return the messages of a field. Environments without chat write a text."""
    written = rollout.get(name)
    if isinstance(written, str):
        return [{"role": role, "content": written}] if written else []
    if not isinstance(written, list):
        add_issue(item, f"{name} is neither a text nor a list")
        return []
    return written


def _add_legacy_answer(item: Item, rollout: JsonObject) -> None:
    answer = rollout.get("answer")
    if answer not in (None, ""):
        item.extra.accepted_answers = [answer]
        item.extra.final_answer = find_last_reply(item)
        item.golden_hash = answer_hash(answer)


def _add_legacy_reward(item: Item, rollout: JsonObject, rule: PassRule) -> None:
    if "reward" not in rollout:
        add_issue(item, "the rollout has no reward")
    add_reward_verdicts(item, rollout.get("reward"), rule, by=SCORING)


def _add_legacy_metadata(item: Item, rollout: JsonObject) -> None:
    """Set the metadata, the end and the tokens of an item from a rollout of an older version."""
    item.extra.metadata |= _list_legacy_facts(rollout)
    stop = rollout.get("stop_condition")
    item.ended = stop if isinstance(stop, str) else None
    usage = as_object(rollout.get("token_usage"))
    item.tokens_in = _read_count(usage.get("input_tokens"))
    item.tokens_out = _read_count(usage.get("output_tokens"))


def _list_legacy_facts(rollout: JsonObject) -> JsonObject:
    """Return the metrics, and all fields that have no other place in the item."""
    facts: JsonObject = {}
    for name in LEGACY_METADATA:
        if rollout.get(name) is not None:
            facts[name] = rollout[name]
    metrics = as_object(rollout.get("metrics"))
    facts[METRICS_KEY] = metrics
    # Each metric is also a field of the rollout.
    read_fields = {*LEGACY_READ_FIELDS, *LEGACY_METADATA, *metrics}
    for name, value in rollout.items():
        if name not in read_fields and value is not None:
            facts[name] = value
    facts[ERROR_KEY] = bool(rollout.get("error"))
    return facts
