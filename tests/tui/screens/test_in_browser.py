"""The app in a browser writes only the annotator's files. All other output becomes a download."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fcreview.cli.wiring import build_form_fields
from fcreview.tui.actions import ACTIONS
from fcreview.tui.commands import (
    FORMS,
    CommandForm,
    CommandResult,
    CommandService,
    ReportServices,
    deliver_download,
    make_download_name,
    run_and_deliver_download,
)
from fcreview.tui.review.clipboard import copy_text
from fcreview.tui.screens.command_form import CommandFormScreen, open_command_form
from fcreview.tui.screens.command_palette import CommandList

NEVER_SENT = {"ctrl+w", "ctrl+t", "ctrl+n", "ctrl+q", "ctrl+c", "ctrl+v"}
"""Keys that the browser or its page uses."""


NO_PATHS = {
    *(
        "agreed",
        "check",
        "conventions",
        "correct-annotators",
        "developer",
        "difference",
        "exclude-benchmark-goldens",
        "flavour",
        "group",
    ),
    *("force", "format", "half-width", "include-incidents", "method", "plan", "ranking", "sign"),
    *(
        "item",
        "limit",
        "markdown",
        "max-pairs",
        "name",
        "only",
        "organization",
        "own",
        "policy",
        "queue",
        "run",
        "seed",
        "show-judge",
        "siblings",
        "split",
        "trust-rule",
    ),
    *("where", "with"),
}
"""Fields that do not contain a file."""


class Deliveries(list[tuple[str, bytes]]):
    """Delivered files: (name, content)."""

    def deliver_binary(self, path: Path, save_filename: str) -> None:
        self.append((save_filename, path.read_bytes()))


@pytest.fixture
def app(make_app: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    result = make_app(runs={"maple-8b": [{"official": False}, {"official": True}]})
    result.session.in_browser = True
    result.deliveries = Deliveries()
    monkeypatch.setattr(result, "deliver_binary", result.deliveries.deliver_binary)
    commands = CommandService(build_form_fields, lambda *_: pytest.fail("a command was run"))
    result.session.report_services = ReportServices(lambda *_: "", lambda _: None, commands)  # type: ignore[arg-type, return-value]
    return result


def test_keys_used_by_the_browser_have_an_alternative() -> None:
    kept = {each.id for each in ACTIONS.values() if set(each.keys.split(",")) <= NEVER_SENT}
    # In a browser, `y` copies.
    assert kept == {"app.quit", "app.copy"}
    assert "q" in ACTIONS["queue.quit"].keys and "y" in ACTIONS["item.copy"].keys


@pytest.mark.parametrize(
    "form",
    [each for each in FORMS.values() if each.is_available_in_browser],
    ids=lambda form: form.command,
)
def test_forms_in_a_browser_have_no_paths_except_the_download(form: CommandForm) -> None:
    fields = {each.name: each.is_path for each in build_form_fields(form.command)}
    assert {name for name, is_path in fields.items() if is_path} == (
        {form.download} if form.download else set()
    )
    assert {name for name, is_path in fields.items() if not is_path} <= NO_PATHS, (
        "name a new field here if it is safe"
    )


async def test_export_becomes_a_download(app: Any, wait_for_screen: Any, tmp_path: Path) -> None:
    before = {each for each in tmp_path.rglob("*") if "reviews" not in each.parts}
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("colon", *f"export csv {tmp_path}/../labels.csv", "enter")
        assert "(all items) in labels.csv" in "\n".join(await wait_for_screen(pilot))
    ((name, content),) = app.deliveries
    assert name == "labels.csv" and content.count(b"\n") == 3
    assert {each for each in tmp_path.rglob("*") if "reviews" not in each.parts} - before == {
        each for each in tmp_path.rglob("*") if "positions" in each.parts
    }


async def test_commands_that_write_are_not_available(app: Any, wait_for_screen: Any) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("colon")
        await wait_for_screen(pilot)
        rows = "\n".join(
            option.prompt.plain for option in app.screen.query_one(CommandList).options
        )
        assert all(
            (f"  {form.label}  " in rows) is form.is_available_in_browser for form in FORMS.values()
        )
        await pilot.press("escape")
        for form in FORMS.values():
            if not form.is_available_in_browser:
                open_command_form(app, app.session, form, {})
        await wait_for_screen(pilot)
        assert not isinstance(app.screen, CommandFormScreen)


async def test_output_file_of_a_command_becomes_a_download() -> None:
    app, received = Deliveries(), []

    async def run(_: str, arguments: Any, *__: object) -> CommandResult:
        received.extend(arguments)
        path = Path(arguments[0].partition("=")[2])
        path.write_text("text")
        return CommandResult(f"written to {path}", True)

    form = CommandForm("export", "", "", download="output")
    commands = CommandService(lambda _: (), run)
    result = await run_and_deliver_download(
        app, commands, form, ["--output=/etc/x.csv", "--size=1", "--"]
    )  # type: ignore[arg-type]
    assert app == [("x.csv", b"text")] and result.text == "written to x.csv"
    assert not received[0].startswith("--output=/etc") and received[1:] == ["--size=1", "--"]
    assert not Path(received[0].partition("=")[2]).exists()


def test_folder_becomes_a_zip_file(tmp_path: Path) -> None:
    app = Deliveries()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a.json").write_text("{}")
    deliver_download(app, tmp_path / "run")  # type: ignore[arg-type]
    assert (
        app[0][0] == "run.zip" and zipfile.ZipFile(tmp_path / "run.zip").namelist()[-1] == "a.json"
    )
    assert [make_download_name(each) for each in ("-", "..", "a/", "/a/b.csv", " ")] == [
        *("download", "download", "a", "b.csv", "download")
    ]


def test_copying_writes_no_file(tmp_path: Path) -> None:
    sent: list[str] = []
    terminal = SimpleNamespace(is_web=True, write=sent.append)
    assert copy_text("text", tmp_path, terminal) == "sent to the browser's clipboard"
    assert copy_text("x" * 80_000, tmp_path, terminal) == "the text is too long for the clipboard"
    assert len(sent) == 1 and not list(tmp_path.iterdir())


async def test_no_editor_is_started(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from fcreview.tui.screens.golden_editor import GoldenScreen

    shown: list[str] = []
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a program was started"))
    screen = SimpleNamespace(_session=app.session, _show_message=lambda text, _: shown.append(text))
    GoldenScreen.action_open_editor(screen)  # type: ignore[arg-type]
    assert shown == ["not available in the browser: edit the text here"]
