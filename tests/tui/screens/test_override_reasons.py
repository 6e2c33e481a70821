"""Reasons of overrides: one key after a verdict records why. Tags and reasons can be configured."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fcreview.model.item import Verdict
from fcreview.model.review import Event, ItemKey, fold_events
from fcreview.store.rows import View
from fcreview.store.workspace import Workspace
from fcreview.tui.review.recorder import ReviewSubject
from fcreview.tui.review.status import Override, OverrideReasons
from fcreview.tui.screens.review_dialogs import OverrideReasonScreen
from fcreview.tui.session import DEFAULT_REASONS, AnnotatorVocabulary
from fcreview.tui.text.lines import key_hints_line, plain_text
from tests.labels import fetch_labels
from tests.tui.screens.conftest import import_items, make_simple_item
from tests.tui.screens.item_host import (
    ItemHost,
    KeyPresser,
    bar_text,
    document_rows,
    open_item_host,
    read_events,
    shown_item_id,
)

OWN = AnnotatorVocabulary(("ambiguous", "unit"), ("too strict", "misread", "other", "typo"))


def recorded_reviews(workspace: Workspace) -> list[tuple[str, str, Any, str | None]]:
    reviews = [event for event in read_events(workspace) if event["act"] == "review"]
    return [
        (e["key"]["id"], e["target"], e.get("verdict"), (e.get("overrules") or {}).get("reason"))
        for e in reviews
    ]


async def test_digit_after_a_verdict_records_the_reason(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("p")
        assert shown_item_id(app) == "simple_1"
        assert bar_text(app, "why").strip() == "Why pass although the checker failed simple_0?"
        keys = " ".join(bar_text(app, "keys").split())
        reasons = "1 checker too strict 2 checker misread answer 3 other"
        assert keys.startswith(f"p f g u {reasons}"), "verdict keys are never lost"
        await pilot.press("2")
        assert "saved: override reason: misread · simple_0" in bar_text(app, "status")
        assert not app.screen.query_one("#item-why").display and "too strict" not in bar_text(
            app, "keys"
        )
        assert recorded_reviews(workspace) == [
            ("simple_0", "item", True, None),
            ("simple_0", "item", None, "misread"),
        ]
        (_, reason) = read_events(workspace)
        assert reason["overrules"] == {
            "source": "official",
            "by": None,
            "value": False,
            "reason": "misread",
        }
        await pilot.press("[")
        assert any("override: misread" in row for row in document_rows(app))
        await pilot.press("3")
        assert recorded_reviews(workspace)[-1] == ("simple_0", "item", None, "other"), (
            "the latest reason counts"
        )
        labels = [label for label in fetch_labels(app.store, View()) if label["opinions"]]
        assert [label["opinions"][0]["overrules"]["reason"] for label in labels] == ["other"]
        await pilot.press("z", "z")
        assert "undone: override reason" in bar_text(
            app, "status"
        ) and "too strict" not in bar_text(app, "keys")


async def test_confirming_verdict_needs_no_reason(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("f")
        assert "too strict" not in bar_text(app, "keys")
        await pilot.press("1")
        assert "this benchmark has no scores" in bar_text(app, "status")
        await pilot.press("O")
        assert "your last verdict contradicts no automatic verdict" in bar_text(app, "status")
        assert len(recorded_reviews(workspace)) == 1


def test_source_that_passed_a_failed_item_was_too_lenient() -> None:
    detail = SimpleNamespace(row=SimpleNamespace(id="simple_0"))
    subject = ReviewSubject(1, detail, "item")  # type: ignore[arg-type]
    passed = {"source": "rule", "by": None, "value": True}
    override = Override(subject, "correct", False, passed)
    reasons = OverrideReasons(DEFAULT_REASONS, lambda name: name[-1])
    reasons.override = override
    labels = [label for _, label in reasons.key_hints(digits_are_answers=False)]
    assert labels == ["checker too lenient", "checker misread answer", "other"]
    assert [reasons.find_reason(number) for number in (1, 2, 4)] == ["too lenient", "misread", ""]
    assert OverrideReasonScreen(override, DEFAULT_REASONS)._reasons[0] == "too lenient"

    reasons.override = Override(subject, "correct", True, passed | {"value": False})
    assert reasons.find_reason(1) == "too strict"
    own_reasons = ("too lenient", "too strict")
    assert override.choose_reasons(own_reasons) == list(own_reasons)


async def test_reason_belongs_to_the_target_of_its_verdict(workspace: Workspace) -> None:
    async with open_item_host(workspace, vocabulary=OWN) as (_, pilot):
        await pilot.press("p", "]", "full_stop", "T", "O", "4")
        assert recorded_reviews(workspace)[-1] == ("simple_0", "item", None, "typo"), (
            "not the part at the cursor"
        )
        await pilot.press("O", "9", "escape")
        assert len(recorded_reviews(workspace)) == 2


def test_question_names_verdicts_and_part_and_shortens_a_long_id() -> None:
    detail = SimpleNamespace(row=SimpleNamespace(id="live_multiple_" + "7" * 60))
    subject = ReviewSubject(1, detail, "turn:1:call:0")  # type: ignore[arg-type]
    value = {"source": "judge", "by": "gpt-4o", "value": 2}
    question = Override(subject, "completeness", 0, value).format_question(79)
    assert (
        question.startswith("Why completeness 0 although the judge gave completeness 2 to ")
        and "…" in question
    )
    whole = replace(subject, target="item")
    clean = Override(
        whole, "hallucinated", False, {"source": "judge", "by": "gpt-4o", "value": True}
    )
    assert clean.format_question(99).startswith(
        "Why hallucinated no although the judge gave hallucinated yes to live_"
    )
    failed = Override(whole, "correct", False, {"source": "rule", "by": None, "value": True})
    assert failed.format_question(79).startswith("Why fail although the checker passed live_mult")
    assert len(failed.format_question(79)) == 79 and failed.format_reason_label("typo") == "typo"
    reasons = OverrideReasons(DEFAULT_REASONS, lambda name: name[-1])
    reasons.override = failed
    line = key_hints_line(
        [
            ("p f g u", ""),
            *reasons.key_hints(digits_are_answers=False),
            (":", "palette"),
            ("?", "help"),
        ],
        80,
    )
    assert "3 other" in plain_text(line) and len(plain_text(line)) <= 80


async def test_fast_verdicts_and_reasons_reach_the_same_item(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (_, pilot):
        await pilot.press("p", "1", "p", "3", "p", "2")
        assert recorded_reviews(workspace) == [
            (
                f"simple_{at // 2}",
                "item",
                True if at % 2 == 0 else None,
                None if at % 2 == 0 else why,
            )
            for at, why in enumerate(["", "too strict", "", "other", "", "misread"])
        ]


@asynccontextmanager
async def open_scored_item(place: Path) -> AsyncIterator[tuple[ItemHost, KeyPresser, Workspace]]:
    one = replace(
        make_simple_item(1),
        verdicts=[Verdict("judge", 1, criterion="completeness", target="item", by="gpt-4o")],
    )
    workspace = import_items(place, [make_simple_item(0), one])
    async with open_item_host(workspace) as (app, pilot):
        yield app, pilot, workspace


async def test_digits_are_scores_and_the_prompt_has_the_reasons(tmp_path: Path) -> None:
    async with open_scored_item(tmp_path) as (app, pilot, workspace):
        await pilot.press("p")
        assert "0 1 2 on: item completeness" in bar_text(app, "status")
        assert "failed simple_0?" in bar_text(app, "why") and " O reasons" in bar_text(app, "keys")
        assert "too strict" not in bar_text(app, "keys")
        await pilot.press("3")
        assert (
            "scores are 0, 1 and 2" in bar_text(app, "status")
            and len(recorded_reviews(workspace)) == 1
        )
        await pilot.press("O")
        rows = [strip.text.strip() for strip in app.screen._compositor.render_strips()]
        assert rows[-2] == "Why pass although the checker failed simple_0?" and rows[-1].startswith(
            "1 checker too"
        )
        await pilot.press("1", "2")
        assert recorded_reviews(workspace)[1:] == [
            ("simple_0", "item", None, "too strict"),
            ("simple_1", "item", 2, None),
        ]


async def test_own_tags_are_first_and_keep_their_digits(workspace: Workspace) -> None:
    async with open_item_host(workspace, vocabulary=OWN) as (app, pilot):
        await pilot.press("e")
        assert [row.split()[-2:] for row in document_rows(app)[:3]] == [
            ["1", "ambiguous"],
            ["2", "unit"],
            ["3", "value_error:string"],
        ]
        await pilot.press("2", "n", *"odd", "enter", "enter")
        assert read_events(workspace)[0]["tags"] == ["unit", "odd"]
        await pilot.press("]", "full_stop", "T", "e")
        head = "".join(strip.text for strip in app.screen._compositor.render_strips())
        assert " tags turn 1 call 1 city " in head, (
            "the prompt names its target, because it hides the line that does"
        )


def test_reason_is_recorded_with_its_verdict() -> None:
    line = {"source": "official", "by": None, "value": False}
    key = ItemKey("bfcl", "V4", "en", "m", "c", "i")
    reviews = [
        Event(event="1", time="t1", annotator="a", key=key, verdict=True, overrules=line),
        Event(
            event="2", time="t2", annotator="a", key=key, overrules={**line, "reason": "misread"}
        ),
    ]
    (opinion,) = fold_events(reviews, set())
    assert (opinion.verdict, opinion.reason) == (True, "misread")
    again = Event(event="3", time="t3", annotator="a", key=key, verdict=False)
    assert fold_events([*reviews, again], set())[0].reason == "", "a new verdict needs a new reason"


async def test_no_reason_is_asked_for_after_golden_wrong(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("g")
        assert shown_item_id(app) == "simple_1" and "golden wrong" in bar_text(app, "status")
        assert not app.screen.query_one("#item-why").display and "too strict" not in bar_text(
            app, "keys"
        )
        await pilot.press("2")
        assert "no scores" in bar_text(app, "status")
        assert recorded_reviews(workspace) == [("simple_0", "item", True, None)]


async def test_digit_on_another_item_does_not_change_a_given_reason(workspace: Workspace) -> None:
    async with open_item_host(workspace) as (app, pilot):
        await pilot.press("p", "2", "3")
        assert shown_item_id(app) == "simple_1"
        assert recorded_reviews(workspace)[-1] == ("simple_0", "item", None, "misread")


def test_question_names_the_item_in_a_narrow_terminal() -> None:
    detail = SimpleNamespace(row=SimpleNamespace(id="desk_2"))
    subject = ReviewSubject(1, detail, "item")  # type: ignore[arg-type]
    value = {"source": "judge", "by": "oak", "value": 2}
    override = Override(subject, "completeness", 0, value)
    assert override.format_question(58) == "Why completeness 0 for desk_2?"
    assert override.format_question(79).endswith("gave completeness 2 to desk_2?")
