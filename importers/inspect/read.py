"""Read the items of an Inspect log. An item is a sample in one epoch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.records import (
    add_issue,
    as_list,
    as_object,
    fill_safely,
    is_integer,
    is_number,
    list_objects,
    read_function_docs,
)
from fcreview.importers.inspect import leaderboard, tasks
from fcreview.importers.inspect.content import list_answers_to_hash
from fcreview.importers.inspect.discovery import BFCL, LogSources
from fcreview.importers.inspect.incidents import apply_sample_incident
from fcreview.importers.inspect.leaderboard import (
    LOG_KEY,
    is_same_number,
    load_log_metrics,
    read_score_columns,
)
from fcreview.importers.inspect.log import InspectLog, LogSample, UnreadableLog, open_log
from fcreview.importers.inspect.messages import build_conversation
from fcreview.importers.inspect.metrics import (
    EpochValue,
    NotRecomputable,
    ScoreColumn,
    recompute_metrics_of_column,
    reduce_column,
)
from fcreview.importers.inspect.scales import (
    DEFAULT_SCALE,
    LogStatistics,
    Scale,
    VerdictSource,
    build_scales,
    format_choices,
    list_verdict_choices,
)
from fcreview.importers.inspect.scores import (
    LogScores,
    add_score_verdicts,
    is_graded_by_model,
    read_scores,
)
from fcreview.importers.inspect.tasks import BfclTask
from fcreview.model.item import ImportIssue, Item, Message, ReadRecord, Run, RunFact
from fcreview.model.json_value import answer_hash, to_json_text, to_plain_json
from fcreview.model.metric import ScoredItem
from fcreview.model.wording import format_count
from fcreview.run_plan import RunPlan

CATEGORY_FIELDS = ("category_name", "category", "subject")
"""Fields of a sample's metadata that may contain its category.

The first field with text is used.
"""
SETTINGS = (
    "solver",
    "task_version",
    "task_args",
    "model_generate_config",
    "model_roles",
    "config",
    "revision",
)
MAX_REPORTED_METRICS = 3
MAX_RESERVED_IDS = 1_000_000


SampleName = tuple[str, str, int]
"""Type and text of a sample's id, and epoch. The ids 1 and "1" are different samples."""


class ItemIds:
    """Assigns an id to each sample in each epoch: the id of the sample, with `#2` in the second
    epoch.

    If two of them are equal, such as the sample `task#2` and the second epoch of `task`, one gets
    quotation marks. The ids do not depend on the order of the samples in the file, because reviews
    refer to them.
    """

    def __init__(self) -> None:
        self._id_by_name: dict[SampleName, str] = {}
        self._taken: set[str] = set()
        self._used: set[SampleName] = set()

    def reserve(self, sample_ids: Sequence[Any], n_epochs: int) -> None:
        """Assign the ids of the samples that a log announces, epoch by epoch."""
        if len(sample_ids) * n_epochs > MAX_RESERVED_IDS:
            return
        for epoch in range(1, n_epochs + 1):
            for sample_id in sample_ids:
                self._assign(sample_id, epoch)

    def use(self, sample_id: Any, epoch: int) -> str | None:
        """Return the item id of a sample, or None if the sample was used before."""
        name = _make_sample_name(sample_id, epoch)
        if name in self._used:
            return None
        self._used.add(name)
        return self._assign(sample_id, epoch)

    def _assign(self, sample_id: Any, epoch: int) -> str:
        name = _make_sample_name(sample_id, epoch)
        known = self._id_by_name.get(name)
        if known is not None:
            return known
        ending = "" if epoch == 1 else f"#{epoch}"
        candidates = [f"{text}{ending}" for text in (str(sample_id), to_json_text(sample_id))]
        while candidates[0] in self._taken and len(candidates) > 1:
            candidates.pop(0)
        item_id = candidates[0]
        while item_id in self._taken:
            item_id += "'"
        self._id_by_name[name] = item_id
        self._taken.add(item_id)
        return item_id


def _make_sample_name(sample_id: Any, epoch: int) -> SampleName:
    return type(sample_id).__name__, str(sample_id), epoch


