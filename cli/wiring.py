"""Pass functions of importers and commands to exporters and screens, which must not import these
packages.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fcreview.cli.config import load_config
from fcreview.cli.options import IMPORT_OPTIONS, WorkspaceOptions
from fcreview.cli.output import (
    PAGER_WIDTH_VARIABLE,
    PROGRESS_LINES_VARIABLE,
    PROGRESS_MARK,
    print_message,
)
from fcreview.cli.workspace_import import RunId, discover_runs
from fcreview.errors import CommandError

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.exporters.base import BenchmarkServices, RunScores
    from fcreview.model.golden_fix import RescoredVerdict
    from fcreview.model.item import Call, Item, Run
    from fcreview.run_plan import RunPlan
    from fcreview.stats.conventions import RunConventions
    from fcreview.stats.estimation import MetricEstimate
    from fcreview.stats.ranking import NamedRanking
    from fcreview.store.rows import RunRow
    from fcreview.store.store import Store
    from fcreview.tables.runs import OwnScores
    from fcreview.tui.commands import CommandResult, CommandService, FormField, ReportServices
    from fcreview.tui.session import GoldenSupport

PATH = "path"  # name of the parameter with the paths of the runs
WORKSPACE_PARAMETERS = (
    PATH,
    "annotator",
    "data",
    "workspace",
    "errata",
    *IMPORT_OPTIONS,
    "as_json",
    "help",
)
"""Parameters that the form of a command omits."""
FILE_METAVARS = ("FILE", "DIR", "OTHER", "PATH")
MAX_OUTPUT = 4_000_000  # limit of a command's output that the app shows, in bytes


def build_benchmark_services(options: WorkspaceOptions) -> BenchmarkServices:
    """Create the functions with which exporters find and rewrite the files of runs.

    Exporters must not import importers, so they get functions. The first call of one of them
    searches for the runs, which takes time.
    """
    from fcreview.exporters.base import BenchmarkServices
    from fcreview.importers import registry

    @cache
    def find_plans() -> dict[RunId, RunPlan]:
        return {
            _make_run_id(plan.run): plan for plan in discover_runs(options, load_config()).plans
        }

    def find_plan(run: Run) -> RunPlan:
        """Return the import plan of a run. Raises CommandError if its files are missing."""
        plan = find_plans().get(_make_run_id(run))
        if plan is None:
            raise CommandError(
                f"{run.path} has no result files of {run.full_title}, {run.model}. Restore the"
                " files or run"
                " fcreview import"
            )
        return plan

    return BenchmarkServices(
        find_plan,
        rewrite_scores=registry.rewrite_scores,
        find_summary_files=registry.find_summary_files,
        explain_golden_fix_rejection=registry.explain_golden_fix_rejection,
        rewrite_golden=registry.rewrite_golden,
        print_message=print_message,
        write_reviewed_logs=registry.write_reviewed_logs,
        parse_golden_fix=registry.parse_golden_fix,
        rescore=registry.rescore,
        execute_golden=registry.execute_golden,
    )


def add_run_scores(services: BenchmarkServices, session: WorkspaceSession) -> BenchmarkServices:
    """Return the services with a further function, which computes the metrics of the session's
    runs.
    """

    def score_runs(store: Store) -> dict[int, RunScores]:
        from fcreview.cli.report_data import compute_run_scores

        return compute_run_scores(replace(session, _store=store, _runs=[]))

    return replace(services, score_runs=score_runs)


def _make_run_id(run: Run) -> RunId:
    return run.benchmark, run.generation, run.language, run.model, os.path.realpath(run.path)


def build_golden_services() -> GoldenSupport:
    """Create the functions with which screens check and recompute corrected golden answers.

    Screens must not import importers, so they get functions. Importers are imported by the first
    call of one of them, because importing them now would delay the start.
    """
    from fcreview.tui.session import GoldenSupport

    return GoldenSupport(
        _make_golden_template,
        find_problem=_check_golden_fix,
        is_unchanged=_is_unchanged_golden_fix,
        rescore=_rescore,
        rescores=_rescores_golden_fixes,
        needs_execution=_needs_execution,
        make_from_prediction=_make_fix_from_prediction,
        compare=_compare_with_golden_fix,
        parse=_parse_golden_fix,
        explain_rejection=_explain_golden_fix_rejection,
    )


def _make_golden_template(run: Run, item: Item) -> dict[str, Any] | None:
    from fcreview.importers.registry import make_golden_template

    return make_golden_template(run, item)


def _check_golden_fix(run: Run, item: Item, fix: dict[str, Any]) -> str | None:
    from fcreview.importers.registry import check_golden_fix

    return check_golden_fix(run, item, fix)


def _is_unchanged_golden_fix(run: Run, item: Item, fix: dict[str, Any]) -> bool:
    from fcreview.importers.registry import is_unchanged_golden_fix

    return is_unchanged_golden_fix(run, item, fix)


def _rescore(run: Run, item: Item, fix: dict[str, Any], record: Any) -> RescoredVerdict:
    from fcreview.importers.registry import rescore

    return rescore(run, item, fix, record)


def _rescores_golden_fixes(run: Run) -> bool:
    from fcreview.importers.registry import rescores_golden_fixes

    return rescores_golden_fixes(run)


def _make_fix_from_prediction(run: Run, item: Item) -> dict[str, Any] | None:
    from fcreview.importers.registry import make_fix_from_prediction

    return make_fix_from_prediction(run, item)


def _compare_with_golden_fix(run: Run, item: Item, fix: dict[str, Any]) -> Item | None:
    from fcreview.importers.registry import compare_with_golden_fix

    return compare_with_golden_fix(run, item, fix)


def _parse_golden_fix(run: Run, item: Item, fix: dict[str, Any]) -> list[Call]:
    from fcreview.importers.registry import parse_golden_fix

    return parse_golden_fix(run, item, fix)


def _explain_golden_fix_rejection(run: Run, item: Item, fix: dict[str, Any]) -> str | None:
    from fcreview.importers.registry import explain_golden_fix_rejection

    return explain_golden_fix_rejection(run, item, fix)


def _needs_execution(benchmark: str, category: str) -> bool:
    from fcreview.importers import registry

    return registry.needs_execution(benchmark, category)


def build_report_services(session: WorkspaceSession) -> ReportServices:
    """Create the functions with which the app builds reports and exports, and runs commands.

    The app gets them as values, because it does not import the modules of the commands.
    """
    from fcreview.tui.commands import ReportServices

    def build_report(store: Store, runs: Sequence[int], is_stopped: Callable[[], bool]) -> str:
        from fcreview.cli.report_data import build_report_text

        app_session = replace(session, scope=tuple(runs), _store=store, _runs=[])
        return build_report_text(app_session, is_stopped, _get_pager_width())

    def build_services(print_text: Callable[[str], None]) -> BenchmarkServices:
        options = _get_session_options(session)
        services = add_run_scores(build_benchmark_services(options), session)
        return replace(services, print_message=print_text)

    return ReportServices(
        build_report,
        compute_own_scores=_compute_own_scores,
        open_benchmarks=build_services,
        commands=build_command_service(session),
        name_own_metrics=_name_own_metrics,
        estimate_own_metric=partial(_estimate_own_metric, session),
        compare_conventions=_compare_conventions,
        rank_runs=_rank_runs,
    )


def _compute_own_scores(store: Store, runs: Sequence[RunRow]) -> OwnScores:
    from fcreview.cli.report_data import compute_own_scores

    return compute_own_scores(store.analysis, runs)


def _compare_conventions(store: Store, runs: Sequence[int]) -> list[RunConventions]:
    """Compare the ways to count in the runs with these numbers. No numbers stand for all runs."""
    from fcreview.cli.report_data import compute_run_conventions

    selected = [row for row in store.fetch_runs() if not runs or row.run in runs]
    return [compute_run_conventions(store.analysis, row) for row in selected]


def _rank_runs(store: Store, runs: Sequence[RunRow]) -> list[NamedRanking]:
    from fcreview.cli.run_ranking import choose_ranked_sources, compute_rankings

    return compute_rankings(store.analysis, choose_ranked_sources(runs))


def _name_own_metrics(runs: Sequence[RunRow]) -> set[str]:
    """Return the titles of the first own metrics of the benchmarks of runs."""
    from fcreview.importers.registry import importer_for

    titles = set()
    for run in runs:
        own_metrics = importer_for(run.info).own_metrics
        if own_metrics:
            titles.add(own_metrics[0].title)
    return titles


async def _estimate_own_metric(session: WorkspaceSession, row: RunRow) -> MetricEstimate | None:
    """Estimate the benchmark's own metric in a process of its own, because it takes seconds."""
    arguments = ["--own", f"--run={row.run}", "--json", "--"]
    result = await _run_python(
        build_python_arguments(session, "estimate", arguments), on_progress=lambda _: None
    )
    # Messages can stand before the only line of JSON.
    lines = [line for line in result.text.splitlines() if line.startswith("{")]
    if not result.is_successful or not lines:
        return None
    return _parse_metric_estimate(json.loads(lines[-1]))


