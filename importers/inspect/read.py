"""Read the items of an Inspect log. An item is a sample in one epoch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.importers.common.records import (
    add_issue,
    as_list,
    as_object,
    fill_safely,
    is_integer,
    is_number,
    list_objects,
    read_function_docs,
    set_position,
)
from fcreview.importers.dialects.to_item import make_issues
from fcreview.importers.inspect import leaderboard
from fcreview.importers.inspect.content import list_answers_to_hash
from fcreview.importers.inspect.discovery import BFCL, LogSources
from fcreview.importers.inspect.foreign_messages import convert_messages
from fcreview.importers.inspect.incidents import apply_sample_incident
from fcreview.importers.inspect.leaderboard import (
    LOG_KEY,
    is_same_number,
    load_log_metrics,
    read_score_columns,
)
from fcreview.importers.inspect.log import InspectLog, open_log
from fcreview.importers.inspect.log_start import UnreadableLog
from fcreview.importers.inspect.messages import Conversation, build_conversation
from fcreview.importers.inspect.metrics import (
    EpochValue,
    NotRecomputable,
    ScoreColumn,
    recompute_metrics_of_column,
    reduce_column,
)
from fcreview.importers.inspect.sample import LogSample
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
    SampleScore,
    add_score_verdicts,
    is_graded_by_model,
    read_scores,
)
from fcreview.importers.inspect.task_samples import is_bfcl_sample, is_tau2_sample
from fcreview.model.item import ImportIssue, Item, Message, ReadRecord, Run, RunFact
from fcreview.model.json_value import answer_hash, to_json_text, to_plain_json
from fcreview.model.metric import ScoredItem
from fcreview.model.wording import format_count
from fcreview.run_plan import RunPlan

if TYPE_CHECKING:
    from fcreview.importers.inspect.tasks import BfclTask

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
MAX_SECONDS = 1e9
"""Duration of a sample, in seconds, from which it is not plausible."""
MAX_TOKENS = 1e15
"""Number of tokens of a sample from which it is not plausible."""


SampleName = tuple[str, str, int]
"""Type and text of a sample's id, and epoch. The ids 1 and "1" are different samples."""


