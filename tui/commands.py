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
from typing import TYPE_CHECKING, Any

from fcreview.errors import FcreviewError
from fcreview.model.wording import format_count
from fcreview.store.workspace import expand_home

if TYPE_CHECKING:
    from textual.app import App

    from fcreview.exporters.base import BenchmarkServices
    from fcreview.stats.conventions import RunConventions
    from fcreview.store.rows import View
    from fcreview.store.store import Store


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

    @property
    def help_with_choices(self) -> str:
        if self.choices:
            names = ", ".join(self.choices)
            return (
                f"{self.name}: {names}. Right arrow completes a name. Leave empty for all"
                f" {self.name}s"
            )
        return self.help + (" (yes or no)" if self.is_switch else "")


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
    run: Callable[[str, Sequence[str]], Awaitable[CommandResult]]
    """Runs a command such as `queue create` with options and arguments."""


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
        defaults={"name": "sample", "size": "50"},
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
    """Let the field `run` accept and show names instead of numbers.

    `names_by_number`: name of each run by number.
    """
    choices = {name: str(number) for number, name in names_by_number.items()}
    shown = {number: name for name, number in choices.items()}
    return [
        replace(each, choices=choices, default=shown.get(each.default, each.default))
        if each.name == "run"
        else each
        for each in fields
    ]


def build_command_arguments(fields: Sequence[FormField], values: Sequence[str]) -> list[str]:
    """Return the command's options, then `--` and its arguments.

    Fields with an empty value are omitted.
    """
    options, arguments = [], ["--"]
    for each, text in zip(fields, map(str.strip, values), strict=True):
        value = os.path.expanduser(text) if each.is_path else each.choices.get(text, text)  # noqa: PTH111 - `~x` may name no user
        if each.is_switch:
            options += [each.flag] if value.lower() in (YES, "y") else []
        elif value and each.flag:
            options.append(
                f"{each.flag}={value}" if each.flag.startswith("--") else f"{each.flag}{value}"
            )
        elif value:
            arguments.append(value)
    return [*options, *arguments]


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
    compare_conventions: Callable[[Store, Sequence[int]], list[RunConventions]] | None = None
    """Computes figures of the runs with these numbers (of all runs without numbers), such as
    pass^k, by the conventions of each official program.
    """


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Export of the items of a view to a file or folder."""

    format: str
    path: str
    view: View


def path_exists(path: str) -> bool:
    """Whether a file or folder with this path exists. A leading `~` is the home folder."""
    return bool(path) and os.path.exists(expand_home(Path(path)))  # noqa: PTH110 - Path.exists raises for a long name


def export_and_summarize(
    store: Store, request: ExportRequest, services: ReportServices | None
) -> str:
    """Export the items of a view and return a one-line summary. An existing file is replaced,
    because the palette asked for confirmation. Raises FcreviewError if nothing was written.
    """
    from fcreview.exporters.base import EXPORTERS, ExportError
    from fcreview.exporters.export import STANDARD_OUTPUT, ExportOutput, export

    if request.path == STANDARD_OUTPUT:
        raise FcreviewError("cannot export to the terminal: enter a file name")
    warnings: list[str] = []
    benchmarks = services.open_benchmarks(warnings.append) if services is not None else None
    has_whole_runs = EXPORTERS[request.format].writes_runs
    view = (
        replace(request.view, where="", queue="dataset", share=False)
        if has_whole_runs
        else request.view
    )
    path = expand_home(Path(request.path))
    try:
        counts = export(
            store,
            request.format,
            path,
            view,
            output=ExportOutput(force=True),
            benchmarks=benchmarks,
        )
    except ExportError as error:  # The line may be cut, so the reason comes first.
        raise FcreviewError(
            f"export failed: {str(error).removeprefix(f'{path}: ')}: {path}"
        ) from error
    summary = (
        " and ".join(format_count(number, noun) for noun, number in counts.items()) or "nothing"
    )
    summary += f" ({'whole runs' if has_whole_runs else 'items in the list'}) in {request.path}"
    if warnings:
        summary += f"; {warnings[0]}" + (
            f" ({len(warnings)} warnings in total)" if len(warnings) > 1 else ""
        )
    return summary


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
    app: App[Any], commands: CommandService, form: CommandForm, arguments: Sequence[str]
) -> CommandResult:
    """Run a form's command, and offer its output file as a download."""
    flag = f"--{form.download}="
    with TemporaryDirectory(prefix="fcreview-") as folder:
        paths = {
            each: Path(folder) / make_download_name(each.removeprefix(flag))
            for each in arguments
            if form.download and each.startswith(flag)
        }
        result = await commands.run(
            form.command, [f"{flag}{paths[each]}" if each in paths else each for each in arguments]
        )
        for path in paths.values():
            if result.is_successful and path.exists():
                deliver_download(app, path)
    return replace(result, text=result.text.replace(f"{folder}/", ""))
