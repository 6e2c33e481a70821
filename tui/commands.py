"""Run commands, reports and exports of the command line from a screen, and define the forms for
their options.

In a browser, the app offers files as downloads instead of writing them on the server. The module
does not import Textual.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from fcreview.errors import FcreviewError
from fcreview.model.wording import format_count
from fcreview.store.workspace import expand_home

if TYPE_CHECKING:
    from textual.app import App

    from fcreview.exporters.base import BenchmarkServices
    from fcreview.stats.conventions import RunConventions
    from fcreview.stats.estimation import MetricEstimate
    from fcreview.stats.ranking import NamedRanking
    from fcreview.store.rows import RunRow, View
    from fcreview.store.store import Store
    from fcreview.tables.runs import OwnScores
    from fcreview.tui.figure_scope import FigureScope

FIELD_TITLES = {
    "output": "write to",
    "html": "write to",
    "where": "only items where",
    "only": "labels",
    "with": "also write",
    "force": "replace a file",
    "agreed": "annotators who agree",
    "max-pairs": "pairs a question",
    "trust-rule": "use unreviewed items",
    "exclude-benchmark-goldens": "without golden calls",
    "flavour": "row format",
    "check": "verify with inspect_ai",
    "half-width": "interval, ± points",
    "size": "items",
    "seed": "random seed",
}
"""Field -> title in plain words, where the words of the option are not plain."""
YES, NO = "yes", "no"
"""Choices of a form field for a flag (an option without an argument)."""


@dataclass(frozen=True, slots=True)
class FormField:
    """Option or argument of a command."""

    name: str
    flag: str = ""
    """Option such as `--size`. Empty for an argument."""
    default: str = ""
    help: str = ""
    is_switch: bool = False
    """Whether the option takes no value. The user then enters `yes` or `no`."""
    is_path: bool = False
    choices: Mapping[str, str] = field(default_factory=dict)
    """Text that the user enters -> value of the option.

    A text that is not a key is used as the value.
    """
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """Value of the option -> what it means. Empty if the option takes any value."""
    command_default: str = ""
    """Value that the command uses without this option. The command line then omits the option."""
    formats: frozenset[str] | None = None
    """Formats of an export that have the option. None if the form always shows the field."""

    @property
    def title(self) -> str:
        """Name of the field in plain words."""
        return FIELD_TITLES.get(self.name, self.name.replace("-", " "))

    def is_shown_for(self, format_name: str) -> bool:
        """Whether the form shows the field if the user has chosen this format of an export."""
        return self.formats is None or format_name in self.formats

    @property
    def listed_choices(self) -> Mapping[str, str]:
        """Value -> description of each value that the user can step through."""
        if self.is_switch:
            return {NO: "", YES: self.help}
        return self.descriptions

    @property
    def help_with_choices(self) -> str:
        """The help on the field, with the names that it accepts, or `(yes or no)`."""
        if self.descriptions:
            return self.help
        if self.choices:
            names = ", ".join(self.choices)
            return (
                f"{self.name}: {names}. Right arrow completes a name. Leave empty for all"
                f" {self.name}s"
            )
        if self.is_switch:
            return f"{self.help} (yes or no)"
        return self.help


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Result of a command: its output and messages as one text."""

    text: str
    is_successful: bool


@dataclass(frozen=True, slots=True)
class CommandService:
    """Functions that run commands on the open workspace, because screens must not import `cli`."""

    describe: Callable[[str], Sequence[FormField]]
    """Returns the options and arguments of a command such as `queue create`, without options that
    select the workspace.
    """
    run: Callable[..., Awaitable[CommandResult]]
    """Runs a command such as `queue create` with options and arguments. The third argument, which
    may be omitted, receives the progress as text.
    """
    format_line: Callable[[str, Sequence[str]], str] = lambda command, _: f"fcreview {command}"
    """Formats the line for a shell that runs a command with options and arguments."""


@dataclass(frozen=True, slots=True)
class CommandForm:
    """Form of a command. The command palette has one entry for each form."""

    command: str
    label: str
    help: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Initial values by field name. They replace the command's defaults."""
    download: str = ""
    """Name of the field with the path of the command's only output file.

    In a browser, the file becomes a download.
    """
    is_read_only: bool = False
    """Whether the command writes nothing."""

    @property
    def is_available_in_browser(self) -> bool:
        return self.is_read_only or bool(self.download)