class ItemIds:
    """Assigns an item id to each sample in each epoch (repeat): the sample's id, followed by `#2`
    in the second epoch.

    If two ids are equal, such as those of a sample `task#2` and of the second epoch of `task`, one
    gets quotation marks. The ids do not depend on the order of the samples in the file, because
    reviews refer to them.
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

    @property
    def used_ids(self) -> dict[SampleName, str]:
        """The item ids of the samples that were used."""
        return {name: self._id_by_name[name] for name in self._used}

    def _assign(self, sample_id: Any, epoch: int) -> str:
        """Return the item id of a sample in an epoch (a repeat), such as `7` or, in epoch 2, `7#2`.

        Sample ids can be numbers or texts. If the number 7 and the text "7" both occur, the second
        one is written as JSON, or gets a quote at the end.
        """
        name = _make_sample_name(sample_id, epoch)
        known = self._id_by_name.get(name)
        if known is not None:
            return known
        ending = "" if epoch == 1 else f"#{epoch}"
        item_id = f"{sample_id}{ending}"
        if item_id in self._taken:
            item_id = f"{to_json_text(sample_id)}{ending}"
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
    has_samples: bool = False
    """Whether the log that was read last has samples."""


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """Yield the items, issues and facts of a run, which consists of one or more logs.

    Also sets the settings of the run, and the metrics that its logs recorded.
    """
    context = make_context(plan)
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
    yield from report_values(plan.run.path, context.statistics)


def make_context(plan: RunPlan) -> RunContext:
    """Return what all items of a run share, as far as its plan says it."""
    context = RunContext(plan.run, {str(name): value for name, value in plan.options.items()})
    sources: LogSources = plan.importer_data or LogSources()
    if plan.run.generation == BFCL:
        from fcreview.importers.inspect.tasks import BfclTask

        context.bfcl = BfclTask(dict(sources.datasets))
    return context


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
    """Yield the items of one log, with issues and facts about the log.

    To read the header, a sample with scores is needed, so the samples up to the first one with
    scores are read beforehand. At the end, the recorded metrics are compared with recomputed ones.
    """
    yield from report_run_status(log)
    records = log.read_samples()
    first_records = read_up_to_scored_sample(records)
    read_header(log, first_records, context)
    yield make_verdict_fact(context)

    yield from make_items(itertools.chain(first_records, records), context)
    if not context.has_samples:
        yield ImportIssue(str(log.path), None, what="the log has no samples", severity="warning")
    yield from read_end_of_log(log, context)


def make_items(
    records: Iterable[LogSample | ImportIssue], context: RunContext
) -> Iterator[Item | ImportIssue]:
    """Yield the items of samples. Of a sample that occurs twice, only the issues are yielded.

    Sets `context.has_samples`, and adds the scores of each item to `context.scored`.
    """
    context.has_samples = False
    for record in records:
        if isinstance(record, ImportIssue):
            yield record
            continue
        context.has_samples = True
        item = _read_item(record, context)
        if item is None:
            yield from record.issues
            continue

        # The metrics of the log are recomputed from all items at the end.
        scored = ScoredItem(item.id, category=item.category, group=None, valid=item.official)
        scored.metadata = item.extra.metadata
        context.scored.append(scored)
        yield item


def read_end_of_log(log: InspectLog, context: RunContext) -> Iterator[ReadRecord]:
    """Yield what follows the items of a log: metrics that differ, and the number of samples."""
    yield from _report_different_metrics(log, context)
    n_expected = _count_expected_samples(log.header)
    if n_expected:
        yield RunFact("expected_items", value=n_expected, reason="samples of the log in all epochs")


def read_header(
    log: InspectLog, first_records: Sequence[LogSample | ImportIssue], context: RunContext
) -> None:
    """Set in `context` what the header says about the run and its scores.

    `first_records` are those of `read_up_to_scored_sample`: the last sample has scores, if any has.
    """
    first_samples = [record for record in first_records if isinstance(record, LogSample)]
    last_sample = first_samples[-1] if first_samples else None
    context.scales = build_scales(context.statistics, context.options.get("scorers", ""))
    context.scores = _classify_scores(log.header, last_sample, context)
    is_complete = log.has_header and log.header.get("status") == "success"
    _store_header_data(context, log.header, is_complete=is_complete)


def read_up_to_scored_sample(
    records: Iterator[LogSample | ImportIssue],
) -> list[LogSample | ImportIssue]:
    """Return the records of a log up to the first sample with scores.

    The events of this sample show which scorers called a model.
    """
    first_records: list[LogSample | ImportIssue] = []
    for record in records:
        first_records.append(record)
        if isinstance(record, LogSample) and record.value.get("scores"):
            break
    return first_records


def make_verdict_fact(context: RunContext) -> RunFact:
    """Make the fact that says which score of the log gives the verdicts, and why.

    If none does, it says which scores the user can choose.
    """
    scores = context.scores
    name = VerdictSource(scores.primary or "", scores.primary_key).name
    if _gives_verdicts(name, context):
        is_chosen = context.options.get("verdict_from") == name
        reason = "chosen with --verdict-from" if is_chosen else "main score of the log"
        return RunFact("verdict_from", value=name, reason=reason)

    advice = _list_verdict_advice(name, context)
    reason = "; ".join(advice) or "no score of the log is a verdict"
    return RunFact("verdict_from", value=None, reason=f"no verdicts: {reason}")


def _list_verdict_advice(primary_name: str, context: RunContext) -> Iterator[str]:
    """Yield what the user can do to get verdicts from the scores."""
    choices = [
        choice
        for choice in list_verdict_choices(context.statistics)
        if _gives_verdicts(choice, context)
    ]
    if choices:
        yield f"choose one of {format_choices(choices)} with --verdict-from"
    values = context.statistics.by_name.get(primary_name)
    if values is not None and values.n_numbers:
        scale = f"{primary_name} has scores from {values.lowest:g} to {values.highest:g}"
        yield f"{scale}: set pass_at in the configuration to say from where it passes"


def _gives_verdicts(name: str, context: RunContext) -> bool:
    """Whether some value of a score, or of a key of an object score, is a verdict."""
    values = context.statistics.by_name.get(name)
    # A score without numbers has no scale.
    return values is not None and values.n_numbers > 0 and context.scales[name].gives_verdicts


def report_values(path: str, statistics: LogStatistics) -> Iterator[ImportIssue]:
    """Yield issues for scores that are not a number or infinite. They count as in Inspect.

    `statistics` has the counts for each score by its name.
    """
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


def report_run_status(log: InspectLog) -> Iterator[ImportIssue]:
    """Yield an issue if the run of a log did not finish with success, because its metrics may then
    cover fewer samples.
    """
    what = _describe_run_status(log)
    if what is not None:
        yield ImportIssue(str(log.path), None, what=what)


def _describe_run_status(log: InspectLog) -> str | None:
    """Say why a run did not finish, or return None if it finished with success."""
    if not log.has_header:
        return (
            "the log is incomplete, because its run is still active or has crashed. The finished"
            " samples are imported"
        )
    status = log.header.get("status")
    if status == "success":
        return None
    if status == "cancelled":
        return "the run was cancelled. Its recorded metrics may cover fewer samples"
    if status in ("error", "started"):
        error = log.header.get("error")
        reason = f": {error.get('message')}" if isinstance(error, dict) else ""
        return f"the run has the status {status} and did not finish{reason}"[:400]
    return f"the run has an unknown status: {str(status)[:80]}"


def _classify_scores(
    header: dict[str, Any], sample: LogSample | None, context: RunContext
) -> LogScores:
    """Choose the primary score, which gives the verdicts on items, and find the scores that a model
    gives, whose verdicts are those of a judge.

    Args:
        header: The header of the log.
        sample: A sample of the log, if possible one with scores.
        context: What the items of the run have in common, such as the scales of the scores.
    """
    graders = {} if sample is None else sample.event_data.graders
    scores = {} if sample is None else _read_scores_of_sample(sample)
    names = _list_score_names(header, scores)
    judges = [
        name for name in names if name in graders or is_graded_by_model(name, scores.get(name))
    ]
    primary = _choose_primary_score(header, names, judges, context)
    return LogScores(
        primary=None if primary is None else primary.scorer,
        primary_key=None if primary is None else primary.key,
        judges=frozenset(judges),
        graders=graders,
        grader=_read_grader_role(header),
        scales=context.scales,
    )


def _read_scores_of_sample(sample: LogSample) -> dict[str, SampleScore]:
    """Read the scores of a sample. Issues about them are reported with its item."""
    return read_scores(sample.value.get("scores"), [], sample.file, sample.line)


def _list_score_names(header: dict[str, Any], scores: Mapping[str, SampleScore]) -> list[str]:
    """Return the scorers that the results of a log declare, and then other scores of a sample."""
    names = [str(column["scorer"]) for column in read_score_columns(header)]
    # A score that only people added is no score of the benchmark.
    names += [name for name, score in scores.items() if score.official is not None]
    return list(dict.fromkeys(names))


def _choose_primary_score(
    header: dict[str, Any], names: Sequence[str], judges: Sequence[str], context: RunContext
) -> VerdictSource | None:
    """Choose the score that gives the verdicts on items. None if the log has no score.

    The user's choice counts, then the score that the log names as its headline, then the first
    score that no model gives.
    """
    chosen = VerdictSource.parse(context.options.get("verdict_from", ""), context.statistics)
    if chosen is not None:
        return chosen

    candidates = [name for name in names if name not in judges] or judges
    headline = as_object(as_object(header.get("results")).get("headline"))
    if headline.get("scorer") in candidates:
        return VerdictSource(headline["scorer"])
    if candidates:
        return VerdictSource(candidates[0])
    return None


def _read_grader_role(header: dict[str, Any]) -> str | None:
    """Return the model with the role `grader`, or None without one."""
    roles = as_object(as_object(header.get("eval")).get("model_roles"))
    grader = roles.get("grader")
    model = grader.get("model") if isinstance(grader, dict) else grader
    return model if isinstance(model, str) else None


def _store_header_data(context: RunContext, header: dict[str, Any], *, is_complete: bool) -> None:
    """Set what the header of a log says about the run: its settings, its score columns and how its
    scores are read. Also reserves the ids of all samples that the log should have.

    `is_complete` says whether the log has all samples of the run.
    """
    context.log_metadata = _read_log_metadata(header)
    settings = _read_settings(header) | context.log_metadata
    context.run.settings = {name: to_plain_json(value) for name, value in settings.items()}

    n_epochs = _read_number_of_epochs(header)
    context.has_epochs = n_epochs > 1
    context.item_ids.reserve(_list_sample_ids(header), n_epochs)

    scores = context.scores
    context.run.official_metrics[LOG_KEY] = {
        "primary": scores.primary,
        "primary_key": scores.primary_key,
        "is_judged": scores.primary in scores.judges,
        "judges": sorted(scores.judges),
        "is_complete": is_complete,
        "columns": read_score_columns(header),
        "scales": _list_unusual_scales(context),
    }


def _list_unusual_scales(context: RunContext) -> dict[str, Any]:
    """Return the scales that are not the usual one, by name of the score, as JSON."""
    unusual_scales = {}
    for name, scale in context.scales.items():
        if scale != DEFAULT_SCALE:
            unusual_scales[name] = scale.to_json()
    return unusual_scales


def _read_number_of_epochs(header: dict[str, Any]) -> int:
    epochs = as_object(as_object(header.get("eval")).get("config")).get("epochs")
    return epochs if is_integer(epochs) and epochs > 0 else 1


def _list_sample_ids(header: dict[str, Any]) -> list[Any]:
    """Return the ids of the dataset's samples that the run should have."""
    dataset = as_object(as_object(header.get("eval")).get("dataset"))
    return as_list(dataset.get("sample_ids"))