@dataclass(slots=True)
class RunContext:
    """Data that all items of a run share."""

    run: Run
    options: Mapping[str, str] = field(default_factory=dict)
    """Import options of the run."""
    statistics: LogStatistics = field(default_factory=LogStatistics)
    scales: dict[str, Scale] = field(default_factory=dict)
    """`SCORER` or `SCORER.KEY` -> which values pass."""
    scores: LogScores = field(default_factory=LogScores)
    bfcl: BfclTask | None = None
    """Dataset of the task `bfcl`, or None for other tasks."""
    has_epochs: bool = False
    item_ids: ItemIds = field(default_factory=ItemIds)
    log_metadata: dict[str, Any] = field(default_factory=dict)
    """Tags and metadata of the log, with the edits of people, which every item shows."""
    scored: list[ScoredItem] = field(default_factory=list)
    """The items with their scores, for the comparison of recomputed and recorded metrics."""


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """Yield the items, issues and facts of a run, and set its settings and recorded metrics."""
    context = RunContext(plan.run, {str(name): value for name, value in plan.options.items()})
    sources: LogSources = plan.importer_data or LogSources()
    if plan.run.generation == BFCL:
        context.bfcl = BfclTask(dict(sources.datasets))
    paths = list_log_paths(plan)
    context.statistics = collect_statistics(paths)
    for path in paths:
        try:
            with open_log(path) as log:
                yield from _read_log(log, context)
        except UnreadableLog as error:
            yield ImportIssue(
                str(path), None, what=f"the log cannot be read: {error}", severity="error"
            )
    yield from _report_values(plan.run.path, context.statistics)


def list_log_paths(plan: RunPlan) -> list[Path]:
    """Return the files of a run's log, or the folder of an unpacked log."""
    sources: LogSources = plan.importer_data or LogSources()
    return plan.results if sources.unpacked is None else [sources.unpacked]


def list_choices(plan: RunPlan) -> list[str]:
    """Return the scores, and the keys of object scores, whose values can be the verdict."""
    return list_verdict_choices(collect_statistics(list_log_paths(plan)))


def collect_statistics(paths: Sequence[Path]) -> LogStatistics:
    """Collect the values of all scores, because one value outside of 0 to 1 shows that a scorer
    gives no verdicts.
    """
    statistics = LogStatistics()
    for path in paths:
        try:
            with open_log(path) as log:
                for scores in log.read_scores():
                    statistics.add_sample(scores)
        except UnreadableLog:
            continue  # `read_items` reports it
    return statistics


def _read_log(log: InspectLog, context: RunContext) -> Iterator[ReadRecord]:
    header = log.header
    yield from _report_run_status(log)
    samples = log.read_samples()
    first: list[LogSample | ImportIssue] = []
    for (
        each
    ) in samples:  # The events of the first sample with scores show which scorers called a model.
        first.append(each)
        if isinstance(each, LogSample) and each.value.get("scores"):
            break
    scored = next((each for each in reversed(first) if isinstance(each, LogSample)), None)
    context.scores = _classify_scores(header, scored, context)
    _store_header_data(
        context, header, is_complete=log.has_header and header.get("status") == "success"
    )
    yield _make_verdict_fact(context)

    has_samples = False
    for each in itertools.chain(first, samples):
        if isinstance(each, ImportIssue):
            yield each
            continue
        has_samples = True
        item = _read_item(each, context)
        yield from each.issues if item is None else [item]
    if not has_samples:
        yield ImportIssue(str(log.path), None, what="the log has no samples", severity="warning")
    yield from _report_different_metrics(log, context)
    n_expected = _count_expected_samples(header)
    if n_expected:
        yield RunFact("expected_items", value=n_expected, reason="samples of the log in all epochs")