_FORMS = (
    CommandForm(
        "queue create",
        label="draw a sample",
        help="create and assign a review queue",
        defaults={"name": "sample", "size": "50", "blind": YES},
    ),
    CommandForm(
        "queue extend",
        label="extend a sample",
        help="draw more items to narrow the confidence interval",
    ),
    CommandForm(
        "queue list",
        label="list queues",
        help="show queues and the progress of each annotator",
        is_read_only=True,
    ),
    CommandForm(
        "queue show",
        label="show a queue",
        help="show the sampling and progress of a queue",
        is_read_only=True,
    ),
    CommandForm(
        "estimate",
        label="estimate every metric",
        help="estimate the accuracy with 95 % confidence intervals",
        is_read_only=True,
    ),
    CommandForm(
        "report",
        label="HTML report",
        help="write the full report as one HTML file",
        defaults={"html": "report.html"},
        download="html",
    ),
    CommandForm(
        "export",
        label="export with options",
        help="export labels, corrected runs or patches",
        defaults={"output": "labels.jsonl"},
        download="output",
    ),
    CommandForm(
        "suspects",
        label="list suspects",
        help="show golden answers that look wrong, with evidence",
        is_read_only=True,
    ),
    CommandForm(
        "audit", label="audit", help="show the review history of an item", is_read_only=True
    ),
    CommandForm("import", label="import", help="import new and changed results"),
    CommandForm("import-labels", label="import labels", help="import exported labels as reviews"),
    CommandForm("merge", label="merge", help="merge another workspace"),
    CommandForm(
        "errata create",
        label="create errata",
        help="write reviewed golden answers to an errata file",
    ),
    CommandForm("errata check", label="check errata", help="check an errata file"),
    CommandForm(
        "errata issue", label="write errata issue", help="write an issue text for the benchmark"
    ),
    CommandForm(
        "errata patch",
        label="write pull request",
        help="write corrected golden answers as a pull request to the benchmark",
    ),
    CommandForm(
        "errata rescore",
        label="rescore later runs",
        help="apply accepted golden answers to runs that were imported later",
    ),
    CommandForm(
        "rules list",
        label="list rules",
        help="show the accepted equivalence rules",
        is_read_only=True,
    ),
    CommandForm(
        "rules preview",
        label="preview a rule",
        help="show the verdicts that an equivalence rule would change",
    ),
    CommandForm("rules add", label="add a rule", help="accept an equivalence rule"),
    CommandForm("rules remove", label="remove a rule", help="remove an accepted equivalence rule"),
    CommandForm("doctor", label="doctor", help="check the setup"),
)
FORMS = {form.command: form for form in _FORMS}
"""Maps a command to its form. A command with a screen of its own has no form."""


def add_run_name_choices(
    fields: Sequence[FormField], names_by_number: Mapping[int, str]
) -> list[FormField]:
    """Let the field `run` of a command's form show the names of runs. The command itself needs
    numbers.

    `names_by_number`: name of each run by number.
    """
    # The values of a form are texts, also the numbers.
    name_by_value = {str(number): name for number, name in names_by_number.items()}
    value_by_name = {name: value for value, name in name_by_value.items()}

    changed_fields = []
    for field_ in fields:
        if field_.name == "run":
            default = name_by_value.get(field_.default, field_.default)
            changed_fields.append(replace(field_, choices=value_by_name, default=default))
        else:
            changed_fields.append(field_)
    return changed_fields


def build_command_arguments(fields: Sequence[FormField], values: Sequence[str]) -> list[str]:
    """Return the command line of a filled-in form: the options, then `--` and the arguments.

    Fields with an empty value are omitted.
    """
    options: list[str] = []
    arguments: list[str] = []
    for field_, text in zip(fields, values, strict=True):
        value = _read_field_value(field_, text.strip())
        if field_.is_switch:
            if value.lower() in (YES, "y"):
                options.append(field_.flag)
        elif not value or (field_.flag and value == field_.command_default):
            continue
        elif field_.flag:
            options.append(_format_option(field_.flag, value))
        else:
            arguments.append(value)
    # After `--`, an argument that begins with a dash is no option.
    return [*options, "--", *arguments]


