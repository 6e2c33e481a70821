"""`fcreview export`: write labels, corrected runs or golden answer patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
from fcreview.exporters.base import (
    EXPORTERS,
    FORMATS,
    ITEM_OPTIONS,
    find_formats_with_option,
    name_formats_with_option,
)
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.store.label_fields import LabelSelection
    from fcreview.store.rows import View

NAME_WIDTH = max(len(each.name) for each in FORMATS)
TRAINING_FORMATS = find_formats_with_option("flavour")
"""Formats that export training rows instead of labels."""
FORMAT_HELP = "\n".join(
    [KEEP_LINE_BREAKS, *(f"{each.name:<{NAME_WIDTH}}  {each.help}" for each in FORMATS), ""]
)


def _format_option(declaration: str, help_: str, **settings: Any) -> Any:
    """Create an option that only some formats have. Its help begins with their names."""
    flag, *_ = declaration.split()
    formats = name_formats_with_option(flag.lstrip("-"))
    return option(declaration, f"For {formats}: {help_}", **settings)


@workspace_command("annotator", "policy", "show_judge")
def export(
    options: WorkspaceOptions,
    context: typer.Context,
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
        str, _format_option("--only KIND", "labels to export: all, reviewed or adjudicated.")
    ] = "all",
    with_: Annotated[
        str | None,
        _format_option(
            "--with content",
            "also export the question, messages, functions and calls of each item.",
        ),
    ] = None,
    agreed: Annotated[
        int,
        _format_option("--agreed N", "number of annotators who must agree.", min=1),
    ] = 1,
    trust_rule: Annotated[
        bool,
        _format_option("--trust-rule", "use automatic verdicts of unreviewed items."),
    ] = False,
    max_pairs: Annotated[
        int,
        _format_option("--max-pairs N", "maximum number of pairs for each question.", min=1),
    ] = 4,
    exclude_benchmark_goldens: Annotated[
        bool,
        _format_option("--exclude-benchmark-goldens", "do not use golden calls."),
    ] = False,
    include_incidents: Annotated[
        bool,
        _format_option("--include-incidents", "also use items without an answer of the model."),
    ] = False,
    split: Annotated[
        str,
        _format_option(
            "--split NAME=SHARE,...",
            "give each row a split, such as train=0.9,test=0.1."
            " Questions that belong together are in one split.",
        ),
    ] = "",
    decontaminate: Annotated[
        list[Path] | None,
        _format_option(
            "--decontaminate PATH",
            "leave out items whose questions are in these JSON files"
            " of a benchmark. You can repeat the option.",
        ),
    ] = None,
    flavour: Annotated[str, _format_option("--flavour NAME", "row format, trl or openai.")] = "trl",
    organization: Annotated[
        str, _format_option("--organization NAME", "who ran the evaluation.")
    ] = "",
    developer: Annotated[
        str,
        _format_option(
            "--developer NAME",
            "who made the models, if their names do not say it as in openai/gpt-4o.",
        ),
    ] = "",
    check: Annotated[
        bool, _format_option("--check", "verify the exported logs with inspect_ai.")
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

    _raise_if_format_lacks_options(format, _list_given_options(context))
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
        _check_log_copies(Path(out))
    if out != exports.STANDARD_OUTPUT:
        written = " and ".join(format_count(number, noun) for noun, number in counts.items())
        print_message(f"wrote {written} to {out}")


def _create_progress(out: str) -> Progress:
    """Create the progress line of an export, which stays silent if labels go to the terminal."""
    from fcreview.exporters.export import STANDARD_OUTPUT

    return Progress("exporting", "{:,}".format, quiet=out == STANDARD_OUTPUT)


def _list_given_options(context: typer.Context) -> list[str]:
    """List the names of the options on the command line, such as `max-pairs`."""
    names = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        is_given = source is not None and source.name == "COMMANDLINE"
        if is_given and parameter.param_type_name == "option":
            longest_form = max(parameter.opts, key=len)
            names.append(longest_form.lstrip("-"))
    return names


def _raise_if_format_lacks_options(format_name: str, given_options: Sequence[str]) -> None:
    """Raise UsageError for an option that the format does not have.

    An unknown format is not an error here, because the export refuses it.
    """
    if format_name not in EXPORTERS:
        return
    for name in given_options:
        if format_name in find_formats_with_option(name):
            continue
        if name in ITEM_OPTIONS:
            raise UsageError(f"--format {format_name} writes whole runs. Omit --{name}")
        formats = name_formats_with_option(name, "or")
        raise UsageError(f"--{name} needs --format {formats}")


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


def _check_log_copies(folder: Path) -> None:
    """Read the exported logs with inspect_ai. Raises ExportError if it reads other results."""
    from fcreview.exporters.inspect_log import check_and_count_log_copies

    n_logs = check_and_count_log_copies(folder)
    print_message(f"inspect_ai accepts {format_count(n_logs, 'log')}")


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