def _make_verdict_fact(context: RunContext) -> RunFact:
    """Say which score gives the verdicts.

    Without verdicts, the reason lists the scores to choose from.
    """
    scores = context.scores
    name = VerdictSource(scores.primary or "", scores.primary_key).name
    if _gives_verdicts(name, context):
        is_chosen = context.options.get("verdict_from") == name
        return RunFact(
            "verdict_from",
            value=name,
            reason="chosen with --verdict-from" if is_chosen else "main score of the log",
        )

    choices = [
        choice
        for choice in list_verdict_choices(context.statistics)
        if _gives_verdicts(choice, context)
    ]
    reasons: list[str] = []
    if choices:
        reasons.append(f"choose one of {format_choices(choices)} with --verdict-from")
    values = context.statistics.by_name.get(name)
    if values is not None and values.n_numbers:
        scale = f"{name} has scores from {values.lowest:g} to {values.highest:g}"
        reasons.append(f"{scale}: set pass_at in the configuration to say from where it passes")
    return RunFact(
        "verdict_from",
        value=None,
        reason=f"no verdicts: {'; '.join(reasons) or 'no score of the log is a verdict'}",
    )


def _gives_verdicts(name: str, context: RunContext) -> bool:
    """Whether some value of a score, or of a key of an object score, is a verdict."""
    values = context.statistics.by_name.get(name)
    return values is not None and values.n_numbers > 0 and context.scales[name].gives_verdicts


def _report_values(path: str, statistics: LogStatistics) -> Iterator[ImportIssue]:
    """Report scores that are no ordinary numbers. They count as in Inspect."""
    for name, values in statistics.by_name.items():
        if values.n_nan:
            n_scores = format_count(values.n_nan, f"score of {name} is", f"scores of {name} are")
            what = f"{n_scores} not a number. As in Inspect, such a sample is not scored"
            yield ImportIssue(path, None, what=what, severity="notice")
        if values.n_infinite:
            n_scores = format_count(
                values.n_infinite, f"score of {name} is", f"scores of {name} are"
            )
            yield ImportIssue(
                path, None, what=f"{n_scores} infinite. As in Inspect, so are the means over it"
            )


def _report_run_status(log: InspectLog) -> Iterator[ImportIssue]:
    status, path = log.header.get("status"), str(log.path)
    if not log.has_header:
        what = (
            "the log is incomplete, because its run is still active or has crashed. The finished"
            " samples are imported"
        )
        yield ImportIssue(path, None, what=what)
    elif status == "cancelled":
        yield ImportIssue(
            path, None, what="the run was cancelled. Its recorded metrics may cover fewer samples"
        )
    elif status in ("error", "started"):
        error = log.header.get("error")
        reason = f": {error.get('message')}" if isinstance(error, dict) else ""
        yield ImportIssue(
            path, None, what=f"the run has the status {status} and did not finish{reason}"[:400]
        )
    elif status != "success":
        yield ImportIssue(path, None, what=f"the run has an unknown status: {str(status)[:80]}")


def _classify_scores(
    header: dict[str, Any], sample: LogSample | None, context: RunContext
) -> LogScores:
    """Choose the primary score, which gives the item verdicts, and find the scores that a model
    gives.

    The primary score is the one that the user chose, else the one in the log's headline or, without
    a headline, the first score that no model gives.
    """
    declared = [str(each["scorer"]) for each in read_score_columns(header)]
    scores = (
        read_scores(sample.value.get("scores"), [], sample.file, sample.line)
        if sample is not None
        else {}
    )
    graders = sample.event_data.graders if sample is not None else {}
    names = list(
        dict.fromkeys(
            [*declared, *(name for name, score in scores.items() if score.official is not None)]
        )
    )
    judges = [
        name for name in names if name in graders or is_graded_by_model(name, scores.get(name))
    ]
    preferred = as_object(as_object(header.get("results")).get("headline")).get("scorer")
    candidates = [name for name in names if name not in judges] or judges
    primary = VerdictSource(preferred) if preferred in candidates else None
    if primary is None and candidates:
        primary = VerdictSource(candidates[0])
    chosen = VerdictSource.parse(context.options.get("verdict_from", ""), context.statistics)
    if chosen is not None:
        primary = chosen

    grader = as_object(as_object(header.get("eval")).get("model_roles")).get("grader")
    name = grader.get("model") if isinstance(grader, dict) else grader
    context.scales = build_scales(context.statistics, context.options.get("scorers", ""))
    return LogScores(
        primary=None if primary is None else primary.scorer,
        primary_key=None if primary is None else primary.key,
        judges=frozenset(judges),
        graders=graders,
        grader=name if isinstance(name, str) else None,
        scales=context.scales,
    )


