"""The estimates screen draws samples with a form, and its keys open other screens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from textual import events
from textual.widgets import Input

from fcreview.cli.wiring import build_form_fields
from fcreview.model.metric import OwnScore
from fcreview.model.review import Annotation
from fcreview.stats.estimation import PassRateEstimate
from fcreview.stats.sampling import ShareOptions
from fcreview.store.queue_file import write_queue
from fcreview.store.queue_sampling import QueueRequest
from fcreview.store.rows import RunRow, View
from fcreview.store.store import Store
from fcreview.tui.commands import CommandResult, CommandService, FormField, ReportServices
from fcreview.tui.figures.run_sample import RunSample
from fcreview.tui.screens.adjudication import AdjudicationScreen
from fcreview.tui.screens.command_form import CommandFormScreen, FormFields
from fcreview.tui.screens.estimates import EstimatesScreen
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.overview import OverviewScreen
from fcreview.tui.screens.palette_context import open_estimates
from fcreview.tui.screens.queue import QueueScreen
from tests.tui.idle import ignore_threads
from tests.tui.key_input import send_keys, wait_until

RUNS = {
    "maple-8b": [{"official": False}, {"official": True}, {"official": True}],
    "birch-8b": [{"official": True}],
}


@pytest.fixture
def app(make_app: Any) -> Any:
    """Return an app whose commands run in this process."""
    result = make_app(runs=RUNS)
    store = make_app.stores[-1]
    result.commands = []

    async def run(command: str, arguments: Sequence[str], *_: object) -> CommandResult:
        result.commands.append((command, list(arguments)))
        options = dict(each.partition("=")[::2] for each in arguments)
        names = [each.strip() for each in options["--annotators"].split(",") if each.strip()]
        if int(options["--size"]) > 3:
            return CommandResult("error: size 9 exceeds the 3 items", False)
        sharing = ShareOptions(names, int(options["--overlap"]))
        view = View(runs=(int(options["--run"]),))
        queue = store.draw_queue(
            QueueRequest(options["--name"], view, int(options["--size"]), "official", sharing)
        )
        write_queue(store.workspace, queue)
        return CommandResult("drawn\nqueue sample: 3 items for 2 annotators in /x\n", True)

    services = ReportServices(
        lambda *_: "",
        lambda _: pytest.fail("must not be called"),
        CommandService(build_form_fields, run),
    )
    result.session.report_services = services
    return result


async def test_key_that_overtakes_the_opening_of_the_screen_acts_on_this_screen(
    app: Any, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The overview has received Enter already when it opens the estimates."""
    keep_key_for_later = OverviewScreen.keep_key_for_later

    def open_estimates_after_enter(screen: OverviewScreen, event: events.Key) -> bool:
        is_kept = keep_key_for_later(screen, event)
        if event.key == "enter":
            screen.action_show_estimates()
        return is_kept

    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        monkeypatch.setattr(OverviewScreen, "keep_key_for_later", open_estimates_after_enter)
        send_keys(app, "enter")
        await wait_until(lambda: isinstance(app.screen, EstimatesScreen))
        await wait_for_screen(pilot)
        assert isinstance(app.focused, Input), "Enter opens the form of the estimates"
        send_keys(app, "b")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, EstimatesScreen), "the next keys are text of the form"


async def test_sample_is_drawn_reviewed_and_estimated(app: Any, wait_for_screen: Any) -> None:
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        text = "\n".join(await wait_for_screen(pilot))
        assert "M Draw a sample" in text
        await pilot.press("down", "M")
        text = "\n".join(await wait_for_screen(pilot))
        assert (
            isinstance(app.screen, EstimatesScreen)
            and "Sample of maple-8b" in text
            and "no sample yet" in text
        )
        assert "Draw a sample of maple-8b" in text
        await pilot.press("enter", "down", "ctrl+u", *"alice, bob")
        text = "\n".join(await wait_for_screen(pilot))
        assert (
            "3 items each" in text
            and "Annotator names, separated by commas. You are alice." in text
        )
        await pilot.press("enter")
        text = "\n".join(await wait_for_screen(pilot))
        assert app.commands[0][0] == "queue create" and "--stratify=official" in app.commands[0][1]
        assert "Drawn: queue sample, 3 items for 2 annotators" in text and not app._notifications
        assert (
            "sample · bob" in text
            and "0 / 3" in text
            and "Review your 3 items of sample: press b" in text
        )
        await pilot.press("b")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen) and "queue sample" in "\n".join(lines)
        for _ in range(3):
            await pilot.press("p")
            await wait_for_screen(pilot)
        await pilot.press("v")
        text = "\n".join(await wait_for_screen(pilot))
        assert "3 / 3" in text and "See estimated accuracy" in text
        await pilot.press("M")
        text = "\n".join(await wait_for_screen(pilot))
        assert (
            "100.0 % [100.0, 100.0]" in text
            and "bob has 3 items left" in text
            and "Draw more" in text
        )
        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, OverviewScreen)