def _parse_metric_estimate(fields: dict[str, Any]) -> MetricEstimate:
    """Return an estimate from the JSON object of `fcreview estimate`."""
    from fcreview.stats.estimation import MetricEstimate

    names = (
        "table",
        "level",
        "name",
        "unit",
        "digits",
        "automatic",
        "corrected",
        "estimated",
        "low",
        "high",
        "n_random",
        "n_known",
        "method",
        "needed",
    )

    bounds = None
    if fields["bounds_low"] is not None:
        bounds = (fields["bounds_low"], fields["bounds_high"])

    return MetricEstimate(
        **{name: fields[name] for name in names},
        bounds=bounds,
        is_bounds_headline=fields["headline"] == "bounds",
    )


def _get_pager_width() -> int:
    """Return the width of text in the app's pager, in terminal columns.

    The scroll bar takes one column.
    """
    return shutil.get_terminal_size().columns - 1


def build_command_service(session: WorkspaceSession) -> CommandService:
    """Create the functions with which the command palette runs commands on the session's
    workspace.
    """
    from fcreview.tui.commands import CommandService

    async def run_command(
        command: str, arguments: Sequence[str], on_progress: Callable[[str], object] = _ignore
    ) -> CommandResult:
        python_arguments = build_python_arguments(session, command, arguments)
        return await _run_python(python_arguments, on_progress)

    def format_line(command: str, arguments: Sequence[str]) -> str:
        """Return the command as a user types it: `fcreview` instead of `-m fcreview.cli`, and no
        separator without arguments after it.
        """
        _, _, *words = build_python_arguments(session, command, arguments)
        if words[-1] == "--":
            words.pop()
        return shlex.join(["fcreview", *words])

    return CommandService(build_form_fields, run_command, format_line)


