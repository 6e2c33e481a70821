"""Create and assign review queues.

A queue is a random sample of items that is divided among annotators (docs/queues.md).

Example: fcreview queue list runs/gpt4o
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.estimate_data import (
    HALF_WIDTH,
    HalfWidth,
    build_estimation_input,
    check_half_width,
)
from fcreview.cli.options import (
    JsonOption,
    RandomSeedOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    argument,
    option,
    split_at_commas,
    workspace_command,
)
from fcreview.cli.output import (
    check_choice,
    emit,
    emit_json,
    emit_lines,
    format_cell,
    format_figure,
    print_message,
    print_table,
)
from fcreview.cli.workspace import format_run_choices
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import CommandError, UsageError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.tables.queues import ITEMS_TITLE, QUEUE_TITLE, QueueShares, build_progress_table

if TYPE_CHECKING:
    from pathlib import Path

    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.model.metric import Metric
    from fcreview.stats.estimation import EstimationInput, ExtensionStratum, MetricDraws
    from fcreview.stats.sampling import Stratum
    from fcreview.store.estimation import QueueSample, RunSampleStatus
    from fcreview.store.queue_file import QueueFile, SampleDesign
    from fcreview.store.rows import RunRow, View
    from fcreview.store.workspace import Workspace

MAX_LISTED_METRICS = 8
DESIGN_FIELDS = (
    "seed",
    "where",
    "stratify",
    "size",
    "overlap",
    "repeats",
    "population",
    "excludes",
    "n_excluded",
    "cluster",
    "same_questions",
    "decides",
    "blind",
    "n_incidents",
    "sources",
    "allocation",
)
"""Fields of `SampleDesign` that the JSON object of a queue has, in this order."""


@workspace_command()
def list_queues(options: WorkspaceOptions, as_json: JsonOption = False) -> None:
    """List queues with the progress of each annotator.

    The progress is how many of the assigned items an annotator has reviewed.

    Example: fcreview queue list runs/gpt4o --json
    """
    from fcreview.store.queue_file import QueueError, read_queues

    with open_workspace(options) as session:
        queues: list[QueueFile] = []
        for queue_or_error in list(read_queues(session.workspace)):
            if isinstance(queue_or_error, QueueError):
                print_message(f"fcreview: {queue_or_error}")
            else:
                queues.append(queue_or_error)

        if as_json:
            for queue in queues:
                emit_json(_build_queue_json(session, queue))
            return
        _print_queue_list(session, queues)
    print_message(format_count(len(queues), "queue file"))


def _print_queue_list(session: WorkspaceSession, queues: Sequence[QueueFile]) -> None:
    """Print a row for each annotator of each queue."""
    table = build_progress_table([_measure_shares(session, queue) for queue in queues])
    if table.rows:
        emit_lines(format_figure(table))


def _measure_shares(session: WorkspaceSession, queue: QueueFile) -> QueueShares:
    shares = session.store.measure_queue_progress(queue.name)
    return QueueShares(queue.name, len(queue.items), shares)


def _build_queue_json(session: WorkspaceSession, queue: QueueFile) -> dict[str, Any]:
    """Build the JSON object of a queue.

    In the progress of an annotator, `total` counts an item with a hidden duplicate twice.
    """
    fields: dict[str, Any] = {"queue": queue.name, "created": queue.created}
    for name in DESIGN_FIELDS:
        fields[name] = getattr(queue.design, name)
    fields["annotators"] = session.store.measure_queue_progress(queue.name)
    return fields


@workspace_command()
def show_queue_details(
    options: WorkspaceOptions,
    name: Annotated[str, argument("NAME", "Queue name.")],
    as_json: JsonOption = False,
) -> None:
    """Show how a queue was sampled, and its progress.

    Prints the strata with their inclusion probabilities, and the progress of each annotator. --json
    also prints a line for each item.

    Example: fcreview queue show runs/gpt4o pilot
    """
    with open_workspace(options) as session:
        queue = session.store.load_queue(name)
        if as_json:
            emit_json(_build_queue_details_json(session, queue))
            emit_json(*_build_queue_item_json(queue))
            return
        _print_queue(session, queue)


def _build_queue_details_json(session: WorkspaceSession, queue: QueueFile) -> dict[str, Any]:
    """Build the JSON object of a queue with its strata and runs. The strata are null if their sizes
    could tell the hidden verdict of a judge.
    """
    from fcreview.store.queue_sampling import has_private_strata

    strata = None
    if not has_private_strata(queue.design):
        strata = [_build_stratum_json(stratum) for stratum in queue.strata]
    return _build_queue_json(session, queue) | {"strata": strata, "runs": queue.design.runs}


def _build_stratum_json(stratum: Stratum) -> dict[str, Any]:
    return {
        "name": stratum.name,
        "size": stratum.size,
        "drawn": stratum.drawn,
        "probability": stratum.probability,
    }


def _build_queue_item_json(queue: QueueFile) -> Iterator[dict[str, Any]]:
    """Build the JSON object of each item of a queue, with the annotators who review it."""
    annotators_by_position: dict[int, list[str]] = {}
    for share in queue.shares:
        # A hidden duplicate is in the order twice, but its annotator counts once.
        for position in dict.fromkeys(share.order):
            annotators_by_position.setdefault(position, []).append(share.annotator)

    for position, item in enumerate(queue.items):
        yield {
            **item.key._asdict(),
            "stratum": item.stratum,
            "probability": item.probability,
            "overlap": item.overlap,
            "annotators": annotators_by_position.get(position, []),
        }


def _print_queue(session: WorkspaceSession, queue: QueueFile) -> None:
    """Print how a queue was drawn, its strata, and the progress of its annotators."""
    emit_lines(_format_queue_design(queue))
    emit()
    _print_strata(queue)
    emit()
    _print_progress(session, queue)


def _format_queue_design(queue: QueueFile) -> Iterator[str]:
    """Yield sentences about the sample of a queue: its size, filter, seed and shared items.

    They say what a reader needs to draw the same sample again.
    """
    design = queue.design
    yield _describe_sample_size(queue)
    if design.sources:
        yield _describe_source_strata(design)
    if design.same_questions:
        models = ", ".join(sanitize(run["model"]) for run in design.runs)
        yield f"joint sample: the items of {models} on the same questions"
    if design.decides:
        yield "only questions of which these runs pass different numbers of items"

    yield from _describe_sampling_frame(design)
    item_filter = sanitize(design.where) or "all items"
    yield f"filter: {item_filter} · created: {sanitize(queue.created)}"

    if design.blind:
        yield "The items are reviewed blind."
    n_shared = format_count(design.overlap, design.unit)
    n_duplicates = format_count(design.repeats, "hidden duplicate")
    yield f"All annotators review {n_shared}. Each annotator has {n_duplicates}."


def _describe_sample_size(queue: QueueFile) -> str:
    design = queue.design
    size = f"{design.size:,} of {format_count(design.population, design.unit)}"
    if design.stratify:
        size += f", stratified by {sanitize(design.stratify)}"
    return f"{sanitize(queue.name)}: {size}, seed {design.seed}"


def _describe_sampling_frame(design: SampleDesign) -> Iterator[str]:
    """Say which items could not be drawn, such as those of earlier queues."""
    if design.frame_text:
        yield f"sampling frame: {design.frame_text}"
    if design.excludes:
        n_excluded = format_count(design.n_excluded, "item")
        earlier_queues = sanitize(", ".join(design.excludes))
        yield f"{n_excluded} of earlier queues ({earlier_queues}) cannot be drawn again"


def _describe_source_strata(design: SampleDesign) -> str:
    """Say which sources define the strata of a sample, and how the sample is divided among them."""
    names = ", ".join(sanitize(name) for name in design.sources)
    allocation = "in proportion to the sizes of the strata"
    if design.allocation == "neyman":
        allocation = "Neyman, with more items where the sources disagree"
    return f"strata: number of passing verdicts of {names}. allocation: {allocation}"


def _print_strata(queue: QueueFile) -> None:
    """Print the strata of a sample, which are the groups that items were drawn from at different
    rates.
    """
    from fcreview.store.queue_sampling import has_private_strata

    if has_private_strata(queue.design):
        emit("The sizes of the strata are hidden, because they could tell verdicts of a judge.")
        return
    rows = []
    for stratum in queue.strata:
        name = format_cell(stratum.name) or "all"
        probability = f"{stratum.probability:.4g}"
        rows.append([name, f"{stratum.size:,}", f"{stratum.drawn:,}", probability])
    print_table(["stratum", "items", "drawn", "probability"], rows, right_aligned=(1, 2, 3))


def _print_progress(session: WorkspaceSession, queue: QueueFile) -> None:
    """Print how many items of the queue each annotator has reviewed."""
    table = build_progress_table([_measure_shares(session, queue)])
    emit_lines(format_figure(table.without([QUEUE_TITLE, ITEMS_TITLE])))


@workspace_command()
def create_queue(
    options: WorkspaceOptions,
    name: Annotated[str, option("--name NAME", "Name of the new queue.")],
    annotators: Annotated[
        str, option("--annotators A,B,C", "Annotator names, separated by commas.")
    ],
    where: WhereOption = "",
    run: RunOption = None,
    size: Annotated[
        int | None,
        option("--size N", "Number of items to draw.", min=1, show_default="all selected items"),
    ] = None,
    compare: Annotated[
        str,
        option(
            "--compare RUN,RUN",
            "Draw a joint sample: questions that all of these runs have, with the items of each"
            " run, so that `compare` can estimate their difference. --size and --overlap then count"
            " questions.",
        ),
    ] = "",
    decides: Annotated[
        tuple[str, str] | None,
        option(
            "--decides RUN RUN",
            "Draw a joint sample of the questions that exactly one of two runs passes, which decide"
            " the rank of the runs.",
        ),
    ] = None,
    stratify: Annotated[
        str,
        option(
            "--stratify BY",
            "Fields to stratify by, separated by commas, such as category, language, model, error"
            " or official; or sources, the number of automatic sources that pass an item.",
        ),
    ] = "",
    allocation: Annotated[
        str,
        option(
            "--allocation NAME",
            "How to divide the sample among strata: proportional (to their sizes) or neyman (strata"
            " by the number of automatic sources that pass an item; more items where they"
            " disagree).",
        ),
    ] = "proportional",
    overlap: Annotated[
        int, option("--overlap N", "Number of items that every annotator reviews.", min=0)
    ] = 0,
    repeats: Annotated[
        int,
        option(
            "--repeats N",
            "Number of items that each annotator gets twice, as hidden duplicates.",
            min=0,
        ),
    ] = 0,
    allow_overlap: Annotated[
        bool, option("--allow-overlap", "Draw also from the items of earlier queues.")
    ] = False,
    cluster: Annotated[
        str,
        option(
            "--cluster KIND",
            "Draw whole groups of items, each as one: task (all trials of a task) or conversation."
            " --size and --overlap then count groups.",
        ),
    ] = "",
    include_incidents: Annotated[
        bool, option("--include-incidents", "Draw also from items without an answer of the model.")
    ] = False,
    blind: Annotated[
        bool,
        option("--blind", "Hide other verdicts until annotators submit their own."),
    ] = False,
    seed: RandomSeedOption = None,
    team: Annotated[
        bool,
        option(
            "--team",
            "Send the queue to the server of your team, so that all members get their items.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Create a queue from a random sample of items.

    Annotators review their items with `fcreview open PATH --queue NAME --annotator WHO`. Pass
    --blind, so that they do not see other verdicts before they submit their own.
    The queue is saved in .fcreview/queues/NAME.json with the inclusion probability of each item. An
    existing queue is never overwritten, and items of earlier queues are not drawn again. Items
    without an answer of the model (incidents) are left out; the queue records how many. Without
    --seed, the seed is random; the queue records it.

    Example: fcreview queue create runs/gpt4o --name pilot --size 200 --stratify category --overlap
    50 --annotators alice,bob,carol --repeats 10
    """
    from fcreview.stats.sampling import ShareOptions, draw_seed
    from fcreview.store.queue_file import check_new_queue_name, write_queue
    from fcreview.store.queue_sampling import (
        ALLOCATIONS,
        CLUSTER_KINDS,
        SOURCES_KEY,
        QueueRequest,
    )

    allocation_name = check_choice(ALLOCATIONS, allocation, "--allocation")
    if allocation == "neyman" and not stratify:
        stratify = SOURCES_KEY
    if cluster:
        check_choice(CLUSTER_KINDS, cluster, "--cluster")
    sharing = ShareOptions(
        split_at_commas(annotators),
        overlap=overlap,
        repeats=repeats,
        seed=draw_seed() if seed is None else seed,
    )

    compared_runs = _list_compared_runs(compare, decides)
    with open_workspace(options) as session:
        check_new_queue_name(session.workspace, name)
        request = QueueRequest(
            name,
            view=_build_sampled_view(session, where, run=run, compared_runs=compared_runs),
            size=size,
            stratify=stratify,
            sharing=sharing,
            allocation=allocation_name,
            avoids_earlier_queues=not allow_overlap,
            cluster=cluster,
            include_incidents=include_incidents,
            same_questions=bool(compared_runs),
            decides=decides is not None,
            blind=blind,
        )
        queue = session.store.draw_queue(request)

        # The server refuses annotators who are no members. Then no file is written here either.
        if team:
            _publish_queue(session.workspace, queue)
        file = write_queue(session.workspace, queue)
        _print_new_queue(session, queue, as_json=as_json)

    _warn_about_selection_by_verdict(queue.design)
    n_items = format_count(len(queue.items), "item")
    n_annotators = format_count(len(sharing.annotators), "annotator")
    print_message(f"queue {sanitize(name)} with {n_items} for {n_annotators} saved in {file}")