async def test_rejected_form_stays_open_with_its_values(app: Any, wait_for_screen: Any) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("colon", *"estimates", "enter")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, EstimatesScreen)
        await pilot.press("enter", *"9", "enter")
        text = "\n".join(await wait_for_screen(pilot))
        assert "exceeds the 3 items" in text and app.screen._form.field_values["size"] == "9"
        await pilot.press("down", *":?rx")
        await wait_for_screen(pilot)
        assert app.screen._form.field_values["annotators"] == "alice, :?rx", (
            "typed text is added to the own name"
        )
        await pilot.press("ctrl+u", *"bob")
        await wait_for_screen(pilot)
        assert app.screen._form.field_values["annotators"] == "bob"
        await pilot.press("escape", "q")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen)


async def test_replacement_of_fields_that_is_cancelled_does_not_end_the_app(
    app: Any, wait_for_screen: Any
) -> None:
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        await pilot.press("M")
        await wait_for_screen(pilot)
        form = app.screen.query_one(FormFields)
        fields = build_form_fields("queue create")
        # The removal of the old fields takes some steps of the event loop.
        for n_steps in range(1, 12):
            worker = app.screen.run_worker(form.set_fields(fields))
            for _ in range(n_steps):
                await asyncio.sleep(0)
            worker.cancel()
            await wait_for_screen(pilot)
            assert app.is_running, n_steps
            assert form.field_values, "there is one text box for each field"


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("key", "screen"),
    [
        ("x", AdjudicationScreen),
        ("X", CommandFormScreen),
        ("H", CommandFormScreen),
        ("v", OverviewScreen),
        ("s", QueueScreen),
    ],
)
async def test_keys_open_the_named_screens(
    app: Any, wait_for_screen: Any, key: str, screen: type
) -> None:
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        await pilot.press("M")
        await wait_for_screen(pilot)
        await pilot.press("b")
        assert "no sampled items of this run are assigned to you" in "\n".join(
            await wait_for_screen(pilot)
        )
        await pilot.press(key)
        await wait_for_screen(pilot)
        assert isinstance(app.screen, screen)


async def test_overview_key_opens_the_overview_over_estimates_from_the_palette(
    app: Any, wait_for_screen: Any
) -> None:
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        open_estimates(app, app.session)
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, OverviewScreen)


@pytest.mark.parametrize("path", [("v", "M"), ("v",)])
async def test_disagreements_return_to_the_screen_that_opened_them(
    app: Any, wait_for_screen: Any, path: Any
) -> None:
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        for key in path:
            await pilot.press(key)
            await wait_for_screen(pilot)
        opened_from = app.screen
        await pilot.press("x")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, AdjudicationScreen)
        await pilot.press("q")
        await wait_for_screen(pilot)
        assert app.screen is opened_from


@pytest.mark.sweep
async def test_overview_opens_forms_of_export_and_report(app: Any, wait_for_screen: Any) -> None:
    async with app.run_test(size=(100, 34)) as pilot:
        await wait_for_screen(pilot)
        for key, word in (("X", "labels.jsonl"), ("H", "report.html")):
            await pilot.press("v")
            await wait_for_screen(pilot)
            await pilot.press(key)
            assert word in "\n".join(await wait_for_screen(pilot)) and isinstance(
                app.screen, CommandFormScreen
            )
            await pilot.press("escape", "escape")
            await wait_for_screen(pilot)


async def test_keys_wait_for_runs_and_form(app: Any, wait_for_screen: Any) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_for_screen(pilot)
        hold = threading.Event()
        app.session._thread.submit(hold.wait, 20)
        with ignore_threads():
            open_estimates(app, app.session)
            await pilot.pause()
            send_keys(app, "down", "enter", "down", "end", *",bob")
            await pilot.pause()
        assert isinstance(app.screen, EstimatesScreen)
        hold.set()
        await wait_until(lambda: not app.screen._held_keys)
        await wait_for_screen(pilot)
        assert app.screen._list.cursor == 1
        assert app.screen._form.field_values["annotators"] == "alice,bob"
        assert app.screen._form.field_values["run"] == app.screen._selected_run.info.model
        send_keys(app, "enter")
        await wait_until(lambda: bool(app.commands))
        send_keys(app, "b")
        await wait_until(lambda: isinstance(app.screen, ItemScreen))
        await wait_for_screen(pilot)
        await pilot.press("q")
        assert "queue sample" in "\n".join(await wait_for_screen(pilot))