def _ignore(_: str) -> None:
    """Ignore the progress of a command."""


def build_form_fields(command: str) -> list[FormField]:
    """Build the fields of a command's form: arguments first, then options."""
    arguments = []
    options = []
    for parameter in _find_parameters(command):
        # The format of an export is no format of imported files.
        is_export_format = (command, parameter.name) == ("export", "format")
        if parameter.name in WORKSPACE_PARAMETERS and not is_export_format:
            continue  # the app knows the values
        if _needs_several_values(parameter):
            continue
        field = _build_form_field(parameter)
        field = replace(field, descriptions=list_choices(command, field.name))
        if command == "export":
            field = _limit_to_formats(field)
        if field.flag:
            options.append(field)
        else:
            arguments.append(field)
    return arguments + options


def _limit_to_formats(field: FormField) -> FormField:
    """Return the field of an export option so that the form shows it only for the formats that have
    the option.

    The help of such an option begins with the names of these formats, which the form omits.
    """
    from fcreview.exporters.base import (
        EXPORTERS,
        find_formats_with_option,
        name_formats_with_option,
    )

    formats = find_formats_with_option(field.name)
    if len(formats) == len(EXPORTERS):
        return field
    help_text = field.help.removeprefix(f"For {name_formats_with_option(field.name)}: ")
    sentence = help_text[:1].upper() + help_text[1:]
    return replace(field, formats=formats, help=sentence)


def _needs_several_values(parameter: Any) -> bool:
    """Whether an option takes two values or any number of files, so that a form field with one
    value cannot represent it.
    """
    if parameter.param_type_name != "option":
        return False
    takes_files = parameter.multiple and parameter.metavar in FILE_METAVARS
    return parameter.nargs > 1 or takes_files


def list_choices(command: str, name: str) -> dict[str, str]:
    """Return the values of an option with a line about each. Empty if it takes any value."""
    if (command, name) == ("export", "format"):
        from fcreview.exporters.base import FORMATS

        return {each.name: each.help for each in FORMATS}
    return CHOICES.get((command, name), {})


CHOICES = {
    ("export", "only"): {
        "all": "labels of all items",
        "reviewed": "labels of items that annotators reviewed",
        "adjudicated": "labels that an adjudicator decided",
    },
    ("export", "flavour"): {
        "trl": "rows as TRL reads them",
        "openai": "rows as the OpenAI API reads them",
    },
    ("export", "with"): {
        "": "only the labels",
        "content": "also the question, messages, functions and calls",
    },
}
"""(command, option) -> its values with a line about each."""