def _list_compared_runs(compare: str, decides: tuple[str, str] | None) -> Sequence[str]:
    """Return the names of the runs of a joint sample; none for other samples.

    Raises UsageError if both options name runs.
    """
    if compare and decides:
        raise UsageError("--compare and --decides exclude each other. Pass only one of them")
    return decides or split_at_commas(compare)


def _build_sampled_view(
    session: WorkspaceSession, where: str, *, run: str | None, compared_runs: Sequence[str]
) -> View:
    """Build the view of the items to draw from. `compared_runs`: names of the runs of a joint
    sample; empty for other samples.
    """
    view = session.build_view(where, run=run)
    if not compared_runs:
        return view
    if run is not None:
        raise UsageError("--compare and --decides name the runs themselves. Remove --run")

    numbers = [session.find_run_number(name) for name in compared_runs]
    if len(set(numbers)) < 2:
        names = ", ".join(compared_runs)
        raise UsageError(f"{names} are fewer than two runs. Name two different runs")
    return replace(view, runs=tuple(dict.fromkeys(numbers)))


def _print_new_queue(
    session: WorkspaceSession,
    queue: QueueFile,
    *,
    as_json: bool,
    json_fields: dict[str, Any] | None = None,
) -> None:
    """Print a queue that was just drawn. `json_fields` are additional fields of its JSON object."""
    if as_json:
        emit_json(_build_queue_json(session, queue) | (json_fields or {}))
    else:
        _print_queue(session, queue)