async def test_form_is_of_the_run_under_the_cursor_after_quick_moves(
    app: Any, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        open_estimates(app, app.session)
        await wait_for_screen(pilot)
        screen = app.screen
        first_run = screen._form.field_values["run"]
        set_fields = screen._form.set_fields
        n_calls = 0

        async def set_fields_and_wait(fields: Sequence[FormField]) -> None:
            nonlocal n_calls
            await set_fields(fields)
            n_calls += 1
            # The next move comes before the first one has been handled completely.
            if n_calls == 1:
                await asyncio.sleep(20)

        monkeypatch.setattr(screen._form, "set_fields", set_fields_and_wait)
        screen._list.move_cursor(1)
        await wait_until(lambda: n_calls == 1)
        assert screen._form.field_values["run"] != first_run
        screen._list.move_cursor(0)
        await wait_for_screen(pilot)
        assert screen._form.field_values["run"] == first_run


async def test_samples_of_all_visible_runs_are_read_on_a_small_screen(
    app: Any, make_app: Any, wait_for_screen: Any
) -> None:
    store = make_app.stores[-1]
    runs = {row.info.model: row.run for row in store.fetch_runs()}
    sharing = ShareOptions(["alice"], overlap=0)
    view = View(runs=tuple(runs.values()))
    write_queue(store.workspace, store.draw_queue(QueueRequest("pilot", view, 4, "", sharing)))

    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        screen = EstimatesScreen(app.session, View(), runs["maple-8b"])
        app.push_screen(screen)
        await wait_for_screen(pilot)
        await wait_until(lambda: not screen._unread_runs)
        assert "reading" not in "\n".join(await wait_for_screen(pilot))


async def test_own_metric_is_estimated_again_after_the_samples_are_read_again(
    app: Any, make_app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_app.stores[-1]
    run = next(row.run for row in store.fetch_runs() if row.info.model == "maple-8b")
    request = QueueRequest("pilot", View(runs=(run,)), 2, "", ShareOptions(["alice"], overlap=2))
    write_queue(store.workspace, store.draw_queue(request))
    app.session.queue_file = "pilot"

    is_estimate_ready = asyncio.Event()
    estimated_runs: list[int] = []

    def compute_own_scores(_: Store, runs: Sequence[RunRow]) -> dict[int, OwnScore]:
        score = OwnScore("score", 50.0, "percent", digits=1, table="scores", name="overall")
        return {row.run: score for row in runs}

    async def estimate_own_metric(row: RunRow) -> None:
        estimated_runs.append(row.run)
        await is_estimate_ready.wait()

    app.session.report_services = replace(
        app.session.report_services,
        compute_own_scores=compute_own_scores,
        estimate_own_metric=estimate_own_metric,
    )
    async with app.run_test(size=(120, 34)) as pilot:
        for row in store.fetch_page(View(queue="pilot"), 0, 2):
            await app.session.record_review(row.item, Annotation(verdict=True))
        open_estimates(app, app.session)
        await wait_until(lambda: estimated_runs == [run])

        # The first estimate ends when the runs, but not the samples, have been read again.
        can_read_sample = threading.Event()
        fetch_sample_status = store.analysis.fetch_sample_status

        def fetch_sample_status_later(run: int) -> Any:
            can_read_sample.wait(20)
            return fetch_sample_status(run)

        monkeypatch.setattr(store.analysis, "fetch_sample_status", fetch_sample_status_later)
        screen = app.screen
        with ignore_threads():
            screen._load_runs()
            await wait_until(lambda: screen._unread_runs == {run})
            is_estimate_ready.set()
            await pilot.pause()
            can_read_sample.set()
            await wait_until(lambda: estimated_runs == [run, run])


def test_form_is_filled_again_when_other_numbers_of_labels_are_needed(app: Any) -> None:
    screen, run = EstimatesScreen(app.session, View()), SimpleNamespace(run=1)
    samples = [RunSample(1, PassRateEstimate(0.5, 0.4, 0.6, needed)) for needed in (64, 65)]
    keys = [screen._current_form_inputs(run, sample) for sample in samples]  # type: ignore[arg-type]
    assert keys[0] != keys[1]