def _store_header_data(context: RunContext, header: dict[str, Any], *, is_complete: bool) -> None:
    fields, packages = as_object(header.get("eval")), as_object(header.get("eval")).get("packages")
    settings = {name: fields[name] for name in SETTINGS if fields.get(name)}
    given = {"status": header.get("status"), "created": fields.get("created")}
    settings |= {name: value for name, value in given.items() if value}
    settings |= {"packages": packages} if isinstance(packages, dict) else {}
    context.log_metadata = _read_log_metadata(header)
    settings |= context.log_metadata
    context.run.settings = {name: to_plain_json(value) for name, value in settings.items()}
    epochs = as_object(fields.get("config")).get("epochs")
    n_epochs = epochs if is_integer(epochs) and epochs > 0 else 1
    context.has_epochs = n_epochs > 1
    context.item_ids.reserve(as_list(as_object(fields.get("dataset")).get("sample_ids")), n_epochs)
    scores = context.scores
    context.run.official_metrics[LOG_KEY] = {
        "primary": scores.primary,
        "primary_key": scores.primary_key,
        "is_judged": scores.primary in scores.judges,
        "judges": sorted(scores.judges),
        "is_complete": is_complete,
        "columns": read_score_columns(header),
        "scales": {
            name: scale.to_json()
            for name, scale in context.scales.items()
            if scale != DEFAULT_SCALE
        },
    }


def _read_log_metadata(header: dict[str, Any]) -> dict[str, Any]:
    """Return the tags and the metadata of a log after the edits of people, and the edits.

    Logs before these edits existed have tags and metadata only in `eval`.
    """
    fields = as_object(header.get("eval"))
    found: dict[str, Any] = {
        "log tags": as_list(header.get("tags", fields.get("tags"))),
        "log metadata": as_object(header.get("metadata", fields.get("metadata"))),
        "log edits": list(map(_describe_log_update, list_objects(header.get("log_updates")))),
    }
    return {name: to_plain_json(value) for name, value in found.items() if value}


def _describe_log_update(update: dict[str, Any]) -> dict[str, Any]:
    """Return who edited the tags and metadata of a log, why, and how."""
    provenance = as_object(update.get("provenance"))
    described = {name: provenance.get(name) for name in ("author", "reason", "timestamp")}
    return {name: value for name, value in described.items() if value} | {
        "edits": as_list(update.get("edits"))
    }


def _read_item(sample: LogSample, context: RunContext) -> Item | None:
    """Read an item. If the sample occurs twice, add an issue to the second one and return None."""
    sample_id, epoch = sample.value.get("id"), sample.value.get("epoch")
    epoch = epoch if is_integer(epoch) and epoch > 0 else 1
    item_id = _make_item_id(sample_id, epoch, sample, context)
    if item_id is None:
        return None
    item = Item(
        item_id, "", file=sample.file, line=sample.line, offset=sample.offset, length=sample.length
    )
    item.issues += sample.issues
    fill_safely(item, lambda: fill_item(item, sample, context))
    item.category = item.category or context.run.generation
    metadata = item.extra.metadata
    metadata |= {"sample": to_plain_json(sample_id), "epoch": epoch}
    if context.has_epochs:
        item.group = str(sample_id)
    context.scored.append(
        ScoredItem(
            item.id, category=item.category, group=None, valid=item.official, metadata=metadata
        )
    )
    return item


def _make_item_id(sample_id: Any, epoch: int, sample: LogSample, context: RunContext) -> str | None:
    """Return the item id of a sample in an epoch.

    If the sample occurs twice, add an issue and return None.
    """
    if sample_id is None or isinstance(sample_id, (dict, list)):
        sample.issues.append(ImportIssue(sample.file, sample.line, what="a sample has no id"))
        sample_id = f"sample {sample.line}"
    item_id = context.item_ids.use(sample_id, epoch)
    if item_id is None:
        what = (
            f"the log contains sample {sample_id} in epoch {epoch} twice. Only the first one is"
            " imported"
        )
        sample.issues.append(
            ImportIssue(sample.file, sample.line, what=what[:300], item=str(sample_id))
        )
    return item_id


