"""All commands are in the palette or on a screen, and the forms of the palette run the commands."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandList

from fcreview.cli.commands import COMMANDS, errata, queue, rules
from fcreview.cli.options import WorkspaceOptions
from fcreview.cli.wiring import (
    _run_python,
    build_command_service,
    build_form_fields,
    build_python_arguments,
)
from fcreview.cli.workspace import WorkspaceSession
from fcreview.exporters.base import EXPORTERS
from fcreview.tui.actions import ADJUDICATION_ACTIONS, ITEM_ACTIONS, QUEUE_ACTIONS
from fcreview.tui.commands import (
    FORMS,
    CommandResult,
    FormField,
    ReportServices,
    build_command_arguments,
)
from fcreview.tui.screens.command_form import (
    CommandFormScreen,
    FormInput,
    complete_path,
    find_form_error,
)
from fcreview.tui.screens.pager import PagerScreen
from fcreview.tui.text.lines import plain_text
from fcreview.tui.widgets.document_view import LineBlock
from tests.tui.idle import ignore_threads

OMITTED = {"completion", "schema", "skill", "sql", "demo", "serve", "team", "map", "judge"}
"""Commands for scripts, for the first start, and `judge`, which sends data to other machines."""
SCREENS = {
    "check": "queue check",
    "open": "item next",
    "runs": "queue runs",
    "items": "queue filter",
    "show": "queue open",
    "triage": "queue clusters",
    "compare": "queue runs",
    "review": "item pass",
    "label": "item fail",
    "adjudicate": "queue adjudicate",
    "agreement": "queue agreement",
    "calibrate": "queue calibration",
}
"""Command -> group and name of the equivalent action on a screen."""


@pytest.fixture
def app(make_app: Any) -> Any:
    result = make_app(
        runs={
            "maple-8b": [{"official": False}, {"official": True}],
            "birch-8b": [{"official": True}],
        }
    )
    workspace = make_app.stores[-1].workspace
    session = WorkspaceSession(
        workspace, "alice", options=WorkspaceOptions([workspace.parent_folder])
    )
    result.session.report_services = ReportServices(
        lambda *_: "", lambda _: pytest.fail("must not be called"), build_command_service(session)
    )
    return result


def list_commands() -> set[str]:
    """Return all commands, with subcommands where they exist."""
    groups = {"queue": queue.COMMANDS, "errata": errata.COMMANDS, "rules": rules.COMMANDS}
    return {f"{name} {sub}".strip() for name in COMMANDS for sub in groups.get(name, [""])}


def test_every_command_has_a_form_or_a_screen() -> None:
    forms = {form.command for form in FORMS.values()}
    assert list_commands() == forms | set(SCREENS) | OMITTED
    ids = {action.id for action in (*QUEUE_ACTIONS, *ITEM_ACTIONS, *ADJUDICATION_ACTIONS)}
    assert {name.replace(" ", ".") for name in SCREENS.values()} <= ids


@pytest.mark.parametrize("form", FORMS.values(), ids=lambda form: form.command)
def test_form_has_the_options_of_its_command(form: Any) -> None:
    fields = build_form_fields(form.command)
    assert set(form.defaults) <= {each.name for each in fields}
    assert all(each.help for each in fields) and not {"json", "help"} & {
        each.name for each in fields
    }


def test_values_become_unambiguous_options_and_arguments() -> None:
    fields = [
        FormField("item"),
        FormField("size", "--size"),
        FormField("force", "--force", is_switch=True),
    ]
    assert build_command_arguments(fields, ["-x; rm", " 5 ", "yes"]) == [
        "--size=5",
        "--force",
        "--",
        "-x; rm",
    ]
    assert build_command_arguments(fields, ["", "", "no"]) == ["--"]


def test_command_line_names_workspace_and_annotator(tmp_path: Path) -> None:
    options = WorkspaceOptions([tmp_path / "run"], data=[tmp_path / "data"])
    session = WorkspaceSession(workspace=None, annotator="alice", options=options)  # type: ignore[arg-type]
    assert build_python_arguments(session, "export", ["--format=csv", "--"]) == [
        *(
            "-m",
            "fcreview.cli",
            "export",
            "--format=csv",
            "--annotator=alice",
            f"--data={tmp_path / 'data'}",
            "--",
        ),
        str(tmp_path / "run"),
    ]
    arguments = build_python_arguments(session, "errata check", ["--", "x.jsonl"])
    assert arguments[2:] == ["errata", "check", "--", "x.jsonl"]


async def test_palette_has_all_forms_and_actions_of_other_screens(
    app: Any, wait_for_screen: Any
) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("colon")
        await wait_for_screen(pilot)
        rows = "\n".join(
            option.prompt.plain for option in app.screen.query_one(CommandList).options
        )
        assert all(f"  {form.label}  " in rows for form in FORMS.values())
        shown = {each.id for each in app.screen._palette_context.actions}
        assert {action.id for action in QUEUE_ACTIONS} - shown <= {"queue.item", "queue.clear"}


@pytest.mark.sweep
@pytest.mark.process
async def test_sample_is_drawn_and_estimated_in_the_app(
    app: Any, wait_for_screen: Any, make_app: Any
) -> None:
    workspace = make_app.stores[-1].workspace
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("colon", *"draw a sample", "enter")
        lines = "\n".join(await wait_for_screen(pilot))
        assert (
            isinstance(app.screen, CommandFormScreen) and "annotators" in lines and "alice" in lines
        )
        await pilot.press("enter")
        assert (
            "exceeds" in "\n".join(await wait_for_screen(pilot))
            or "error" in "\n".join(await wait_for_screen(pilot)).lower()
        )
        assert isinstance(app.screen, CommandFormScreen), "the form stays open"
        names = [each.name for each in build_form_fields("queue create")]
        list(app.screen.query(FormInput))[names.index("size")].value = "2"
        blind = list(app.screen.query(FormInput))[names.index("blind")]
        assert blind.value == "yes"
        blind.value = "no"
        await pilot.press("enter")
        lines = "\n".join(await wait_for_screen(pilot))
        assert isinstance(app.screen, PagerScreen) and "2 of 3 items" in lines
        assert (workspace.root / "queues" / "sample.json").exists()
        await pilot.press("q", "colon", *"queue sample", "enter")
        assert "queue sample" in "\n".join(await wait_for_screen(pilot))


async def test_escape_leaves_a_form_and_colons_are_typed(app: Any, wait_for_screen: Any) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        before = await wait_for_screen(pilot)
        await pilot.press("colon", *"draw a sample", "enter")
        await wait_for_screen(pilot)
        await pilot.press("tab", "tab", "colon", "question_mark")
        assert [box.value for box in app.screen.query(FormInput)][2] == ":?"
        await pilot.press("escape")
        assert await wait_for_screen(pilot) == before


def find_input(app: Any, name: str) -> FormInput:
    """Return the text box of a field of the export form."""
    names = [each.name for each in build_form_fields("export")]
    return list(app.screen.query(FormInput))[names.index(name)]


async def test_export_form_lists_formats_counts_labels_and_shows_its_command(
    app: Any, wait_for_screen: Any
) -> None:
    async with app.run_test(size=(120, 32)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        await pilot.press("X")
        text = "\n".join(await wait_for_screen(pilot))
        assert "JSON Lines with one label per line" in text
        assert "CSV with one label per row, for spreadsheets" in text
        await pilot.press("right")
        assert find_input(app, "format").value == "csv"
        text = "\n".join(await wait_for_screen(pilot))
        assert "writes 3 labels" in text
        assert "fcreview export --format=csv --output=labels.csv --annotator=alice" in text

        find_input(app, "only").value = "reviewed"
        assert "writes 0 labels" in "\n".join(await wait_for_screen(pilot))
        find_input(app, "where").value = "nonsense:x"
        text = "\n".join(await wait_for_screen(pilot))
        assert "nonsense" in text and "writes" not in text

        await pilot.press("ctrl+y")
        await wait_for_screen(pilot)
        copied = app.session.workspace_folder / "copied.txt"
        assert copied.read_text().startswith("fcreview export --format=csv")


async def test_meaning_of_the_entered_format_is_not_cut(app: Any, wait_for_screen: Any) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        for key in ("v", "X", "left"):
            await pilot.press(key)
            lines = await wait_for_screen(pilot)
        assert find_input(app, "format").value == "golden-patch"
        index = next(at for at, line in enumerate(lines) if "▸ golden-patch" in line)
        meaning = f"{lines[index].partition('golden-patch')[2]} {lines[index + 1]}"
        assert " ".join(meaning.split()) == EXPORTERS["golden-patch"].help
        others = [line for line in lines[:index] if line.endswith("…")]
        assert others and all(line.endswith(" …") for line in others)
        text = "\n".join(lines)
        assert "all items · 3 items" in text and text.count("maintainers") == 1


async def test_export_form_shows_the_options_of_the_chosen_format(
    app: Any, wait_for_screen: Any
) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_for_screen(pilot)
        for key in ("v", "X"):
            await pilot.press(key)
            await wait_for_screen(pilot)
        format_input = find_input(app, "format")
        assert {"labels", "only items where"} <= list_shown_titles(app)
        find_input(app, "where").value = "official:fail"
        find_input(app, "only").value = "reviewed"

        format_input.value = "preference"
        text = "\n".join(await wait_for_screen(pilot))
        titles = list_shown_titles(app)
        assert {"pairs a question", "annotators who agree", "only items where"} <= titles
        assert not {"labels", "organization", "verify with inspect_ai"} & titles
        assert "--where=official:fail" in text and "--only" not in text

        format_input.value = "native"
        text = "\n".join(await wait_for_screen(pilot))
        titles = {"format", "write to", "replace a file", "policy", "show judge"}
        assert list_shown_titles(app) == titles
        assert "--where" not in text and "all items" in text

        format_input.value = "csv"
        text = "\n".join(await wait_for_screen(pilot))
        assert "--where=official:fail --only=reviewed" in text, "values come back with the format"
        help_texts = [field.help for field in app.screen._form.fields]
        assert not any(text.startswith("For ") for text in help_texts)


def list_shown_titles(app: Any) -> set[str]:
    return {field.title for field in app.screen._form.fields}


async def test_form_names_its_scope_and_a_key_clears_it(app: Any, wait_for_screen: Any) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        for key in ("v", "X"):
            await pilot.press(key)
            lines = await wait_for_screen(pilot)
        assert "all items · 3 items · writes 3 labels" in "\n".join(lines)

        find_input(app, "where").value = "official:fail"
        text = "\n".join(await wait_for_screen(pilot))
        assert "where official:fail × ^x · 1 item · writes 1 label" in text

        await pilot.press("ctrl+x")
        text = "\n".join(await wait_for_screen(pilot))
        assert find_input(app, "where").value == ""
        assert "all items · 3 items" in text


async def test_report_form_counts_the_items_of_the_chosen_run(
    app: Any, wait_for_screen: Any
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        for key in ("v", "H"):
            await pilot.press(key)
            await wait_for_screen(pilot)
        names = [field.name for field in app.screen._fields]
        list(app.screen.query(FormInput))[names.index("run")].value = "birch-8b"
        text = "\n".join(await wait_for_screen(pilot))
        assert "run birch-8b × ^x · 1 item" in text


async def test_export_form_proposes_a_path_that_fits_the_format(
    app: Any, wait_for_screen: Any
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        for key in ("v", "X", "g", "o", "right"):
            await pilot.press(key)
            await wait_for_screen(pilot)
        assert find_input(app, "format").value == "golden-patch"
        assert find_input(app, "output").value == "golden-patch"

        find_input(app, "output").value = "mine"
        await pilot.press("right")
        await wait_for_screen(pilot)
        assert find_input(app, "format").value == "jsonl"
        assert find_input(app, "output").value == "mine", "the path of the user stays"


def test_command_omits_values_that_it_uses_anyway() -> None:
    fields = [FormField("format", "--format", command_default="jsonl")]
    assert build_command_arguments(fields, ["jsonl"]) == ["--"]
    assert build_command_arguments(fields, ["csv"]) == ["--format=csv", "--"]


@pytest.mark.parametrize(
    ("output", "message", "field"),
    [
        (
            "Usage: fcreview export [OPTIONS]\nError: Invalid value for '--agreed': 'x' is not a"
            " valid integer.",
            "annotators who agree: 'x' is not a valid integer.",
            "agreed",
        ),
        (
            "error: --format native writes whole runs. Omit --where, --queue, --only and --with",
            '"format" native writes whole runs. Omit "only items where", "queue", "labels" and'
            ' "also write"',
            "format",
        ),
        ("error: no such file", "no such file", ""),
        (
            "fcreview: --queue needs a name. Omit --json, --with and --where",
            '"queue" needs a name. Omit "also write" and "only items where"',
            "queue",
        ),
    ],
)
def test_errors_name_fields_and_not_options(output: str, message: str, field: str) -> None:
    fields = build_form_fields("export")
    error = find_form_error(CommandResult(output, is_successful=False), fields)
    assert (error.message, error.field_name) == (message, field)


def test_paths_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "labels.jsonl").touch()
    (tmp_path / ".hidden").touch()
    assert complete_path(f"{tmp_path}/rep") == f"{tmp_path}/reports/"
    assert complete_path(f"{tmp_path}/reports/") == f"{tmp_path}/reports/labels.jsonl"
    assert complete_path(f"{tmp_path}/") == f"{tmp_path}/reports/"
    assert complete_path(f"{tmp_path}/.h") == f"{tmp_path}/.hidden"
    assert complete_path(f"{tmp_path}/none/x") is None
    monkeypatch.chdir(tmp_path)
    assert complete_path("re") == "reports/"
    assert complete_path("") is None


async def test_running_command_shows_its_progress_and_is_cancelled(app: Any) -> None:
    was_cancelled = asyncio.Event()
    field = FormField("size", "--size", default="5")

    async def run(_: Any, on_progress: Any) -> CommandResult:
        on_progress("exporting 1,200  labels")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            was_cancelled.set()
            raise
        return CommandResult("", is_successful=True)

    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        screen = CommandFormScreen("export", [field], run)
        app.push_screen(screen)
        with ignore_threads():
            await pilot.pause()
            screen.action_submit()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            screen._show_running(3)
            help_block = screen.query_one("#form-help", LineBlock)
            shown = " ".join(plain_text(line) for line in help_block.lines)
            assert "exporting 1,200  labels · 3 s · Esc cancels" in shown
            screen.action_cancel()
            await asyncio.wait_for(was_cancelled.wait(), timeout=10)


async def test_progress_of_a_process_is_reported_and_not_part_of_its_output() -> None:
    program = (
        "import sys; from fcreview.cli.output import Progress\n"
        "progress = Progress('exporting', '{:,}'.format); progress._next_update = 0\n"
        "progress('labels', 1200, 0); print('done')"
    )
    reports: list[str] = []
    result = await _run_python(["-c", program], reports.append)
    assert result.text == "done\n" and result.is_successful
    assert reports == ["exporting 1,200  labels"]
