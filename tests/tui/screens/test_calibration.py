"""The calibration screen shows the same figures as the command, and opens the items of each
figure.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Annotation
from fcreview.model.wording import get_source_name
from fcreview.stats.calibration import (
    CALIBRATION_SCOPES,
    MEASURE_LABELS,
    VerdictPair,
    compute_calibrations,
    find_error_groups,
    format_measure,
)
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tables.calibration import (
    build_calibration_table,
    build_error_table,
    compute_calibration_groups,
    list_useful_scopes,
)
from fcreview.tui.figure_scope import FigureScope
from fcreview.tui.figures.statistics import confusion_matrix_lines
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.screens.statistics import NOT_RANDOM, CalibrationScreen
from fcreview.tui.text.lines import plain_text
from tests.store.factory import Imported
from tests.tui.screens.test_adjudication import AppDriver, open_adjudication

AUTOMATIC = (True, True, True, False, False, False)
HUMAN = (True, True, False, False, True, None)
"""Verdicts of annotators. The last item has no review."""


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    items: list[dict[str, Any]] = [
        {"official": automatic, "category": "live" if at in (2, 4) else "simple"}
        for at, automatic in enumerate(AUTOMATIC)
    ]
    result = imported(tmp_path / "work", {"maple-8b": items})
    with Store.open(result, "alice") as store:
        reviewer = Reviewer(store, Journal(result, "alice"))
        for at, verdict in enumerate(HUMAN):
            if verdict is not None:
                reviewer.review(store.find_items(f"simple_{at}")[0], Annotation(verdict=verdict))
    return result


def fetch_cases(workspace: Workspace) -> list[VerdictPair]:
    with Store.open(workspace) as store:
        return store.analysis.fetch_verdict_pairs(View())


def visible_items(person: AppDriver) -> list[str]:
    return sorted(
        word for line in person.lines for word in line.split() if word.startswith("simple_")
    )


async def choose_line(person: AppDriver, *expected: str) -> None:
    """Select the line with these words."""
    at = next(
        at for at, line in enumerate(person.lines[3:]) if all(word in line for word in expected)
    )
    await person.press("home", *["j"] * at, "enter")


async def test_figures_are_those_of_the_command(workspace: Workspace) -> None:
    expected = list(compute_calibrations(fetch_cases(workspace), ["overall"]))
    assert [each.source for each in expected] == ["official", "rule"]
    async with open_adjudication(workspace, (100, 40), adjudicate=False) as person:
        lines = await person.press("C")
        assert isinstance(person.app.screen, CalibrationScreen)
        assert "› calibration" in lines[0] and "Calibration overall" in lines[1]
        assert any(f"{NOT_RANDOM} · 2 groups" in line for line in lines)
        for each in expected:
            at = next(
                at
                for at, line in enumerate(lines)
                if f"{get_source_name(each.source)} · correct · by hand" in line
            )
            own = lines[at : at + 12]
            for rate in each.rates:
                (line,) = (
                    line
                    for line in own
                    if line.strip("│▌▸ ").startswith(MEASURE_LABELS[rate.metric] + " ")
                )
                assert all(part in line for part in format_measure(rate))
                assert re.sub(r" +[─━●]+$", "", line.strip("│ ")).split()[-1] == str(rate.n)
        await person.press("escape")
        assert isinstance(person.app.screen, QueueScreen)


CELLS = [
    (("recomputed · correct",), (0, 1, 2, 3, 4)),
    (("automatic pass, human fail",), (2,)),
    (("automatic fail, human pass",), (4,)),
    (("automatic pass, human pass",), (0, 1)),
    (("TPR",), (0, 1, 4)),
    (("TNR",), (2, 3)),
    (("precision",), (0, 1, 2)),
    (("kappa",), (0, 1, 2, 3, 4)),
]
"""(words of a line, numbers of its items)"""


async def test_return_from_items_shows_the_same_table_and_row(workspace: Workspace) -> None:
    async with open_adjudication(workspace, (100, 40), adjudicate=False) as person:
        first_table = await person.press("C")
        before = await person.press("tab", "j")
        assert before[1] != first_table[1], "the key shows another table"
        await person.press("enter")
        assert isinstance(person.app.screen, QueueScreen)
        assert await person.press("escape") == before


async def test_cell_opens_its_items_only(workspace: Workspace) -> None:
    async with open_adjudication(workspace, (100, 40), adjudicate=False) as person:
        await person.press("C")
        for line, items in CELLS:
            await choose_line(person, *line)
            assert isinstance(person.app.screen, QueueScreen)
            assert visible_items(person) == [f"simple_{at}" for at in items]
            await person.press("escape")
            assert isinstance(person.app.screen, CalibrationScreen), (
                "escape returns to the earlier list"
            )


async def test_tab_moves_to_wrong_cases_and_groups(workspace: Workspace) -> None:
    async with open_adjudication(workspace, (100, 40), adjudicate=False) as person:
        lines = await person.press("C", "tab")
        assert "Calibration errors" in lines[1]
        n_kinds = len(list(find_error_groups(fetch_cases(workspace))))
        assert any(f"{n_kinds} kinds" in line for line in lines)
        line = next(line for line in lines if "function get_weather" in line)
        assert " fail, human pass " in line and "1 of 2" in line and "50.0 %" in line
        lines = await person.press("tab")
        assert "Calibration by category" in lines[1] and any(
            "live · recomputed · correct" in line for line in lines
        )
        lines = await person.press("tab")
        assert "Trust in automatic sources" in lines[1]
        assert any("recomputed" in line and "labels saved" not in line for line in lines)
        lines = await person.press("tab")
        assert "Calibration overall" in lines[1], "tables of a single group are omitted"
        await person.press("tab")
        await choose_line(person, "category live ", "pass, human fail")
        assert visible_items(person) == ["simple_2"]


async def test_all_items_are_compared_whatever_the_list_shows(workspace: Workspace) -> None:
    tables = []
    for where in ("", "category:live"):
        async with open_adjudication(
            workspace, (100, 40), adjudicate=False, view=View(where)
        ) as person:
            lines = await person.press("C")
            tables.append([line for line in lines if "official · correct · by hand" in line])
    assert tables[0] and tables[0] == tables[1]


async def test_figures_of_former_scope_disappear_at_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_adjudication(workspace, (100, 40), adjudicate=False) as person:
        lines = await person.press("C", "tab", "tab", "tab")
        assert "Trust in automatic sources" in lines[1]
        screen = person.app.screen
        assert isinstance(screen, CalibrationScreen)
        screen.scope = FigureScope(View(), part="queue pilot")

        # The figures of the next scope are never read.
        monkeypatch.setattr(CalibrationScreen, "_compute_and_show", lambda _self: None)
        lines = await person.press("backspace")
        assert not any("recomputed" in line for line in lines)
        assert any("reading reviews" in line for line in lines)
        lines = await person.press("tab")
        assert "Calibration overall" in lines[1] and not any("by hand" in line for line in lines)


async def test_message_without_reviews(imported: Imported, tmp_path: Path) -> None:
    async with open_adjudication(
        imported(tmp_path / "bare", {"maple-8b": [{}]}), adjudicate=False
    ) as person:
        lines = await person.press("C", "tab", "enter")
        assert any("No item has both" in line for line in lines)


def make_pair(item: int, automatic: Any, human: Any, **fields: Any) -> VerdictPair:
    who: dict[str, Any] = {
        "source": "judge",
        "judge": "oak\x1b[2J",
        "criterion": "correct",
        "is_random": False,
    }
    return VerdictPair(
        item,
        automatic=automatic,
        human=human,
        **(who | {"benchmark": "bfcl", "category": "live"} | fields),
    )


def test_rows_open_as_many_items_as_they_count() -> None:
    cases = [
        make_pair(at, at % 3 > 0, at % 2 > 0, function="f" if at % 4 else "g") for at in range(20)
    ]
    assert list_useful_scopes(cases) == ["overall", "function"]
    for scope in CALIBRATION_SCOPES:
        for row in build_calibration_table(compute_calibration_groups(cases, scope), scope).rows:
            assert row.texts[-1] == str(len(row.items))
    for row in build_error_table(list(find_error_groups(cases))).rows:
        if not row.is_heading:
            assert row.texts[2].split()[0] == str(len(row.items))


def test_matrix_shows_counts_and_marks_the_cell_at_the_cursor() -> None:
    cases = [make_pair(at, at % 4 > 0, at % 2 > 0) for at in range(8)] + [
        make_pair(9, True, True, source="rule", judge=None)
    ]
    groups = compute_calibration_groups(cases, "overall")
    rows = build_calibration_table(groups).rows
    (cell,) = [cell for cell in groups[0].calibration.cells if cell.automatic and not cell.human]
    lines = [
        plain_text(line)
        for line in confusion_matrix_lines(groups, 0, cell, width=100, has_tall_cells=False)
    ]
    assert [line.split() for line in lines[1:]] == [
        ["human", "pass", "human", "fail"] * 2,
        ["pass", "=", "4", "100.0", "▸≠", "2", "50.0", "pass", "=", "1", "100.0", "≠", "0"],
        ["fail", "≠", "0", "=", "2", "50.0", "fail", "≠", "0", "=", "0"],
    ]
    assert len(confusion_matrix_lines(groups, 0, cell, width=40, has_tall_cells=True)) == 8, (
        "one matrix with three rows a cell"
    )
    row = next(row for row in rows if row.texts[0] == "automatic pass, human fail")
    assert row.explanation == "judge oak␛[2J verdict pass, human verdict fail: 2 of 8 pairs"
    tnr = next(row for row in rows if row.texts[0] == "TNR")
    assert (
        tnr.explanation
        == "judge oak␛[2J verdict is fail on 2 of the 4 pairs with human verdict fail"
    )


def test_score_matrix_has_a_row_for_each_score() -> None:
    groups = compute_calibration_groups(
        [make_pair(at, at % 3, 2, criterion="completeness") for at in range(6)], "overall"
    )
    lines = [
        plain_text(line)
        for line in confusion_matrix_lines(groups, 0, None, width=100, has_tall_cells=False)
    ]
    assert [line.split()[:1] for line in lines[2:]] == [["0"], ["1"], ["2"]]
    assert confusion_matrix_lines(groups, 0, None, width=40, has_tall_cells=False) == []


def test_hostile_names_are_sanitized_and_random_samples_are_named() -> None:
    found = build_calibration_table(
        compute_calibration_groups(
            [make_pair(1, True, True, is_random=True), make_pair(2, True, False)], "overall"
        )
    )
    assert found.rows[0].texts[0] == "judge oak␛[2J · correct · 1 of 2 random"
