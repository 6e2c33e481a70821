"""`fcreview export`: write labels, corrected runs or golden answer patches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fcreview.cli.commands import KEEP_LINE_BREAKS
from fcreview.cli.config import load_config
from fcreview.cli.options import (
    ForceOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import Progress, check_choice, create_stdout_writer, print_message
from fcreview.cli.workspace_import import discover_runs, open_workspace
from fcreview.errors import UsageError
from fcreview.exporters.base import EXPORTERS, FORMATS
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.store.label_fields import LabelSelection
    from fcreview.store.rows import View

NAME_WIDTH = max(len(each.name) for each in FORMATS)
TRAINING_FORMATS = (
    "sft",
    "preference",
    "kto",
    "rewards",
)  # formats that export training rows instead of labels
FORMAT_HELP = "\n".join(
    [KEEP_LINE_BREAKS, *(f"{each.name:<{NAME_WIDTH}}  {each.help}" for each in FORMATS), ""]
)


@workspace_command("annotator", "policy", "show_judge")
def export(
    options: WorkspaceOptions,
    format: Annotated[str, option("--format NAME", FORMAT_HELP)] = "jsonl",  # noqa: A002
    out: Annotated[str, option("-o --output FILE", "Output file, or - for standard output.")] = "-",
    force: ForceOption = False,
    where: WhereOption = "",
    queue: Annotated[
        str | None,
        option(
            "--queue NAME",
            "Export only the items of this queue, such as judged, uncertain or suspects.",
        ),
    ] = None,
    only: Annotated[
        str, option("--only KIND", "Labels to export: all, reviewed or adjudicated.")
    ] = "all",
    with_: Annotated[
        str | None,
        option(
            "--with content",
            "Also export the question, messages, functions and calls of each item.",
        ),
    ] = None,
    agreed: Annotated[
        int,
        option(
            "--agreed N", "For sft, preference and kto: number of annotators who must agree.", min=1
        ),
    ] = 1,
    trust_rule: Annotated[
        bool,
        option(
            "--trust-rule",
            "For sft, preference and kto: use automatic verdicts of unreviewed items.",
        ),
    ] = False,
    max_pairs: Annotated[
        int,
        option(
            "--max-pairs N", "For preference: maximum number of pairs for each question.", min=1
        ),
    ] = 4,
    exclude_benchmark_goldens: Annotated[
        bool,
        option(
            "--exclude-benchmark-goldens",
            "For sft, preference and kto: do not use golden calls.",
        ),
    ] = False,
    include_incidents: Annotated[
        bool,
        option(
            "--include-incidents",
            "For sft, preference and kto: also use items without an answer of the model.",
        ),
    ] = False,
    split: Annotated[
        str,
        option(
            "--split NAME=SHARE,...",
            "For training rows: give each row a split, such as train=0.9,test=0.1."
            " Questions that belong together are in one split.",
        ),
    ] = "",
    decontaminate: Annotated[
        list[Path] | None,
        option(
            "--decontaminate PATH",
            "For training rows: leave out items whose questions are in these JSON files"
            " of a benchmark. You can repeat the option.",
        ),
    ] = None,
    flavour: Annotated[
        str, option("--flavour NAME", "For training rows: row format, trl or openai.")
    ] = "trl",
    organization: Annotated[
        str, option("--organization NAME", "For eee: who ran the evaluation.")
    ] = "",
    developer: Annotated[
        str,
        option(
            "--developer NAME",
            "For eee: who made the models, if their names do not say it as in openai/gpt-4o.",
        ),
    ] = "",
    check: Annotated[
        bool, option("--check", "For inspect: verify the exported logs with inspect_ai.")
    ] = False,
) -> None:
    """Export labels, corrected runs or golden answers.

    A label is a row for one target (an item, a turn or a call), with the verdict of each source,
    the reviews of each annotator and the effective verdict. Other formats write corrected runs
    (native), corrected golden answers (golden-patch), conversations (generic, atif), training data
    (sft, preference, kto, rewards) or figures with intervals (eee). docs/export.md describes them.

    Example: fcreview export runs/gpt4o --format csv -o labels.csv --only reviewed
    """
    from fcreview.cli.wiring import add_run_scores, build_benchmark_services
    from fcreview.exporters import export as exports

    selection = _parse_label_selection(only, with_)
    if format in TRAINING_FORMATS:
        from fcreview.exporters.training_splits import parse_splits
        from fcreview.store.label_fields import FLAVOURS, TrainingOptions

        training = TrainingOptions(
            agreed=agreed,
            trust_rule=trust_rule,
            max_pairs=max_pairs,
            exclude_benchmark_goldens=exclude_benchmark_goldens,
            include_incidents=include_incidents,
            splits=parse_splits(split),
            decontaminate=tuple(decontaminate or ()),
            flavour=check_choice(FLAVOURS, flavour, "--flavour"),
        )
        selection = replace(selection, training=training)

    if format == "eee":
        from fcreview.store.label_fields import Publication

        selection = replace(selection, publication=Publication(organization, developer))
    elif organization or developer:
        raise UsageError("--organization and --developer need --format eee")
    if check and format != "inspect":
        raise UsageError("--check needs --format inspect")
    selects_items = bool(where or only != "all" or with_ or queue)
    if selects_items:
        _raise_if_format_writes_whole_runs(format)

    with open_workspace(options) as session:
        _check_queue_selects_items(queue)
        view = session.build_view(where, queue=queue or "dataset")
        services = add_run_scores(build_benchmark_services(options), session)
        with _create_progress(out) as progress:
            output = exports.ExportOutput(
                create_stdout_writer,
                on_progress=lambda noun, n: progress(f"{noun}s", n, 0),
                force=force,
            )
            counts = exports.export(session.store, format, out, view, output, selection, services)
        if not any(counts.values()):
            reason = _explain_empty_export(session, view, selection, format)
            print_message(f"nothing to export, because {reason}")

    if format == "native":
        _warn_of_missing_datasets(Path(out))
    if check:
        from fcreview.exporters.inspect_log import check_and_count_log_copies

        n_logs = check_and_count_log_copies(Path(out))
        print_message(f"inspect_ai accepts {format_count(n_logs, 'log')}")
    if out != exports.STANDARD_OUTPUT:
        written = " and ".join(format_count(number, noun) for noun, number in counts.items())
        print_message(f"wrote {written} to {out}")


def _create_progress(out: str) -> Progress:
    """Create the progress line of an export, which stays silent if labels go to the terminal."""
    from fcreview.exporters.export import STANDARD_OUTPUT

    return Progress("exporting", "{:,}".format, quiet=out == STANDARD_OUTPUT)


def _raise_if_format_writes_whole_runs(format_name: str) -> None:
    """Raise UsageError for options that select items, if the format cannot omit items."""
    if format_name in EXPORTERS and EXPORTERS[format_name].writes_runs:
        raise UsageError(
            f"--format {format_name} writes whole runs. Omit --where, --queue, --only and --with"
        )


def _check_queue_selects_items(queue: str | None) -> None:
    """Raise UsageError for a built-in queue that orders all items, because it selects none."""
    from fcreview.store.rows import BUILTIN_QUEUES, PARTIAL_QUEUES

    if queue in BUILTIN_QUEUES and queue not in PARTIAL_QUEUES:
        raise UsageError(
            f"--queue {queue} only orders items. Choose a queue file, {' or '.join(PARTIAL_QUEUES)}"
        )


def _parse_label_selection(only: str, with_option: str | None) -> LabelSelection:
    """Return which labels an export contains, and whether it contains the texts of the items
    too.
    """
    from fcreview.store.label_fields import LABEL_SUBSETS, LabelSelection

    if with_option not in (None, "content"):
        raise UsageError(f"--with {with_option} is invalid. Use --with content")
    return LabelSelection(check_choice(LABEL_SUBSETS, only, "--only"), with_option is not None)


def _warn_of_missing_datasets(exported_runs: Path) -> None:
    """Warn if exported runs cannot be opened without the option --data."""
    discovered = discover_runs(WorkspaceOptions([exported_runs]), load_config())
    for plan in discovered.plans:
        if plan.run.needs_dataset and not plan.data:
            name = f"{plan.run.full_title}, {plan.run.model}"
            print_message(f"The export of {name} has no dataset. Pass --data DIR when you open it")


def _explain_empty_export(
    session: WorkspaceSession, view: View, selection: LabelSelection, format_name: str
) -> str:
    """Return why an export has no rows, as the end of a sentence with `because`.

    Example: `none of 640 items has a review with the verdict pass`.
    """
    n_items = session.store.count_items(view)
    if not n_items:
        return session.explain_empty_view(view)

    if format_name == "preference":
        condition = "has a right and a wrong reply to the same messages"
    elif format_name in TRAINING_FORMATS:
        condition = "has a review with the verdict pass"
    elif selection.subset != "all":
        condition = f"is {selection.subset}"
    else:
        condition = "has a verdict"
    return f"none of {format_count(n_items, 'item')} {condition}"