def fill_item(item: Item, sample: LogSample, context: RunContext) -> None:
    value = sample.value
    sample_metadata = as_object(value.get("metadata"))
    item.extra.metadata["metadata"] = to_plain_json(sample_metadata)
    item.extra.metadata |= context.log_metadata
    names = (sample_metadata.get(name) for name in CATEGORY_FIELDS)
    item.category = next((name for name in names if isinstance(name, str) and name), "")
    messages = value.get("messages")
    item.prediction_hash = answer_hash(list_answers_to_hash(messages))
    item.golden_hash = answer_hash(to_plain_json(value.get("target")))
    is_bfcl = context.bfcl is not None and tasks.is_bfcl_sample(value)
    if context.bfcl is not None and is_bfcl:
        conversation = tasks.fill_bfcl_item(item, sample, context.bfcl)
    elif tasks.is_tau2_sample(value):
        conversation = tasks.fill_tau2_item(item, value)
        item.functions = read_function_docs(sample.event_data.functions)
    else:
        replies = sample.event_data.replies
        conversation = build_conversation(
            messages or _input_to_messages(value.get("input")), replies
        )
        conversation.apply_to(item)
        item.functions = read_function_docs(sample.event_data.functions)
        _set_target_and_answer(item, value)
    for problem in conversation.problems:
        add_issue(item, problem, severity="notice")
    if conversation.server_tools:
        item.extra.metadata["server tools"] = conversation.server_tools
    _fill_usage(item, value, context.run.model)
    item.ended = _describe_ending(value)
    _add_log_remarks(item, value)
    scores = read_scores(value.get("scores"), item.issues, item.file, item.line)
    add_score_verdicts(item, value, scores, context.scores, conversation)
    main = scores.get(context.scores.primary or "")
    explanation = (
        main.official.explanation if main is not None and main.official is not None else None
    )
    if is_bfcl:
        tasks.set_bfcl_error_type(item, explanation)
    elif tasks.is_tau2_sample(value):
        tasks.set_tau2_error_type(item, explanation)
    apply_sample_incident(item, value, has_scorer_error=sample.event_data.has_scorer_error)


def _input_to_messages(sample_input: Any) -> list[Any]:
    if isinstance(sample_input, list):
        return sample_input
    return [{"role": "user", "content": sample_input}] if sample_input else []


def _set_target_and_answer(item: Item, sample_value: dict[str, Any]) -> None:
    """Set the accepted answers and the final answer.

    For unknown tasks, fcreview shows them without comparing them.
    """
    target = sample_value.get("target")
    targets = target if isinstance(target, list) else [target]
    accepted = [to_plain_json(each) for each in targets if each not in (None, "")]
    if accepted:
        item.extra.accepted_answers = accepted
        completion = as_object(sample_value.get("output")).get("completion")
        item.extra.final_answer = str(completion) if completion else None


def _fill_usage(item: Item, sample_value: dict[str, Any], model: str) -> None:
    usage = as_object(sample_value.get("model_usage"))
    by_model = {name: each for name, each in usage.items() if isinstance(each, dict)}
    counted = [by_model[model]] if model in by_model else list(by_model.values())
    item.tokens_in, item.tokens_out = (
        _sum_token_counts(counted, name) for name in ("input_tokens", "output_tokens")
    )
    seconds = sample_value.get("working_time", sample_value.get("total_time"))
    if is_number(seconds) and 0 <= seconds < 1e9:
        item.latency = float(seconds)


def _sum_token_counts(usages: list[dict[str, Any]], field_name: str) -> int | None:
    counts = [
        n for usage in usages if isinstance(n := usage.get(field_name), int) and abs(n) < 1e15
    ]
    return sum(counts) if counts else None


def _describe_ending(sample_value: dict[str, Any]) -> str | None:
    """Return how the sample ended: `error`, a limit such as `token_limit`, or the stop reason of
    the last reply.
    """
    if sample_value.get("error") is not None:
        return "error"

    limit = sample_value.get("limit")
    if isinstance(limit, dict):
        return f"{limit.get('type')}_limit"

    choices = list_objects(as_object(sample_value.get("output")).get("choices"))
    stop_reason = choices[0].get("stop_reason") if choices else None
    return stop_reason if isinstance(stop_reason, str) else None