def _build_form_field(parameter: Any) -> FormField:
    """Build the field of a form from an option or argument of a command, as Click describes it."""
    from fcreview.tui.commands import FormField

    is_option = parameter.param_type_name == "option"
    # An option goes by its long form, such as `--limit`.
    flag = max(parameter.opts, key=len) if is_option else ""
    name = flag.lstrip("-") if is_option else (parameter.metavar or parameter.name).lower()
    default = _find_field_default(parameter)

    # `\b` keeps Click from wrapping a paragraph. The form wraps the text itself.
    help_text = (parameter.help or "").replace("\b", "")
    return FormField(
        name,
        flag=flag,
        default=default,
        command_default=default,
        help=" ".join(help_text.split()),
        is_switch=_is_switch(parameter),
        is_path=parameter.metavar in FILE_METAVARS,
    )


def _find_field_default(parameter: Any) -> str:
    from fcreview.tui.commands import NO

    if _is_switch(parameter):
        return NO
    if parameter.default is None:
        return ""
    return str(parameter.default)


def _is_switch(parameter: Any) -> bool:
    return parameter.param_type_name == "option" and bool(parameter.is_flag)


def _find_parameters(command: str) -> list[Any]:
    """Return the parameters of a command, such as `queue create`, as Click describes them."""
    from typer.main import get_command

    from fcreview.cli.commands import build_program

    name, _, subcommand = command.partition(" ")
    click_command: Any = get_command(build_program(name))
    if name:
        click_command = click_command.commands[name]
    if subcommand:
        click_command = click_command.commands[subcommand]
    return list(click_command.params)


def build_python_arguments(
    session: WorkspaceSession, command: str, arguments: Sequence[str]
) -> list[str]:
    """Build the arguments with which Python runs a command on the workspace of the session.

    `arguments`: the command's own options, `--`, and its arguments.
    """
    known_names = {parameter.name for parameter in _find_parameters(command)}
    separator = list(arguments).index("--")
    command_options = arguments[:separator]
    command_arguments = arguments[separator + 1 :]

    session_options = _list_session_options(session, known_names)
    paths = _list_session_paths(session) if PATH in known_names else []
    return [
        "-m",
        "fcreview.cli",
        *command.split(),
        *command_options,
        *session_options,
        "--",
        *paths,
        *command_arguments,
    ]


def _list_session_options(session: WorkspaceSession, known_names: Container[str]) -> list[str]:
    """List the options that select the session's annotator, datasets and workspace.

    Options that the command does not have are left out.
    """
    options = _get_session_options(session)
    selected = []
    if "annotator" in known_names:
        selected.append(f"--annotator={session.annotator}")
    if "data" in known_names:
        selected.extend(f"--data={folder}" for folder in options.data or ())
    if "workspace" in known_names and options.workspace is not None:
        selected.append(f"--workspace={options.workspace}")
    return selected


def _list_session_paths(session: WorkspaceSession) -> list[str]:
    """List the path of the session. Commands take one path, so the folder of the workspace stands
    for several.
    """
    paths = _get_session_options(session).paths
    if len(paths) > 1:
        return [str(session.workspace.parent_folder)]
    return [str(path) for path in paths]


def _get_session_options(session: WorkspaceSession) -> WorkspaceOptions:
    return session.options or WorkspaceOptions([session.workspace.parent_folder])


async def _run_python(
    arguments: Sequence[str], on_progress: Callable[[str], object]
) -> CommandResult:
    """Run Python, and return its output and whether it succeeded. A cancelled run ends the process.
    `on_progress` receives the text of each progress report.

    `-P` keeps Python from importing modules from the working folder, where others may write.
    """
    from fcreview.tui.commands import CommandResult

    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        *arguments,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        start_new_session=True,
        env=os.environ
        | {PAGER_WIDTH_VARIABLE: str(_get_pager_width()), PROGRESS_LINES_VARIABLE: "1"},
    )

    try:
        output = await _read_output(process, on_progress)
        await process.wait()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()
        raise

    text = output.decode(errors="replace")
    return CommandResult(text, process.returncode == 0)


READ_BYTES = 1 << 16


async def _read_output(
    process: asyncio.subprocess.Process, on_progress: Callable[[str], object]
) -> bytes:
    """Return the first `MAX_OUTPUT` bytes of the output, without the progress reports."""
    assert process.stdout is not None  # noqa: S101 - for the type checker
    output = bytearray()
    unfinished_line = b""
    while chunk := await process.stdout.read(READ_BYTES):
        *lines, unfinished_line = (unfinished_line + chunk).split(b"\n")
        for line in lines:
            if line.startswith(PROGRESS_MARK):
                on_progress(line.removeprefix(PROGRESS_MARK).decode(errors="replace"))
            elif len(output) < MAX_OUTPUT:
                output += line + b"\n"
        # A line without an end must not fill the memory.
        unfinished_line = unfinished_line[:MAX_OUTPUT]
    output += unfinished_line
    return bytes(output[:MAX_OUTPUT])
