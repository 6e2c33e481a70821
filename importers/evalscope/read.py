"""Read the items of a run: one for each sample, of one benchmark with one model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fcreview.importers.common.error_replies import check_reply_text
from fcreview.importers.common.incidents import apply_incident
from fcreview.importers.common.records import (
    add_issue,
    as_object,
    fill_safely,
    is_integer,
    is_number,
    list_objects,
    set_position,
)
from fcreview.importers.dialects.conversation import ParsedConversation
from fcreview.importers.evalscope import bfcl, conversations, leaderboard, tau, verdicts
from fcreview.importers.evalscope.acebench import fill_acebench_item
from fcreview.importers.evalscope.discovery import BenchmarkFiles, SubsetFiles
from fcreview.importers.evalscope.forms import is_missing_or_unknown_field
from fcreview.importers.evalscope.incidents import find_incident
from fcreview.importers.evalscope.repeats import Repeats, find_repeats
from fcreview.importers.evalscope.reports import (
    Report,
    StatedMetric,
    list_stated_subsets,
    read_report,
)
from fcreview.importers.evalscope.samples import Line, Sample, read_samples
from fcreview.model.item import (
    ImportIssue,
    Item,
    Message,
    ReadRecord,
    RecordLocation,
    RunFact,
)
from fcreview.model.metric import ScoredItem
from fcreview.model.wording import format_count
from fcreview.run_plan import RunPlan

BENCHMARKS_WITH_REPLY_TEXT = (*bfcl.VERSIONS, "acebench")
"""Benchmarks whose reviews quote the reply as it is."""
BENCHMARKS_WITH_OWN_DOCS = BENCHMARKS_WITH_REPLY_TEXT
"""Benchmarks whose function docs have a form of their own."""
DECISION_BENCHMARKS = ("general_fc", "k2_verifier", "kimi_verifier", "minimax_verifier")
JOB_NOTE = "a sample is a whole job of several tasks, so its score is a share and no verdict"
TOLERANCE = 0.00011
"""Difference between a stated and a computed figure up to which both are equal. Both are rounded to
four decimals, and aggregates are computed from rounded figures."""
SHOWN_FIELDS = frozenset(
    {
        "question",
        "turns",
        "function",
        "functions",
        "tools",
        "ground_truth",
        "mile_stone",
        "process",
        "end_state",
        "generation",
        "task_result",
        "gtfa_claims",
        "trajectory",
        "enabled_tools",
        "prompt",
        "missed_function",
        "missing_functions",
        "initial_config",
        "user_scenario",
        "evaluation_criteria",
    }
)
"""Fields of the dataset's record that items show in other places than the metadata."""
SHOWN_EVENTS = ("model_generate", "tool_call", "tool_result")
"""Types of events of a trace that the conversation shows."""
ID_FIELDS = ("id", "task_id", "task_index")
"""Fields of the dataset's record with the benchmark's own id, the best one first."""
MAX_DURATION = 1e7
"""Seconds from which `model_output.time` is a time of the day, as BFCL V3 writes it."""


@dataclass(slots=True)
class RunContext:
    """What all samples of a run have in common."""

    files: BenchmarkFiles
    repeats: Repeats
    known_ids: set[str] = field(default_factory=set)
    scored: list[ScoredItem] = field(default_factory=list)
    """Items with their official verdicts, to compare the figures of the report."""
    n_samples: dict[str, int] = field(default_factory=dict)
    """Subset -> number of samples that were read."""
    n_field_problems: Counter[tuple[Path, str]] = field(default_factory=Counter)
    """Number of lines of a file in which a field is missing or unknown, by file and problem."""

    @property
    def benchmark(self) -> str:
        return self.files.benchmark


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """Yield an item for each sample of a run, with issues and facts.

    Also sets the official metrics of the run from EvalScope's report. At the end, the figures
    computed from the items are compared with those of the report.
    """
    files: BenchmarkFiles = plan.importer_data
    context = RunContext(files, find_repeats(files.subsets, files.config))
    report = read_report(files.report)
    if report.metrics:
        plan.run.official_metrics = {
            leaderboard.REPORT: report.to_json(),
            leaderboard.PRIMARY_METRIC: report.primary_metric,
        }
    yield from report.issues
    if context.repeats.source:
        yield _report_unstated_repeats(plan, context.repeats)

    for subset in files.subsets:
        yield from _read_subset(subset, context)
    yield from _count_field_problems(context)
    yield from _make_facts(report)
    yield from _compare_with_report(context, report)