def _add_log_remarks(item: Item, sample_value: dict[str, Any]) -> None:
    def add_remark(text: str) -> None:
        item.messages.append(Message(item.n_turns - 1, step, role="log", content=text))

    step = max((each.step for each in item.messages), default=-1)
    error, limit, invalidation = (
        sample_value.get(name) for name in ("error", "limit", "invalidation")
    )
    if isinstance(error, dict):
        add_remark(f"the sample ended with an error: {error.get('message')}")
    if isinstance(limit, dict):
        add_remark(f"the {limit.get('type')} limit of {limit.get('limit')} stopped the sample")
    if isinstance(invalidation, dict):
        reason = f": {invalidation['reason']}" if invalidation.get("reason") else ""
        add_remark(
            f"{invalidation.get('author')} invalidated this sample{reason}. The log's metrics still"
            " include it"
        )
        item.extra.metadata["invalidated"] = to_plain_json(invalidation)
    if retries := as_list(sample_value.get("error_retries")):
        item.extra.metadata["error_retries"] = len(retries)


def _compare_metrics(context: RunContext) -> list[str]:
    """Compare the recorded metrics with recomputed ones, both from the edited scores.

    Return a text for each metric that differs, and store which metrics are equal: only these can be
    recomputed after a review.
    """
    stored = context.run.official_metrics[LOG_KEY]
    stored["n_items"] = len(context.scored)
    different: list[str] = []
    columns = load_log_metrics(context.run).columns
    for column, stored_column in zip(columns, stored["columns"], strict=True):
        values = list(leaderboard.read_edited_values(context.scored, column.scorer))
        stored_column["n_scored_in_file"] = _count_scored(column, values)
        metrics_by_key = {metric["key"]: metric for metric in stored_column["metrics"]}
        for spec, value in recompute_metrics_of_column(column, values):
            if value is None or spec.recorded is None or spec.key not in metrics_by_key:
                continue
            is_equal = is_same_number(value, spec.recorded)
            metrics_by_key[spec.key]["is_reproduced"] = is_equal
            if not is_equal:
                different.append(
                    f"{column.title} {spec.key} {spec.recorded:.6g} (recomputed {value:.6g})"
                )
    return different


def _count_scored(column: ScoreColumn, values: Sequence[EpochValue]) -> int | None:
    """Return the number of scored samples in the file, or None for a reducer that fcreview does
    not know.
    """
    try:
        return sum(score.value is not None for score in reduce_column(column, values))
    except NotRecomputable:
        return None


def _report_different_metrics(log: InspectLog, context: RunContext) -> Iterator[ImportIssue]:
    """Yield an issue if recomputed metrics differ from those in the log."""
    different = _compare_metrics(context)
    if not different:
        return
    n_expected = _count_expected_samples(log.header)
    n_others = len(different) - MAX_REPORTED_METRICS
    more = f" and {n_others} more" if n_others > 0 else ""
    what = (
        "recorded metrics differ from the recomputed ones:"
        f" {', '.join(different[:MAX_REPORTED_METRICS])}{more}"
    )
    if n_expected > len(context.scored):
        what += (
            f". The recorded metrics cover {n_expected:,} samples, of which the file has"
            f" {len(context.scored):,}"
        )
    is_complete = load_log_metrics(context.run).is_complete and n_expected <= len(context.scored)
    yield ImportIssue(
        str(log.path), None, what=what, severity="warning" if is_complete else "notice"
    )


def _count_expected_samples(header: dict[str, Any]) -> int:
    """Return the number of samples, in all epochs, that the results of a log cover. 0 if it is
    unknown.
    """
    total = as_object(header.get("results")).get("total_samples")
    if is_integer(total):
        return total
    fields = as_object(header.get("eval"))
    epochs = as_object(fields.get("config")).get("epochs")
    n_samples = len(as_list(as_object(fields.get("dataset")).get("sample_ids")))
    return n_samples * (epochs if is_integer(epochs) and epochs > 0 else 1)