def _read_settings(header: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a log that are not empty."""
    eval_fields = as_object(header.get("eval"))
    settings = {name: eval_fields.get(name) for name in SETTINGS}
    settings["status"] = header.get("status")
    settings["created"] = eval_fields.get("created")
    stated = {name: value for name, value in settings.items() if value}

    packages = eval_fields.get("packages")
    if isinstance(packages, dict):
        stated["packages"] = packages
    return stated


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
    described: dict[str, Any] = {}
    for name in ("author", "reason", "timestamp"):
        if provenance.get(name):
            described[name] = provenance[name]
    described["edits"] = as_list(update.get("edits"))
    return described


def _read_item(sample: LogSample, context: RunContext) -> Item | None:
    """Make the item of a sample in one epoch (repeat).

    If the log contains the sample twice, the second one gets an issue, and None is returned.
    """
    sample_id = sample.value.get("id")
    epoch = _get_epoch(sample)
    item_id = _make_item_id(sample_id, epoch, sample, context)
    if item_id is None:
        return None

    item = Item(item_id, "", file=sample.file)
    set_position(item, sample)
    item.issues += sample.issues
    fill_safely(item, partial(fill_item, item, sample, context))

    # Most samples name no category. The task is theirs.
    item.category = item.category or context.run.generation
    item.extra.metadata["sample"] = to_plain_json(sample_id)
    item.extra.metadata["epoch"] = epoch
    if context.has_epochs:
        item.group = str(sample_id)
    return item


def _get_epoch(sample: LogSample) -> int:
    """Return the number of a sample's epoch. Without a valid one, it is the first."""
    epoch = sample.value.get("epoch")
    if is_integer(epoch) and epoch > 0:
        return epoch
    return 1


def _make_item_id(sample_id: Any, epoch: int, sample: LogSample, context: RunContext) -> str | None:
    """Return the item id of a sample in an epoch (repeat). None if the log contains the sample
    twice.

    A sample without an id is named by its line. Both cases are issues of the sample.
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
    """Fill an item from its sample: conversation, usage, remarks, verdicts and incident.

    `context` has what the items of a run have in common, such as the task, which decides how the
    conversation is read.
    """
    _add_metadata_and_hashes(item, sample.value, context)
    sample = _convert_foreign_messages(item, sample)
    conversation = _fill_conversation(item, sample, context)
    for problem in conversation.problems:
        add_issue(item, problem, severity="notice")
    if conversation.server_tools:
        item.extra.metadata["server tools"] = conversation.server_tools

    value = sample.value
    _fill_usage(item, value, context.run.model)
    item.ended = _describe_ending(value)
    _add_log_remarks(item, value)
    scores = read_scores(value.get("scores"), item.issues, item.file, item.line)
    add_score_verdicts(item, value, scores, context.scores, conversation)
    _set_error_type_of_task(item, value, scores, context)
    apply_sample_incident(item, value, has_scorer_error=sample.event_data.has_scorer_error)


def _convert_foreign_messages(item: Item, sample: LogSample) -> LogSample:
    """Return a sample whose messages all have Inspect's form. Messages of other APIs are brought
    into it, and what is not read of them becomes issues of the item.
    """
    converted = convert_messages(sample.value.get("messages"))
    item.issues.extend(make_issues(item, converted.issues))
    return replace(sample, value=sample.value | {"messages": converted.messages})


def _add_metadata_and_hashes(item: Item, sample_value: dict[str, Any], context: RunContext) -> None:
    """Set the category, the metadata of sample and log, and the hashes by which reviews notice that
    the answer or the golden answer has changed.
    """
    sample_metadata = as_object(sample_value.get("metadata"))
    item.category = _find_category(sample_metadata)
    item.extra.metadata["metadata"] = to_plain_json(sample_metadata)
    item.extra.metadata |= context.log_metadata
    item.prediction_hash = answer_hash(list_answers_to_hash(sample_value.get("messages")))
    item.golden_hash = answer_hash(to_plain_json(sample_value.get("target")))


def _find_category(sample_metadata: dict[str, Any]) -> str:
    for name in CATEGORY_FIELDS:
        category = sample_metadata.get(name)
        if isinstance(category, str) and category:
            return category
    return ""


def _is_bfcl_sample(value: dict[str, Any], context: RunContext) -> bool:
    return context.bfcl is not None and is_bfcl_sample(value)


def _fill_conversation(item: Item, sample: LogSample, context: RunContext) -> Conversation:
    """Set the messages, calls, functions and golden answer of an item, and return its conversation.

    Samples of BFCL and of tau2-bench are read by the rules of these benchmarks.
    """
    value = sample.value
    if context.bfcl is not None and _is_bfcl_sample(value, context):
        from fcreview.importers.inspect.tasks import fill_bfcl_item

        return fill_bfcl_item(item, sample, context.bfcl)

    if is_tau2_sample(value):
        from fcreview.importers.inspect.tasks import fill_tau2_item

        conversation = fill_tau2_item(item, value)
    else:
        messages = value.get("messages") or _input_to_messages(value.get("input"))
        conversation = build_conversation(messages, sample.event_data.replies)
        conversation.apply_to(item)
        _set_target_and_answer(item, value)
    item.functions = read_function_docs(sample.event_data.functions)
    return conversation


def _set_error_type_of_task(
    item: Item, value: dict[str, Any], scores: Mapping[str, SampleScore], context: RunContext
) -> None:
    """Set the error type of a task whose scorer explains failures in known words."""
    explanation = None
    main_score = scores.get(context.scores.primary or "")
    if main_score is not None and main_score.official is not None:
        explanation = main_score.official.explanation

    if _is_bfcl_sample(value, context):
        from fcreview.importers.inspect.tasks import set_bfcl_error_type

        set_bfcl_error_type(item, explanation)
    elif is_tau2_sample(value):
        from fcreview.importers.inspect.tasks import set_tau2_error_type

        set_tau2_error_type(item, explanation)


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
    accepted = [to_plain_json(answer) for answer in targets if answer not in (None, "")]
    if not accepted:
        return
    item.extra.accepted_answers = accepted
    completion = as_object(sample_value.get("output")).get("completion")
    item.extra.final_answer = str(completion) if completion else None


def _fill_usage(item: Item, sample_value: dict[str, Any], model: str) -> None:
    """Set the tokens and the seconds of an item.

    The log has the tokens of each model, also of those that graded the sample. If those of the
    evaluated model (`model`) are known, only these count.
    """
    usage_by_model = {
        name: usage
        for name, usage in as_object(sample_value.get("model_usage")).items()
        if isinstance(usage, dict)
    }
    counted = list(usage_by_model.values())
    if model in usage_by_model:
        counted = [usage_by_model[model]]
    item.tokens_in = _sum_token_counts(counted, "input_tokens")
    item.tokens_out = _sum_token_counts(counted, "output_tokens")

    seconds = sample_value.get("working_time", sample_value.get("total_time"))
    if is_number(seconds) and 0 <= seconds < MAX_SECONDS:
        item.latency = float(seconds)


def _sum_token_counts(usages: list[dict[str, Any]], field_name: str) -> int | None:
    """Return the sum of the plausible counts, or None if there is none."""
    counts = []
    for usage in usages:
        count = usage.get(field_name)
        if isinstance(count, int) and abs(count) < MAX_TOKENS:
            counts.append(count)
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
    """Add log messages about an error, a limit and an invalidation of the sample."""
    last_step = max((message.step for message in item.messages), default=-1)
    for remark in _list_remarks(sample_value):
        item.messages.append(Message(item.n_turns - 1, last_step, role="log", content=remark))

    invalidation = sample_value.get("invalidation")
    if isinstance(invalidation, dict):
        item.extra.metadata["invalidated"] = to_plain_json(invalidation)
    retries = as_list(sample_value.get("error_retries"))
    if retries:
        item.extra.metadata["error_retries"] = len(retries)


def _list_remarks(sample_value: dict[str, Any]) -> list[str]:
    """List sentences about how a sample ended: an error, a limit, or that a user invalidated it."""
    remarks = []
    error = sample_value.get("error")
    if isinstance(error, dict):
        remarks.append(f"the sample ended with an error: {error.get('message')}")
    limit = sample_value.get("limit")
    if isinstance(limit, dict):
        remarks.append(f"the {limit.get('type')} limit of {limit.get('limit')} stopped the sample")
    invalidation = sample_value.get("invalidation")
    if isinstance(invalidation, dict):
        remarks.append(_describe_invalidation(invalidation))
    return remarks


def _describe_invalidation(invalidation: dict[str, Any]) -> str:
    reason = f": {invalidation['reason']}" if invalidation.get("reason") else ""
    what = f"{invalidation.get('author')} invalidated this sample{reason}"
    return f"{what}. The log's metrics still include it"


def _compare_metrics(context: RunContext) -> list[str]:
    """Compare the metrics that the log recorded with recomputed ones, and describe those that
    differ.

    Also stores which metrics are equal, because only these can be recomputed after a review. Both
    are computed from the scores with the edits that users of Inspect made.
    """
    stored = context.run.official_metrics[LOG_KEY]
    stored["n_items"] = len(context.scored)
    different: list[str] = []
    columns = load_log_metrics(context.run).columns
    for column, stored_column in zip(columns, stored["columns"], strict=True):
        values = list(leaderboard.read_edited_values(context.scored, column.scorer))
        stored_column["n_scored_in_file"] = _count_scored(column, values)
        different += _compare_metrics_of_column(column, values, stored_column)
    return different


def _compare_metrics_of_column(
    column: ScoreColumn, values: Sequence[EpochValue], stored_column: dict[str, Any]
) -> Iterator[str]:
    """Yield a text for each metric that differs. Store in `stored_column` which are equal."""
    metrics_by_key = {metric["key"]: metric for metric in stored_column["metrics"]}
    for spec, value in recompute_metrics_of_column(column, values):
        if value is None or spec.recorded is None or spec.key not in metrics_by_key:
            continue
        is_equal = is_same_number(value, spec.recorded)
        metrics_by_key[spec.key]["is_reproduced"] = is_equal
        if not is_equal:
            yield f"{column.title} {spec.key} {spec.recorded:.6g} (recomputed {value:.6g})"


def _count_scored(column: ScoreColumn, values: Sequence[EpochValue]) -> int | None:
    """Return the number of scored samples in the file, or None for a reducer that fcreview does
    not know.
    """
    try:
        return sum(score.value is not None for score in reduce_column(column, values))
    except NotRecomputable:
        return None


def _report_different_metrics(log: InspectLog, context: RunContext) -> Iterator[ImportIssue]:
    """Yield an issue if recomputed metrics differ from those that the log recorded.

    It is only a notice if the log lacks samples, because then a difference is no surprise.
    """
    different = _compare_metrics(context)
    if not different:
        return
    what = f"recorded metrics differ from the recomputed ones: {_list_first_metrics(different)}"
    n_expected = _count_expected_samples(log.header)
    n_scored = len(context.scored)
    lacks_samples = n_expected > n_scored
    if lacks_samples:
        what += (
            f". The recorded metrics cover {n_expected:,} samples, of which the file has"
            f" {n_scored:,}"
        )
    issue = ImportIssue(str(log.path), None, what=what)
    if lacks_samples or not load_log_metrics(context.run).is_complete:
        issue.severity = "notice"
    yield issue


def _list_first_metrics(metrics: Sequence[str]) -> str:
    """Name the first metrics, and say how many others there are."""
    listed = ", ".join(metrics[:MAX_REPORTED_METRICS])
    n_others = len(metrics) - MAX_REPORTED_METRICS
    if n_others > 0:
        return f"{listed} and {n_others} more"
    return listed


def _count_expected_samples(header: dict[str, Any]) -> int:
    """Return the number of samples, in all epochs, that the results of a log cover. 0 if it is
    unknown.
    """
    total = as_object(header.get("results")).get("total_samples")
    if is_integer(total):
        return total
    return len(_list_sample_ids(header)) * _read_number_of_epochs(header)