def _read_subset(subset: SubsetFiles, context: RunContext) -> Iterator[Item | ImportIssue]:
    """Yield an item for each sample of a subset, and count the samples."""
    for sample in read_samples(subset):
        if isinstance(sample, ImportIssue):
            yield sample
            continue
        item = _make_item(sample, context)
        context.n_samples[subset.name] = context.n_samples.get(subset.name, 0) + 1
        context.scored.append(_make_scored_item(item))
        yield item


def _count_field_problems(context: RunContext) -> Iterator[ImportIssue]:
    """Yield an issue for each field that is missing or unknown in more than one line of a file."""
    for (path, problem), count in context.n_field_problems.items():
        if count > 1:
            lines = format_count(count - 1, "more line")
            yield ImportIssue(str(path), line=None, what=f"{problem} (in {lines} of this file)")


def _report_unstated_repeats(plan: RunPlan, repeats: Repeats) -> ImportIssue:
    plan.run.settings["repeats"] = repeats.number
    what = (
        f"no configuration states that questions were repeated. {repeats.number} samples in"
        f" succession are one question, {repeats.source}"
    )
    return ImportIssue(str(plan.results[0]), line=None, what=what, severity="notice")


def _make_scored_item(item: Item) -> ScoredItem:
    """Return the figures of an item from which the metrics are computed."""
    values = {
        verdict.criterion: verdict.value
        for verdict in item.verdicts
        if verdict.source == "official" and verdict.target == "item"
    }
    names = (leaderboard.MAIN_SCORE, leaderboard.OTHER_VALUES)
    metadata = {name: item.extra.metadata[name] for name in names if name in item.extra.metadata}
    return ScoredItem(
        item.id,
        category=item.category,
        group=item.group,
        valid=item.official,
        values=values,
        metadata=metadata,
    )


# -- items


@dataclass(frozen=True, slots=True)
class Place:
    """Question and repeat of a sample."""

    question: int
    trial: int


def _make_item(sample: Sample, context: RunContext) -> Item:
    """Make the item of a sample. An error in one part becomes an issue and does not lose the
    others.
    """
    item = _start_item(sample, context)
    identity = dict(item.extra.metadata)
    _report_fields(item, sample, context)
    has_own_docs = context.benchmark in BENCHMARKS_WITH_OWN_DOCS
    conversation = conversations.read_sample_conversation(sample, reads_tools=not has_own_docs)
    item.prediction_hash = conversations.hash_conversation(conversation)
    fill_safely(item, partial(_fill_item, item, sample, conversation, context))

    # The importers of BFCL and tau-bench replace the metadata.
    item.extra.metadata |= identity
    fill_safely(item, partial(_finish_item, item, sample, context))
    _ensure_messages(item, sample)
    return item


def _start_item(sample: Sample, context: RunContext) -> Item:
    """Make the item of a sample with its id, its group and the position of its record.

    If EvalScope repeated the questions, the samples of one question are trials, and form a group.
    """
    place = _find_place(sample, context)
    question_id = _find_question_id(sample, place)
    line = sample.main_line
    item = Item(question_id, sample.subset, file=str(line.path))
    set_position(item, line.record)
    item.id = _make_unique_id(item, question_id, place, context)

    item.extra.metadata[leaderboard.INDEX] = sample.index
    item.extra.metadata[leaderboard.QUESTION] = question_id
    if context.repeats.number > 1:
        item.group = question_id
        item.extra.metadata[leaderboard.TRIAL] = place.trial
    return item


