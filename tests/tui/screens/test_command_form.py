"""All commands are in the palette or on a screen, and the forms of the palette run the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandList

from fcreview.cli.commands import COMMANDS, errata, queue, rules
from fcreview.cli.options import WorkspaceOptions
from fcreview.cli.wiring import build_command_service, build_form_fields, build_python_arguments
from fcreview.cli.workspace import WorkspaceSession
from fcreview.tui.actions import ADJUDICATION_ACTIONS, ITEM_ACTIONS, QUEUE_ACTIONS
from fcreview.tui.commands import FORMS, FormField, ReportServices, build_command_arguments
from fcreview.tui.screens.command_form import CommandFormScreen, FormInput
from fcreview.tui.screens.pager import PagerScreen

OMITTED = {"completion", "schema", "sql", "demo", "serve", "team", "map"}
"""Commands for scripts and for the first start."""
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