def _read_field_value(field_: FormField, text: str) -> str:
    """Return the value of an option or argument for the text that the user entered."""
    if field_.is_path:
        return os.path.expanduser(text)  # noqa: PTH111 - `~x` may name no user
    return field_.choices.get(text, text)


def _format_option(flag: str, value: str) -> str:
    """Return an option with its value as one argument: `--size=50`, or `-n50` for a short flag."""
    if flag.startswith("--"):
        return f"{flag}={value}"
    return f"{flag}{value}"


@dataclass(frozen=True, slots=True)
class ReportServices:
    """Functions that the command line passes to the screens, because screens must not import
    importers.
    """

    format_report: Callable[[Store, Sequence[int], Callable[[], bool]], str]
    """Formats the report of the runs with these numbers. Without numbers, it covers all runs.

    The last argument is a function that returns True to cancel. A cancelled report contains the
    tables made so far. Raises: StoreError in blind mode.
    """
    open_benchmarks: Callable[[Callable[[str], None]], BenchmarkServices]
    """Returns the functions that write benchmark files.

    The argument receives a warning for each omitted value.
    """
    commands: CommandService | None = None
    """None disables the forms of the palette."""
    compute_own_scores: Callable[[Store, Sequence[RunRow]], OwnScores] | None = None
    """Computes the value of the benchmark's own metric of runs, by run number. A run without such a
    metric has the value None.
    """
    name_own_metrics: Callable[[Sequence[RunRow]], set[str]] = lambda _: set()
    """Returns the titles of the own metrics that the benchmarks of runs have."""
    estimate_own_metric: Callable[[RunRow], Awaitable[MetricEstimate | None]] | None = None
    """Estimates the benchmark's own metric of a run from its sample, in a process of its own. The
    result is None if there is no estimate.
    """
    compare_conventions: Callable[[Store, Sequence[int]], list[RunConventions]] | None = None
    """Computes figures of the runs with these numbers (of all runs without numbers), such as
    pass^k, by the conventions of each official program.
    """
    rank_runs: Callable[[Store, Sequence[RunRow]], list[NamedRanking]] | None = None
    """Ranks runs of one benchmark by different verdicts and conventions. Raises UsageError for less
    than two runs, for runs of several benchmarks, and for a run without automatic verdicts.
    """


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Export of the items of a scope to a file or folder."""

    format: str
    path: str
    scope: FigureScope


def path_exists(path: str) -> bool:
    """Whether a file or folder with this path exists. A leading `~` is the home folder."""
    return bool(path) and os.path.exists(expand_home(Path(path)))  # noqa: PTH110 - Path.exists raises for a long name


def export_and_summarize(
    store: Store, request: ExportRequest, services: ReportServices | None
) -> str:
    """Export the items of a scope, and return a summary: `640 labels (all items) in labels.csv`.

    An existing file is replaced, because the palette asked for confirmation. Raises FcreviewError
    if nothing was written.
    """
    from fcreview.exporters.base import EXPORTERS, ExportError
    from fcreview.exporters.export import STANDARD_OUTPUT, ExportOutput, export

    if request.path == STANDARD_OUTPUT:
        raise FcreviewError("cannot export to the terminal: enter a file name")

    scope = request.scope
    extent = scope.part or "all items"
    # Such a format, for example a benchmark's own, cannot hold a part of a run.
    if EXPORTERS[request.format].writes_runs:
        scope = scope.without_limit
        extent = "whole runs"

    warnings: list[str] = []
    benchmarks = services.open_benchmarks(warnings.append) if services is not None else None
    path = expand_home(Path(request.path))
    try:
        counts = export(
            store,
            request.format,
            path,
            scope.view,
            output=ExportOutput(force=True),
            benchmarks=benchmarks,
        )
    except ExportError as error:
        # The line may be cut, so the reason comes first.
        reason = str(error).removeprefix(f"{path}: ")
        raise FcreviewError(f"export failed: {reason}: {path}") from error

    content = " and ".join(format_count(number, noun) for noun, number in counts.items())
    summary = f"{content or 'nothing'} ({extent}) in {request.path}"
    return summary + _summarize_warnings(warnings)


def _summarize_warnings(warnings: Sequence[str]) -> str:
    """Return `; FIRST WARNING (3 warnings in total)`. Empty if there are no warnings."""
    if not warnings:
        return ""
    first_warning, *others = warnings
    if not others:
        return f"; {first_warning}"
    return f"; {first_warning} ({len(warnings)} warnings in total)"


OUTPUT_NAMES = {
    "jsonl": "labels.jsonl",
    "csv": "labels.csv",
    "parquet": "labels.parquet",
    "labelstudio": "labels.json",
}
"""Export format -> file that the form proposes, for formats with labels."""


def propose_output_name(format_name: str) -> str:
    """Return the file or folder that the form of an export proposes, or an empty text for an
    unknown format.
    """
    from fcreview.exporters.base import EXPORTERS

    export_format = EXPORTERS.get(format_name)
    if export_format is None:
        return ""
    if export_format.content == "folder":
        return format_name
    return OUTPUT_NAMES.get(format_name, f"{format_name}.jsonl")


def describe_exported_labels(store: Store, values: Mapping[str, str], view: View) -> str:
    """Return `writes 1,234 labels` for the values of the export form, or an empty text for a format
    without labels. Raises FilterError for an invalid filter.
    """
    from fcreview.exporters.base import EXPORTERS, find_formats_with_option
    from fcreview.store.label_fields import LABEL_SUBSETS, LabelSelection

    format_name = values.get("format", "")
    if format_name not in EXPORTERS:
        return f"{format_name or 'no format'} is not a format"
    if format_name not in find_formats_with_option("only"):
        return ""
    subset = values.get("only", "") or "all"
    if subset not in LABEL_SUBSETS:
        return f"labels are {', '.join(LABEL_SUBSETS)}"

    batches = store.iter_label_batches(view, LabelSelection(subset))
    n_labels = sum(len(batch) for batch in batches)
    return f"writes {format_count(n_labels, 'label')}"


def make_download_name(typed_path: str) -> str:
    """Return the name of a download: the last part of a path that the user typed."""
    name = Path(typed_path.strip()).name
    return name if name.strip("-. ") else "download"


def deliver_download(app: App[Any], path: Path) -> None:
    """Offer a file, or a folder as a ZIP file, to the browser.

    The caller may delete `path` afterwards.
    """
    if path.is_dir():
        path = Path(shutil.make_archive(str(path), "zip", path))
    app.deliver_binary(path, save_filename=path.name)


async def run_and_deliver_download(
    app: App[Any],
    commands: CommandService,
    form: CommandForm,
    arguments: Sequence[str],
    on_progress: Callable[[str], object] = lambda _: None,
) -> CommandResult:
    """Run the command of a form, and send its output file to the browser.

    The command writes to a temporary folder, because the user has no access to the server's files.
    """
    with TemporaryDirectory(prefix="fcreview-") as folder:
        redirected = _redirect_output(form, arguments, Path(folder))
        result = await commands.run(form.command, redirected.arguments, on_progress)
        if result.is_successful:
            for output_path in redirected.output_paths:
                if output_path.exists():
                    deliver_download(app, output_path)
    return replace(result, text=result.text.replace(f"{folder}/", ""))


class _RedirectedCommand(NamedTuple):
    """Arguments of a command that writes to a temporary folder."""

    arguments: list[str]
    output_paths: list[Path]
    """Files that the command writes."""


def _redirect_output(
    form: CommandForm, arguments: Sequence[str], folder: Path
) -> _RedirectedCommand:
    """Return the arguments of a command, with a file in `folder` as its output.

    The file has the name that the user typed. Arguments without an output file stay the same.
    """
    redirected = _RedirectedCommand([], output_paths=[])
    output_flag = f"--{form.download}="
    for argument in arguments:
        # Not every command has an option that names an output file.
        names_output = form.download and argument.startswith(output_flag)
        if not names_output:
            redirected.arguments.append(argument)
            continue
        output_path = folder / make_download_name(argument.removeprefix(output_flag))
        redirected.output_paths.append(output_path)
        redirected.arguments.append(f"{output_flag}{output_path}")
    return redirected
