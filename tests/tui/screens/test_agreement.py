"""The agreement screen shows the same figures as the command, and opens the items of each
figure.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fcreview.stats.agreement import compute_agreement
from fcreview.stats.agreement_ratings import (
    format_coefficient_name,
    format_value_and_interval,
    split_by_blind_status,
)
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tables.agreement import (
    NO_LABELS,
    AgreementStatistic,
    build_agreement_table,
    group_statistics,
)
from fcreview.tui.figures.statistics import pairwise_heat_maps
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.screens.statistics import AgreementScreen
from fcreview.tui.text.lines import plain_text
from tests.store.factory import Imported
from tests.tui.screens.test_adjudication import open_adjudication, workspace

__all__ = ["workspace"]


@pytest.mark.sweep
async def test_figures_are_those_of_the_command(workspace: Workspace) -> None:
    with Store.open(workspace) as store:
        pools = split_by_blind_status(store.analysis.fetch_ratings(View()))
    expected = [
        each
        for given, ratings in pools.items()
        for each in compute_agreement(ratings, ["overall"], given)
    ]
    assert len(expected) > 10
    async with open_adjudication(workspace, (120, 60), adjudicate=False) as person:
        lines = await person.press("percent_sign")
        assert isinstance(person.app.screen, AgreementScreen)
        assert "› agreement" in lines[0] and "Agreement overall" in lines[1]
        assert any(f"{len(expected)} measures" in line for line in lines)
        for each in expected:
            value, interval = format_value_and_interval(each)
            matches = [
                line
                for line in lines
                if format_coefficient_name(each) in line and f" {value}  {interval} " in line
            ]
            assert matches, each
        assert "by category" in (await person.press("tab", "tab"))[1]
        assert any(
            "simple · correct · reviews that were not blind" in line for line in person.lines
        )
        await person.press("escape")
        assert isinstance(person.app.screen, QueueScreen)


def list_ids(lines: list[str]) -> list[str]:
    """Return the item ids in the list, which has a frame at the left."""
    rows = [line.split("│")[1] for line in lines if line.startswith("│")]
    return [word for row in rows for word in row.split() if word.startswith("simple_")]


@pytest.mark.sweep
async def test_figure_opens_its_items(workspace: Workspace) -> None:
    async with open_adjudication(workspace, (120, 40), adjudicate=False) as person:
        lines = await person.press("percent_sign")
        at = next(at for at, line in enumerate(lines) if "completeness · reviews" in line)
        await person.press(*["j"] * (at - 3), "enter")
        assert list_ids(person.lines) == ["simple_2"]
        await person.press("backspace")
        assert sorted(list_ids(person.lines)) == [f"simple_{at}" for at in range(4)]


async def test_message_without_reviews(imported: Imported, tmp_path: Path) -> None:
    async with open_adjudication(
        imported(tmp_path / "bare", {"maple-8b": [{}]}), adjudicate=False
    ) as person:
        lines = await person.press("percent_sign", "enter")
        assert any(NO_LABELS in line for line in lines)


def test_group_name_is_above_its_figures(workspace: Workspace) -> None:
    with Store.open(workspace) as store:
        ratings = split_by_blind_status(store.analysis.fetch_ratings(View()))["seen"]
    found = [
        AgreementStatistic(figure, (at,))
        for at, figure in enumerate(compute_agreement(ratings, ["overall"], "seen"))
    ]
    made = build_agreement_table(found, "overall").rows
    heads = [row for row in made if row.is_heading]
    assert [row.texts[0] for row in heads] == [
        "correct · reviews that were not blind · 2 annotators",
        "correct+fault · reviews that were not blind · 2 annotators",
        "completeness · reviews that were not blind · 2 annotators",
    ]
    assert heads[0].items == (0,)
    assert len(made) == len(found) + len(heads)


def test_pair_map_shows_the_figure_of_each_pair(workspace: Workspace) -> None:
    with Store.open(workspace) as store:
        ratings = split_by_blind_status(store.analysis.fetch_ratings(View()))["seen"]
    found = [
        AgreementStatistic(figure, ()) for figure in compute_agreement(ratings, ["overall"], "seen")
    ]
    members = group_statistics(found)[0]
    lines, n = pairwise_heat_maps(members, 76, 8)
    assert n == 2
    (share,) = [each.coefficient.value for each in members if each.coefficient.metric == "percent"]
    (kappa,) = [each.coefficient.value for each in members if each.coefficient.metric == "cohen"]
    assert share is not None and kappa is not None
    assert [plain_text(line).split() for line in lines] == [
        ["equal", "%", "alice", "bob", "kappa", "alice", "bob"],
        ["alice", "–", f"{100 * share:.1f}", "alice", "–", f"{kappa:.2f}"],
        ["bob", f"{100 * share:.1f}", "–", "bob", f"{kappa:.2f}", "–"],
    ]
    assert "kappa" not in plain_text(pairwise_heat_maps(members, 40, 8)[0][0]), (
        "the second map does not fit"
    )
    assert pairwise_heat_maps(members, 76, 2) == ([], 0)