VERDICT_FILTER_NOTE = (
    "fcreview: the filter selects items by a verdict, so the sample represents only items with this"
    " verdict. estimate has no interval for scores of the whole run, and calibrate measures"
    " precision or wrong fails, but no TPR or TNR"
)

DECIDING_QUESTIONS_NOTE = (
    "fcreview: the questions were selected by their automatic verdicts, so the sample shows whether"
    " the verdicts that decide the ranks are right. It has no interval for scores of the whole run"
)


def _warn_about_selection_by_verdict(design: SampleDesign) -> None:
    """Warn if verdicts selected the items: scores of the whole run then have no interval."""
    if design.decides:
        print_message(DECIDING_QUESTIONS_NOTE)
    elif _selects_by_verdict(design.where):
        print_message(VERDICT_FILTER_NOTE)


def _selects_by_verdict(where: str) -> bool:
    """Whether a filter selects items by verdicts, so that they are no sample of all items."""

    from fcreview.store.filters.parser import parse_filter
    from fcreview.store.filters.tokens import FilterError

    try:
        parse_filter(where, blind=True)
    except FilterError:
        # The filter was valid when the queue was drawn, so it reveals verdicts.
        return True
    return False


def _publish_queue(workspace: Workspace, queue: QueueFile) -> None:
    """Send a queue to the team's server, which checks that all its annotators are members."""

    from fcreview.cli.team_sync import open_team_exchange
    from fcreview.store.queue_file import check_new_queue_name
    from fcreview.store.team_exchange import publish_queue

    check_new_queue_name(workspace, queue.name)
    with open_team_exchange(workspace) as exchange:
        publish_queue(exchange.connect(), queue)