def _find_place(sample: Sample, context: RunContext) -> Place:
    """Return question and repeat. The id of a sample is question times repeats plus repeat."""
    repeats = context.repeats.number
    question = sample.sample_score.get("group_id")
    trial = sample.sample_score.get("generation_index")
    if is_integer(question) and is_integer(trial):
        return Place(question, trial)
    return Place(sample.index // repeats, sample.index % repeats)


def _find_question_id(sample: Sample, place: Place) -> str:
    """Return an id of the question that is unique in the benchmark.

    Indexes, and the ids of tau-bench, start again in each subset.
    """
    for name in ID_FIELDS:
        value = sample.metadata.get(name)
        if isinstance(value, str) and value:
            has_subset = value.startswith(sample.subset) or sample.subset == "default"
            return value if has_subset else f"{sample.subset}_{value}"
        if is_integer(value):
            return f"{sample.subset}_{value}"
    return f"{sample.subset}_{place.question}"


def _make_unique_id(item: Item, question_id: str, place: Place, context: RunContext) -> str:
    """Return the id of a sample's item: the id of its question. From the second trial on, the
    number of the trial follows it.

    If the id occurs again, the line follows it too, and the item gets an issue.
    """
    item_id = question_id if place.trial == 0 else f"{question_id}_trial_{place.trial}"
    if item_id in context.known_ids:
        unique_id = f"{item_id}#{item.line}"
        what = f"{item_id} occurs more than once. This sample is imported as {unique_id}"
        item.issues.append(ImportIssue(item.file, item.line, what=what, item=unique_id))
        item_id = unique_id
    context.known_ids.add(item_id)
    return item_id


def _report_fields(item: Item, sample: Sample, context: RunContext) -> None:
    """Add an issue for each part of the lines that is missing, of another type, or not read.

    All lines of a file mostly have the same fields. So only the first item in which a field is
    missing or unknown gets the issue, and the others are counted.
    """
    for line, problem in sample.list_field_problems():
        if not is_missing_or_unknown_field(problem):
            _add_line_issue(item, line, problem)
            continue
        key = (line.path, problem)
        context.n_field_problems[key] += 1
        if context.n_field_problems[key] == 1:
            _add_line_issue(item, line, problem)
    if sample.prediction is not None and sample.review is not None:
        _report_contradictions(item, sample, sample.review)


def _add_line_issue(item: Item, line: Line, what: str) -> None:
    item.issues.append(ImportIssue(str(line.path), line.record.line, what=what, item=item.id))


def _report_contradictions(item: Item, sample: Sample, review: Line) -> None:
    """Report that prediction and review, which repeat each other, differ."""
    for name in ("messages", "agent_trace"):
        differs = sample.prediction_fields.get(name) != sample.review_fields.get(name)
        # Early reviews have the question as `input` instead.
        if differs and name in review.fields:
            what = f"{name} of the prediction and of the review differ. The item shows those"
            _add_line_issue(item, review, f"{what} of the review")
    predicted = sample.predicted_metadata
    for name, value in sample.reviewed_metadata.items():
        if name in predicted and predicted[name] != value:
            what = f"{name[:60]} of the metadata differs between the prediction and the review."
            _add_line_issue(item, review, f"{what} The item shows that of the review")


def _fill_item(
    item: Item, sample: Sample, conversation: ParsedConversation, context: RunContext
) -> None:
    """Fill an item with its conversation, its calls and its golden answer.

    EvalScope runs many benchmarks. Those that fcreview knows are read by their own importers. For
    the others, the conversation is shown, and no verdict is recomputed.
    """
    benchmark = context.benchmark
    if benchmark in bfcl.VERSIONS:
        official = verdicts.find_official_verdict(sample, benchmark)
        config = context.files.config
        bfcl.fill_bfcl_item(
            item, sample, conversation, benchmark=benchmark, config=config, official=official
        )
    elif benchmark == "acebench":
        fill_acebench_item(item, sample, conversation)
    elif benchmark == "tau_bench":
        tau.fill_tau1_item(item, sample, conversation)
    elif benchmark in ("tau2_bench", "tau3_bench"):
        tau.fill_tau2_item(item, sample, conversation)
    elif benchmark == "mcp_atlas":
        conversations.fill_claims_item(item, sample, conversation)
    elif benchmark in DECISION_BENCHMARKS:
        conversations.fill_decision_item(item, sample, conversation)
    else:
        conversations.fill_plain_item(item, sample, conversation)
        item.rule_note = JOB_NOTE if benchmark == "toolathlon" else conversations.NOT_RECOMPUTED


def _finish_item(item: Item, sample: Sample, context: RunContext) -> None:
    """Add what all benchmarks have: the official verdict, a failure, tokens, the review's place."""
    benchmark = context.benchmark
    verdicts.add_official_verdict(item, sample, benchmark)
    _add_usage(item, sample)
    _add_review(item, sample)
    if benchmark in BENCHMARKS_WITH_REPLY_TEXT and verdicts.has_other_reply(sample):
        item.flags.append("other_reply")
        add_issue(item, "the review quotes another reply than the prediction contains")
    _apply_incident(item, sample, benchmark)
    verdicts.explain_difference(item, sample)
    _add_metadata(item, sample)


def _add_review(item: Item, sample: Sample) -> None:
    """Add the place of the review, or state that there is none."""
    review = sample.review
    if review is None:
        what = "the prediction has no review, so the item has no official verdict"
        add_issue(item, what, severity="notice")
    elif sample.prediction is not None:
        record = review.record
        item.extra.score_record = RecordLocation(
            str(review.path), line=record.line, offset=record.offset, length=record.length
        )


def _apply_incident(item: Item, sample: Sample, benchmark: str) -> None:
    """Record a failed request. The importers of tau-bench may have found it already."""
    incident = find_incident(sample)
    # In BFCL, the text of a failed request must not be read as a call or a message.
    is_failed_bfcl_request = incident is not None and incident.counts and benchmark in bfcl.VERSIONS
    if incident is not None and not item.has_incident:
        if is_failed_bfcl_request:
            bfcl.apply_failed_request(item, incident, sample)
        else:
            apply_incident(item, incident)
    check_reply_text(item, sample.reply_text, "content")


def _add_usage(item: Item, sample: Sample) -> None:
    """Add tokens and seconds. Adapters that call the model several times state only the sum.

    The tokens are in the output's field `usage` or, without one, in the measured performance. The
    latter belongs to the output or, in some versions, to the message.
    """
    message = as_object(sample.choice.get("message"))
    performance = as_object(sample.output.get("perf_metrics") or message.get("perf_metrics"))
    usage = performance | as_object(sample.output.get("usage"))
    if is_integer(usage.get("input_tokens")):
        item.tokens_in = usage["input_tokens"]
    if is_integer(usage.get("output_tokens")):
        item.tokens_out = usage["output_tokens"]
    item.latency = _find_duration(performance.get("latency"), sample.output.get("time"))


def _find_duration(*values: Any) -> float | None:
    """Return the first value that is a number of seconds."""
    for value in values:
        if is_number(value) and 0 <= value < MAX_DURATION:
            return float(value)
    return None


def _add_metadata(item: Item, sample: Sample) -> None:
    """Add everything that the lines hold and no other part of the item shows."""
    facts = _list_score_facts(sample)
    for name, value in sample.metadata.items():
        if name not in SHOWN_FIELDS:
            facts.setdefault(name, value)
    for name, value in facts.items():
        is_empty = value in (None, "", [], {})
        if not is_empty:
            item.extra.metadata.setdefault(name, value)


def _list_score_facts(sample: Sample) -> dict[str, Any]:
    """Return what the reply and the score of a sample state besides verdicts, as metadata of the
    item: name -> value.

    Values that say nothing new are None: a status of success, or an extracted prediction that is
    the whole prediction.
    """
    score = sample.score
    status = verdicts.get_status(sample)
    extracted = score.get("extracted_prediction")
    details = as_object(score.get("metadata"))
    return {
        "stop reason": sample.choice.get("stop_reason"),
        "events of the trace": _list_notable_events(sample),
        "status of the score": None if status == "success" else status,
        "judge summary": score.get("judge_summary") or score.get("judge_detail"),
        "extracted prediction": None if extracted == score.get("prediction") else extracted,
        "score details": {
            name: value for name, value in details.items() if name not in SHOWN_FIELDS
        },
    }


def _list_notable_events(sample: Sample) -> list[Any]:
    """Return the events of the trace that are neither replies nor calls nor their results."""
    events = []
    for event in list_objects(sample.trace.get("events")):
        if event.get("type") not in SHOWN_EVENTS:
            events.append({"type": event.get("type"), "payload": event.get("payload")})
    return events


def _ensure_messages(item: Item, sample: Sample) -> None:
    """Show the reply of an item whose messages cannot be read."""
    if item.messages:
        return
    content = sample.reply_text or ""
    item.messages = [Message(turn=0, step=0, role="assistant", content=content)]


# -- report


def _make_facts(report: Report) -> Iterator[RunFact]:
    n_requested = sum(report.requested.values())
    if n_requested:
        yield RunFact("expected_items", n_requested, reason="requested in EvalScope's report")


def _compare_with_report(context: RunContext, report: Report) -> Iterator[ImportIssue]:
    """Yield issues for samples that the report counts and the folder lacks, and for figures that
    differ from those computed from the items.

    Figures are compared only if the folder has all subsets of the report.
    """
    if report.path is None:
        return
    path = report.path
    yield from _report_missing_samples(context, report, path)
    if report.unavailable_reason:
        what = f"the report has no primary metric: {report.unavailable_reason}"
        yield ImportIssue(str(path), line=1, what=what, severity="notice")
    if not report.metrics:
        return

    computed = leaderboard.compute_figures(context.scored, context.benchmark, report.metrics)
    for stated, figures in zip(report.metrics, computed, strict=True):
        if figures.note:
            yield ImportIssue(str(path), line=1, what=f"{figures.name}: {figures.note}")
            continue
        if _covers_all_subsets(context, report):
            yield from _compare_figures(stated, figures, path)


def _report_missing_samples(
    context: RunContext, report: Report, path: Path
) -> Iterator[ImportIssue]:
    """Yield issues for subsets and samples that the report counts, but that this folder does not
    contain.
    """
    for subset in dict.fromkeys(list_stated_subsets(report)):
        if subset not in context.n_samples:
            what = f"the report has figures of {subset}, which has no samples in this folder"
            yield ImportIssue(str(path), line=1, what=what, severity="notice")
    for subset, n_requested in report.requested.items():
        n_missing = n_requested - context.n_samples.get(subset, 0)
        if n_missing > 0:
            what = (
                f"{n_missing} of {n_requested} samples of {subset} are missing"
                f" ({report.errored.get(subset, 0)} requests failed). EvalScope leaves them out"
            )
            yield ImportIssue(str(path), line=1, what=what)


def _covers_all_subsets(context: RunContext, report: Report) -> bool:
    return all(subset in context.n_samples for subset in list_stated_subsets(report))


def _compare_figures(
    stated: StatedMetric, figures: leaderboard.MetricFigures, path: Path
) -> Iterator[ImportIssue]:
    """Yield an issue for each figure of a metric that the reviews do not give."""
    computed = _list_computed_scores(figures)
    for name, stated_score in _list_stated_scores(stated):
        score = computed.get(name)
        if score is not None and abs(score - stated_score) > TOLERANCE:
            what = (
                f"{figures.name} of {name} is {stated_score:.4f} in the report, but {score:.4f}"
                " by the reviews"
            )
            yield ImportIssue(str(path), line=1, what=what)


def _list_computed_scores(figures: leaderboard.MetricFigures) -> dict[str, float]:
    """Return the computed figures of a metric by name: subsets, categories, aggregates, all."""
    scores = list(figures.aggregates)
    for subsets in figures.categories.values():
        scores += subsets
    scores += figures.all_categories
    scores.append(leaderboard.weigh(figures.name, figures.all_categories))
    return {score.name: score.score for score in scores}


def _list_stated_scores(stated: StatedMetric) -> Iterator[tuple[str, float]]:
    """Yield the name and the score of each figure of a metric in the report."""
    figures = [stated.figure]
    for category in stated.categories:
        figures += [category.figure, *category.subsets]
    for figure in figures:
        if figure.score is not None:
            yield figure.name, figure.score