@workspace_command("policy")
def extend_queue(
    options: WorkspaceOptions,
    name: Annotated[str, option("--name NAME", "Name of the queue to extend.")],
    target: Annotated[
        str,
        option(
            "--target METRIC",
            "Draw items that narrow the interval of this metric of `fcreview estimate`, such as"
            " 'BFCL overall'.",
            show_default="the first metric",
        ),
    ] = "",
    half_width: HalfWidth = HALF_WIDTH,
    size: Annotated[
        int | None,
        option("--size N", "Draw at most N items.", min=1, show_default="all that are needed"),
    ] = None,
    run: RunOption = None,
    annotators: Annotated[
        str,
        option(
            "--annotators A,B,C",
            "Annotator names, separated by commas.",
            show_default="annotators of the queue",
        ),
    ] = "",
    seed: RandomSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Extend a queue to narrow a metric's interval.

    Creates a queue NAME-2, NAME-3 ... with the additional items that narrow the interval most. The
    target interval is reached if all items of both queues are reviewed. `fcreview estimate` uses
    all of these queues as one sample.

    Example: fcreview queue extend runs/gpt4o --name pilot --target "BFCL overall" --half-width 2
    """
    check_half_width(half_width)
    with open_workspace(options) as session:
        _check_draws_single_items(session.load_queue_file(name))
        sampled = _find_sampled_run(session, queue_name=name, number_or_model=run)

        draws, metric = _draw_metric_values(session, sampled, target)
        plan = _plan_extension(
            sampled, draws, metric, half_width_in_points=half_width, max_items=size
        )
        goal_text = f"±{half_width:g}{_format_review_condition(name, plan.n_unreviewed)}"
        if not plan.strata:
            print_message(
                f"nothing to draw: the interval of {sanitize(metric.name)} is within {goal_text}"
            )
            return

        queue, file = _draw_and_write_extension(
            session, sampled, plan, annotators=split_at_commas(annotators), seed=seed
        )
        extension = {"extends": name, "target": metric.name, "waiting": plan.n_unreviewed}
        _print_new_queue(session, queue, as_json=as_json, json_fields=extension)

    n_items = format_count(len(queue.items), "item")
    print_message(
        f"queue {sanitize(queue.name)} saved in {file}: {n_items} to narrow the interval to"
        f" {goal_text}"
    )


@dataclass(frozen=True, slots=True)
class _ExtensionPlan:
    """The items to draw from each stratum, so that the interval of a metric becomes narrow."""

    metric: Metric
    strata: Sequence[ExtensionStratum]
    """Empty if the interval is narrow enough as soon as the drawn items are reviewed."""
    n_unreviewed: int
    """Number of items that were drawn before and have no review yet."""


def _plan_extension(
    sampled: _SampledRun,
    draws: MetricDraws,
    metric: Metric,
    *,
    half_width_in_points: float,
    max_items: int | None,
) -> _ExtensionPlan:
    """Plan how many more items of each stratum a metric needs for an interval of a half-width, in
    percentage points.

    Raises UsageError if the metric is no rate.
    """
    from fcreview.stats.estimation import ExtensionGoal, plan_extension

    # Metrics are shares from 0 to 1 or per cent.
    half_width = half_width_in_points * _find_percentage_point(metric)
    # Items of the sample without a verdict will narrow the interval when they are reviewed.
    unreviewed_positions = sampled.status.find_undecided_positions(sampled.sample)
    goal = ExtensionGoal(
        metric.key,
        half_width=half_width,
        sample_index=sampled.status.samples.index(sampled.sample),
        pending=unreviewed_positions,
        max_items=max_items,
    )
    strata = plan_extension(draws, goal)
    return _ExtensionPlan(metric, strata, n_unreviewed=len(unreviewed_positions))


def _draw_and_write_extension(
    session: WorkspaceSession,
    sampled: _SampledRun,
    plan: _ExtensionPlan,
    *,
    annotators: Sequence[str],
    seed: int | None,
) -> tuple[QueueFile, Path]:
    """Draw the planned items, and write them to a new queue file. Return the queue and its path.

    Without annotators, the new queue has the annotators of the extended queue.
    """
    from fcreview.stats.sampling import draw_seed
    from fcreview.store.queue_file import write_queue
    from fcreview.store.queue_sampling import ExtensionRequest, draw_queue_extension

    request = ExtensionRequest(
        sampled.sample.queue,
        row=sampled.row,
        target=plan.metric.name,
        parts=plan.strata,
        annotators=annotators,
        seed=draw_seed() if seed is None else seed,
    )
    queue = draw_queue_extension(session.workspace, sampled.status.content_keys, request)
    return queue, write_queue(session.workspace, queue)


def _format_review_condition(queue_name: str, n_unreviewed: int) -> str:
    """Return ` after the review of 3 unreviewed items of pilot`, or nothing if all are reviewed.

    A planned interval holds only when the items that were drawn before are reviewed too.
    """
    if not n_unreviewed:
        return ""
    items = format_count(n_unreviewed, "unreviewed item")
    return f" after the review of {items} of {sanitize(queue_name)}"


def _check_draws_single_items(queue: QueueFile) -> None:
    """Raise CommandError if a queue draws groups or questions, because an extension draws items."""
    design = queue.design
    if design.same_questions:
        raise CommandError(
            f"queue {sanitize(queue.name)} draws the same questions of several runs, and cannot be"
            " extended. Draw more questions with fcreview queue create --compare"
        )
    if design.cluster:
        raise CommandError(
            f"queue {sanitize(queue.name)} draws whole groups, and cannot be extended. Draw more"
            f" groups with fcreview queue create --cluster {design.cluster}"
        )


def _find_percentage_point(metric: Metric) -> float:
    """Return a percentage point in the unit of a metric. Raises UsageError if it is no rate."""
    points = {"share": 0.01, "percent": 1.0}
    if metric.unit not in points:
        raise UsageError(
            f"--target {metric.name} is not a rate. Only rates have intervals in percentage points"
        )
    return points[metric.unit]


@dataclass(frozen=True, slots=True)
class _SampledRun:
    """A run with one of its samples."""

    row: RunRow
    status: RunSampleStatus
    sample: QueueSample


def _find_sampled_run(
    session: WorkspaceSession, *, queue_name: str, number_or_model: str | None
) -> _SampledRun:
    """Find the run from which a queue was drawn.

    Raises CommandError if the queue was drawn from several runs, or from none of these.
    """
    queue = session.load_queue_file(queue_name)
    rows = session.select_runs(number_or_model)
    statuses = [session.store.analysis.fetch_sample_status(row.run) for row in rows]

    matches: list[_SampledRun] = []
    for row, status in zip(rows, statuses, strict=True):
        for sample in status.samples:
            if queue_name in sample.queue_names:
                matches.append(_SampledRun(row, status=status, sample=sample))

    if not matches:
        raise CommandError(_explain_missing_sample(queue, statuses))
    if len(matches) > 1:
        runs = format_run_choices([match.row for match in matches])
        raise CommandError(f"queue {queue_name} has items of several runs. Choose --run {runs}")
    return matches[0]


def _explain_missing_sample(queue: QueueFile, statuses: Sequence[RunSampleStatus]) -> str:
    """Return why none of the runs with these statuses has a sample of a queue."""
    for status in statuses:
        for problem in status.problems:
            # A status has the problems of all queues.
            if problem.startswith(f"queue {queue.name}:"):
                return problem
    return f"queue {queue.name} has no items in these runs. Choose other runs"


def _draw_metric_values(
    session: WorkspaceSession, sampled: _SampledRun, target: str
) -> tuple[MetricDraws, Metric]:
    """Draw values of each metric from its posterior distribution, and find the metric of --target.

    The spread of the values tells how precisely the reviewed items determine the metric. Raises
    CommandError if the interval of this metric cannot be estimated.
    """
    from fcreview.stats.estimation import draw_metrics

    run = build_estimation_input(session, sampled.row, sampled.status)
    info = sampled.row.info
    metric = _find_metric_by_name(
        target,
        run.compute_metrics(run.reviewed_items),
        benchmark_titles=(info.benchmark, info.title),
    )

    draws = draw_metrics(run)
    if draws is None:
        raise CommandError("the queue has no reviewed items. Review some items first")
    _check_can_estimate(run, metric)
    if metric.key not in draws.values:
        raise CommandError(
            f"fcreview cannot estimate {metric.name}. Run fcreview estimate for the reason"
        )
    return draws, metric


def _check_can_estimate(run: EstimationInput, metric: Metric) -> None:
    """Raise CommandError if a metric depends on more than the verdicts of whole items.

    More items narrow the interval of a metric only if the metric depends on these verdicts.
    """
    from fcreview.stats.answer_model import AnswerModel
    from fcreview.stats.estimation import MetricDependencies, explain_missing_interval

    answer_models = []
    for answer in run.criterion_answers:
        answer_models.append(AnswerModel(run.automatic_items, run.statuses, answer))
    dependencies = MetricDependencies(run, answer_models, is_sampled=True)

    criteria = dependencies.find_criteria(metric.key)
    if criteria:
        raise CommandError(
            f"{metric.name} depends on {' and '.join(criteria)}, but queue extend supports only"
            " metrics that depend on the verdict of the whole item. Use fcreview queue create to"
            " draw more items"
        )
    method = dependencies.choose_method(metric.key)
    if method == "other verdicts":
        reason = explain_missing_interval(method)
        raise CommandError(f"fcreview cannot estimate {metric.name}: {reason}")


def _find_metric_by_name(
    target: str, metrics: Sequence[Metric], *, benchmark_titles: Sequence[str]
) -> Metric:
    """Find the metric of --target by its name, without regard to case.

    The name may follow the title of the benchmark or of the metric's table. Without a name, it is
    the first metric. Raises UsageError unless exactly one metric has the name.
    """
    name = _remove_benchmark_title(target.strip().casefold(), benchmark_titles)
    if name:
        matches = [metric for metric in metrics if _has_name(metric, name)]
    else:
        matches = list(metrics[:1])

    # The same metric may be in several tables, so the keys are counted.
    if len({metric.key for metric in matches}) == 1:
        return matches[0]

    listed_metrics = matches or metrics
    choices = []
    for metric in listed_metrics[:MAX_LISTED_METRICS]:
        choices.append(f"{metric.table} {metric.name}")
    raise UsageError(
        f"--target {target!r} is not one metric of the run. Choose {', '.join(choices)}"
    )


def _remove_benchmark_title(name: str, titles: Sequence[str]) -> str:
    """Remove the first of `titles` with which a casefolded name begins."""
    for title in titles:
        if title and name.startswith(title.casefold()):
            return name[len(title) :].strip()
    return name


def _has_name(metric: Metric, casefolded_name: str) -> bool:
    name_with_table = f"{metric.table} {metric.name}"
    return casefolded_name in (metric.name.casefold(), name_with_table.casefold())


COMMANDS = {
    "create": create_queue,
    "extend": extend_queue,
    "list": list_queues,
    "show": show_queue_details,
}
