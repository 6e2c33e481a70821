"""Rows of the queue and header lines are formatted for the available width."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.model.item import Run
from fcreview.model.sanitize import display_width, sanitize
from fcreview.store.rows import ColumnWidths, QueueRow, RunRow, View
from fcreview.tui.keymap import KeymapError, validate_keymap
from fcreview.tui.queue import header
from fcreview.tui.queue.columns import (
    LEAD_CELLS,
    CellColumnName,
    QueueColumn,
    QueueColumns,
    difference_line,
    queue_heading_line,
    queue_row_line,
    shorten_difference_line,
)
from fcreview.tui.queue.header import QueueCursor
from fcreview.tui.queue_state import ReviewProgress
from fcreview.tui.text.graphics import top_line
from fcreview.tui.text.lines import (
    TextColumn,
    format_pass_rate,
    key_hints_line,
    lay_out_table,
    line_width,
    list_pane_width,
    plain_text,
    truncate,
    truncate_difference,
    truncate_error_type,
    truncate_middle,
    wrap_sanitized,
)
from fcreview.tui.text.short_names import shorten_ids, shorten_run_names

ROW = QueueRow(
    item=1,
    run=1,
    seq=0,
    id="live_parallel_multiple_23-20-0",
    category="live_parallel_multiple",
    model="gpt-4o-2024-08-06-FC",
    run_name="gpt-4o-2024-08-06-FC",
    official=False,
    rule=True,
    judge=None,
    you="unsure",
    human=None,
    effective=False,
    error_type="value_error:string",
    rule_error_type=None,
    first_difference='location "Hangzhou, CN" (golden "Hangzhou, China")',
    question="What is the weather?",
    n_golden=1,
    n_predicted=1,
    n_issues=0,
)


def column_widths(*rows: QueueRow, models: bool = False, repeats: bool = False) -> ColumnWidths:
    """Return the widths of the columns, as the store calculates them."""
    errors = [
        row.error_type or (row.rule_error_type if row.rule is False else None) or "" for row in rows
    ]
    return ColumnWidths(
        item=max(len(row.id) for row in rows),
        category=max(len(row.category) for row in rows),
        model=max(len(row.model) for row in rows) if models else 0,
        error=max(map(len, errors)),
        id_repeats_category=repeats,
        has_rule=any(row.rule is not None for row in rows),
        has_judge=any(row.judge is not None for row in rows),
        has_difference=any(row.first_difference for row in rows),
    )


def row_texts(row: QueueRow, at: int, *, blind: bool = False, **known: bool) -> dict[str, str]:
    """Return the text of each column in a list of `at` cells."""
    columns = QueueColumns.fit_to_width(at, column_widths(row, **known), blind=blind)
    text, start, shown = plain_text(queue_row_line(row, columns)), 2, {}
    for name, size in columns.columns:
        shown[name] = text[start : start + size].strip()
        start += size + 1
    return shown


def test_wide_list_has_every_column_and_exactly_its_width() -> None:
    row = replace(ROW, id="simple_3", category="a category", rule=False, judge=True)
    names: set[str] = set()
    for has_score in (False, True):
        widths = replace(column_widths(row, models=True), has_score=has_score)
        columns = QueueColumns.fit_to_width(300, widths)
        names |= {column.name for column in columns.columns}
        used = LEAD_CELLS - 1 + line_width(queue_row_line(row, columns))
        assert used == 300, "tui/queue/columns.py: count_free_cells counts not every column"
    for name in (*get_args(CellColumnName), "difference"):
        assert name in names, f"tui/queue/columns.py: fit_to_width adds no column {name!r}"


def run_row(model: str = "gpt-4o", **fields: object) -> RunRow:
    row = RunRow(
        run=1,
        info=Run("bfcl", "V4", "en", model, f"runs/{model}"),
        run_name=model,
        n_items=4,
        official_pass=3,
        official_known=4,
        rule_pass=0,
        rule_known=0,
        effective_pass=4,
        effective_known=4,
        reviewed=1,
        n_issues=0,
    )
    return dataclasses.replace(row, **fields)


@given(st.text(), st.integers(1, 40))
def test_only_long_texts_are_cut_and_fit(text, room):
    text = sanitize(text)
    for shown in (
        truncate(text, room),
        truncate_middle(text, room),
        truncate_middle(text, room, 1 / 2),
        truncate_error_type(text, room),
    ):
        assert display_width(shown) <= room
        assert shown == text or display_width(text) > room


def test_cut_ids_keep_their_end():
    assert truncate_middle("live_parallel_multiple_23-20-0", 18) == "live_…iple_23-20-0"
    assert truncate_middle("live_parallel_multiple_24-20-0", 18) == "live_…iple_24-20-0"


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (40, "simple_function_checker:wrong_count"),
        (18, "simpl…:wrong_count"),
        (17, "simp…:wrong_count"),
        (16, "…:wrong_count"),
        (13, "…:wrong_count"),
        (12, "wrong_count"),
        (11, "wrong_count"),
        (8, "wro…ount"),
    ],
)
def test_error_types_keep_the_part_after_the_colon(cells, shown):
    assert truncate_error_type("simple_function_checker:wrong_count", cells) == shown


def test_long_part_after_the_colon_is_cut_in_its_middle():
    assert truncate_error_type("multi_turn:instance_state_mismatch", 18) == "instance…_mismatch"
    assert truncate_error_type("value_error:string", 18) == "value_error:string"
    assert truncate_error_type("no_colon_but_very_long_indeed", 18) == "no_colon…ng_indeed"


@given(st.text("ab:_", max_size=40), st.integers(4, 30))
def test_cut_error_type_keeps_four_characters_or_none_before_the_ellipsis(text, cells):
    shown = truncate_error_type(text, cells)
    assert len(shown) <= cells
    if shown != text and "…:" in shown:
        assert len(shown.partition("…:")[0]) == 0 or len(shown.partition("…:")[0]) >= 4


@given(st.integers(60, 250), st.booleans(), st.booleans(), st.sampled_from([None, True]))
def test_queue_lines_fit_and_align_with_the_heading(at, models, blind, judge):
    row = dataclasses.replace(ROW, judge=judge, id="简单_" * 10)
    columns = QueueColumns.fit_to_width(at, column_widths(row, ROW, models=models), blind=blind)
    lengths = {
        line_width(line) for line in (queue_row_line(row, columns), queue_row_line(ROW, columns))
    }
    # the heading includes the cell of the cursor
    lengths.add(line_width(queue_heading_line(columns)) - 1)
    assert len(lengths) == 1
    assert lengths.pop() <= at - 1


DIFFERENT = dataclasses.replace(
    ROW,
    diff_function="get_weather",
    diff_argument="location",
    diff_golden='"Hangzhou, China"',
    diff_predicted='"Hangzhou, CN"',
)


def test_narrow_list_keeps_first_difference_and_own_verdict():
    for at in (46, 60, 80, 160):
        shown = row_texts(DIFFERENT, at, models=at > 46)
        assert shown["difference"].startswith("loc") and shown["you"] == "?", at
    assert "category" not in row_texts(ROW, 80)
    assert "rule" not in row_texts(DIFFERENT, 46) and "rule" in row_texts(DIFFERENT, 80)
    wide = row_texts(DIFFERENT, 160)
    assert wide["category"] == ROW.category
    assert wide["item"] == ROW.id
    assert wide["difference"] == 'location  "Hangzhou, China" → "Hangzhou, CN"   value_error:string'


def test_first_difference_has_the_colours_of_the_item():
    assert difference_line(DIFFERENT) == (
        ("location  ", ""),
        ('"Hangzhou, China"', "golden"),
        (" → ", "dim"),
        ('"Hangzhou, CN"', "predicted"),
    )

    def draw_difference(**fields: object) -> str:
        return plain_text(difference_line(dataclasses.replace(DIFFERENT, **fields)))

    assert (
        draw_difference(first_difference="location.city x", diff_golden="x")
        == 'location.city  x → "Hangzhou, CN"'
    )
    assert draw_difference(diff_predicted=None) == 'location  "Hangzhou, China" → missing'
    assert draw_difference(diff_golden=None) == 'location  none → "Hangzhou, CN"'
    call = {"diff_argument": None, "diff_golden": None, "diff_predicted": None}
    assert (
        draw_difference(**call, first_difference="get_weather not called")
        == "get_weather → not called"
    )
    assert (
        draw_difference(**call, first_difference="get_weather called, not in golden")
        == "no call → get_weather"
    )
    assert (
        draw_difference(**call, first_difference="get_news called (golden get_weather)")
        == "function  get_weather → get_news"
    )
    assert draw_difference(**call, first_difference="no call syntax") == "no call syntax"
    assert draw_difference(**call, first_difference=None) == "string is not an accepted value", (
        "the meaning of the error type"
    )


@given(
    st.text(min_size=1, max_size=30), st.text(max_size=30), st.text(max_size=30), st.integers(8, 60)
)
def test_first_difference_fits(argument, golden, predicted, size):
    row = dataclasses.replace(
        DIFFERENT, diff_argument=argument, diff_golden=golden, diff_predicted=predicted
    )
    columns = QueueColumns((QueueColumn("difference", size),))
    assert line_width(queue_row_line(row, columns)) == size + 2


def test_unknown_queue_column_is_an_error() -> None:
    columns = QueueColumns((QueueColumn("oficial", 8),))
    with pytest.raises(AssertionError, match="oficial"):
        queue_row_line(ROW, columns)
    with pytest.raises(AssertionError, match="oficial"):
        queue_heading_line(columns)


@pytest.mark.parametrize(
    ("golden", "predicted", "shown"),
    [
        ('["Monday", "Tuesday"]', '["Monday", "Friday"]', 'days  …Tuesday"] → …Friday"]'),
        ("calculate_final_speed", "calculate_speed_v2", "days  …final_speed → …speed_v2"),
        ("1234567890123456789034", "1234567890123456789099", "days  …9034 → …9099"),
        ('"a" or "bbbbbbbbbbbbbbbbbbbb"', '"c"', 'days  "a" or "bbbbbbbbbbb… → "c"'),
        ('["Monday", "Tuesday"]', "missing", 'days  ["Monday", "Tue… → missing'),
    ],
)
def test_cut_values_start_at_their_difference(golden, predicted, shown):
    line = (("days  ", ""), (golden, "golden"), (" → ", "dim"), (predicted, "predicted"))
    assert plain_text(shorten_difference_line(line, 32)) == shown
    assert shorten_difference_line(line, 80) == line


def test_golden_value_is_omitted_beside_a_long_name_of_a_missing_argument():
    line = (("formatted  ", ""), ("true", "golden"), (" → ", "dim"), ("missing", "predicted"))
    assert plain_text(shorten_difference_line(line, 20)) == "formatted → missing"
    call = (("final_temperature", "golden"), (" → ", "dim"), ("not called", "predicted"))
    assert plain_text(shorten_difference_line(call, 20)) == "…rature → not called"


def test_run_names_in_a_narrow_column_are_their_last_words():
    assert shorten_run_names(["maple-8b en", "maple-8b zh"], 5) == {
        "maple-8b en": "… en",
        "maple-8b zh": "… zh",
    }
    assert "m…-8b" in shorten_run_names(["maple-8b", "birch-8b"], 5).values()


def test_constant_columns_are_omitted():
    known = dataclasses.replace(column_widths(ROW), constant=frozenset({"official", "rule"}))
    assert [name for name, _ in QueueColumns.fit_to_width(80, known).columns] == [
        "item",
        "you",
        "difference",
    ]


@given(st.sets(st.text("ab_1", min_size=1, max_size=30), max_size=12), st.integers(8, 20))
def test_different_ids_have_different_labels(ids, cells):
    labels = shorten_ids(sorted(ids), cells)
    assert all(display_width(label) <= cells for label in labels.values())
    shown = ["live_a_parallel_0-1", "live_b_parallel_0-1", "live_c_parallel_0-1"]
    assert len(set(shorten_ids(shown, 12).values())) == 3


def test_ids_that_differ_in_their_middle_keep_it_and_their_end():
    ids = [
        f"{name}_function_{at}"
        for name in ("multiple", "parallel", "parallel_multiple")
        for at in range(60)
    ]
    for cells in range(7, 20):
        shown = shorten_ids(ids, cells)
        assert len({shown.get(each, each) for each in ids}) == len(ids)
    assert shorten_ids(ids, 14)["parallel_function_50"] == "parallel_f…_50"


def test_an_id_whose_differing_rest_fits_has_its_last_word_once():
    beginning = "multi_turn_long_context_composite_"
    rest = "weather_mos_31"
    shown = shorten_ids([f"{beginning}X{rest}", f"{beginning}Y{rest}"], 20)
    assert list(shown.values()) == [f"…_X{rest}", f"…_Y{rest}"]


def test_run_names_keep_their_first_words_and_differ():
    names = ["claude-3-5-sonnet-20240620", "google_gemma-7b-it", "gpt-4o-mini-2024-07-18-FC"]
    assert shorten_run_names(names, 30) == {}
    assert list(shorten_run_names(names, 12).values()) == ["claude-3-5…", "google…", "gpt-4o-mini…"]
    assert list(shorten_run_names(names, 7).values()) == ["claude…", "google…", "gpt-4o…"]
    same = ["gpt-4o-mini-2024-07-18", "gpt-4o-mini-2024-07-18-FC", "gpt-4o"]
    assert list(shorten_run_names(same, 9).values()) == ["gpt…-18", "gpt…-FC"]
    numbered = ["claude-3-5-sonnet-20240620 #1", "claude-3-5-sonnet-20240620 #4"]
    assert list(shorten_run_names(numbered, 8).values()) == ["clau… #1", "clau… #4"]
    for cells in range(5, 26):
        runs = sorted({*names, *same})
        labels = [shorten_run_names(runs, cells).get(name, name) for name in runs]
        assert len({*labels}) == len(labels) and max(map(len, labels)) <= cells


def test_short_names_of_runs_of_one_model_omit_the_model():
    names = [f"gemini/gemma-3-27b-it · {part}" for part in ("enosa_masias", "hotel · sim_13")]
    assert list(shorten_run_names(names, 24).values()) == ["…enosa_masias", "…hotel · sim_13"]
    assert list(shorten_run_names(names, 10).values()) == ["…_masias", "…sim_13"]


def test_short_run_names_keep_the_part_that_tells_runs_apart():
    names = (
        "gemini/gemini-2.5-flash · llm_agent",
        "gemini/gemini-2.5-flash · context_agent",
        "gemini/gemma-3-27b-it · hotel_calle · sim_13",
        "gemini/gemma-3-27b-it · hotel_calle · sim_4",
        "openai/gpt-4.1-mini · mock",
    )
    short_names = ["…llm_agent", "…context_agent", "gemini…sim_13", "gemini…sim_4", "openai/gpt…"]
    assert list(shorten_run_names(names, 14).values()) == short_names
    assert shorten_run_names(names, 24)[names[0]] == "gemini/gemini…llm_agent"

    # The column is as wide as these ends, because the difference is still comfortable to read.
    widths = ColumnWidths(item=18, model=44, run_names=names, has_difference=True)
    columns = dict(QueueColumns.fit_to_width(70, widths).columns)
    assert columns["model"] == 14 and columns["difference"] >= 28
    narrow_columns = dict(QueueColumns.fit_to_width(62, widths).columns)
    assert narrow_columns["model"] < 14


def test_run_at_cursor_is_named_if_the_list_cuts_its_name():
    place = QueueCursor(1, 4890, "claude-3-5-sonnet-20240620")
    assert (
        header.format_queue_facts([run_row()], View(), "", "", place, 40)
        == "claude-3-5-sonnet-20240620 · 1/4,890"
    )
    assert "all items" in header.format_queue_facts([run_row()], View(), "", "", place, 60)
    assert (
        header.format_queue_facts([run_row()], View(), "error:x", "", place, 32)
        == "claude-…onnet-20240620 · 1/4,890"
    )


def test_search_stays_named_beside_a_cut_run_name():
    def facts(filter_text, search_text, width):
        cursor = QueueCursor(1, 20, "gemini/gemini-2.5-flash · llm_agent")
        return header.format_queue_facts(
            [run_row()], View(), filter_text, search_text, cursor, width
        )

    both = facts("effective:fail", "reserv", 64)
    assert both.startswith("filter effective:fail · search reserv · ")
    assert both.endswith("llm_agent · 1/20") and display_width(both) == 64
    without_filter = facts("effective:fail", "reserv", 54)
    assert without_filter.startswith("search reserv · ")
    assert without_filter.endswith("llm_agent · 1/20")
    long_search = facts("", "reservation number of the passenger", 54)
    assert long_search.startswith("search reserv") and long_search.endswith("agent · 1/20")
    assert display_width(long_search) <= 54


def test_first_difference_keeps_room_beside_ids_and_models():
    """At 160 columns, the list has 70 cells within its border."""
    assert list_pane_width(160) == 74 and list_pane_width(120) == 54
    wide = ColumnWidths(
        item=40,
        model=24,
        category=20,
        has_rule=True,
        has_difference=True,
        constant=frozenset({"official"}),
    )
    assert dict(QueueColumns.fit_to_width(70, wide).columns)["difference"] >= 34
    assert dict(QueueColumns.fit_to_width(50, wide).columns)["difference"] >= 18


def test_failure_with_equal_calls_is_named():
    """The benchmark may be wrong, so an empty cell would hide it."""
    alike = dataclasses.replace(ROW, first_difference=None, error_type=None)
    assert difference_cell(alike) == "calls are equal"
    assert not difference_cell(dataclasses.replace(alike, official=True))
    assert not difference_cell(dataclasses.replace(alike, n_predicted=0))


def difference_cell(row: QueueRow) -> str:
    """Return the text of the difference column."""
    columns = QueueColumns.fit_to_width(80, column_widths(row, ROW))
    return plain_text(queue_row_line(row, columns)[-2:]).strip()


def test_empty_columns_are_omitted():
    assert "judge" not in row_texts(ROW, 160)
    assert row_texts(dataclasses.replace(ROW, judge=False), 160)["judge"] == "✗"
    assert "model" not in row_texts(ROW, 160)
    assert row_texts(ROW, 160, models=True)["model"] == ROW.model
    assert "rule" not in row_texts(dataclasses.replace(ROW, rule=None), 160)
    assert "category" not in row_texts(ROW, 160, repeats=True)


def test_question_has_its_own_heading_without_differences():
    none = dataclasses.replace(ROW, first_difference=None, error_type=None)
    assert row_texts(none, 100)["difference"] == "What is the weather?"
    columns = QueueColumns.fit_to_width(100, column_widths(none))
    assert "question" in plain_text(queue_heading_line(columns)) and "predicted" not in plain_text(
        queue_heading_line(columns)
    )
    both = QueueColumns.fit_to_width(100, column_widths(none, ROW))
    assert "golden → predicted" in plain_text(queue_heading_line(both))
    assert "weather" not in plain_text(queue_row_line(none, both))


def test_title_of_the_difference_is_shortened_to_whole_words():
    def heading(difference_cells: int) -> str:
        columns = QueueColumns((QueueColumn("difference", difference_cells),))
        return plain_text(queue_heading_line(columns)).strip()

    assert heading(40) == "first difference: golden → predicted"
    assert heading(30) == "golden → predicted"


def test_error_found_only_by_the_recomputed_verdict_is_shown():
    row = dataclasses.replace(ROW, error_type=None, rule_error_type="type_error:simple", rule=False)
    assert row_texts(row, 160)["difference"].endswith("   type_error:simple")
    assert "type_error" not in row_texts(dataclasses.replace(row, rule=True), 160)["difference"]


def test_blind_rows_contain_nothing_of_others():
    assert row_texts(ROW, 160, blind=True) == {
        "item": ROW.id,
        "category": ROW.category,
        "you": "?",
        "difference": "What is the weather?",
    }


def test_flags_mark_issues_and_stale_reviews():
    columns = QueueColumns.fit_to_width(80, ColumnWidths())
    assert plain_text(queue_row_line(dataclasses.replace(ROW, n_issues=1), columns)).startswith(
        "i "
    )
    assert queue_row_line(dataclasses.replace(ROW, n_issues=1), columns)[0] == ("i", "warn")
    assert queue_row_line(dataclasses.replace(ROW, stale=True), columns)[0] == ("↻", "warn")


def test_help_and_quit_hints_are_omitted_last():
    hints = [("enter", "open"), ("f", "filter"), ("c", "clusters"), ("q", "quit"), ("?", "help")]
    assert (
        plain_text(key_hints_line(hints, 80))
        == " enter open   f filter   c clusters   q quit   ? help"
    )
    assert plain_text(key_hints_line(hints, 45)) == " enter open f filter c clusters q quit ? help"
    assert plain_text(key_hints_line(hints, 44)) == " enter open   f filter   q quit   ? help"
    assert plain_text(key_hints_line(hints, 10)) == " q quit ? help"


def test_narrow_rates_drop_repeated_facts_first():
    runs = [
        run_row(),
        run_row(
            "b", official_known=3, rule_known=2, effective_known=3, effective_pass=3, n_issues=1
        ),
    ]
    for run in runs:
        run.info.needs_dataset = False
    whole, middle, narrow = (
        plain_text(header.rates_line(runs, cells)).strip() for cells in (96, 78, 69)
    )
    assert whole.startswith("official 85.7 % of 7   recomputed – (2 of 8)"), whole
    assert whole.endswith("1 import issue"), whole
    start = "official 85.7 % of 7   recomp. "
    assert (middle.startswith(start + "– (2 of 8)"), middle.endswith("1 issue")) == (True, True), (
        middle
    )
    assert (narrow.startswith(start + "–   "), narrow.endswith("1 issue"), "…" in narrow) == (
        True,
        True,
        False,
    ), narrow


def test_open_disagreements_are_named_with_their_key():
    run = run_row(disputed=10)
    run.info.needs_dataset = False
    wide, narrow = (
        plain_text(header.rates_line([run], cells, adjudicate_key="x")) for cells in (80, 58)
    )
    assert "10 disagreements: press x" in wide and "10 unresolved" in narrow
    assert "disagree" not in plain_text(
        header.rates_line([run], 80, blind=True, adjudicate_key="x")
    )


def test_repeated_rate_is_dropped_beside_an_item():
    full = {"rule_pass": 3, "rule_known": 4, "effective_pass": 3}

    def rates_text(cells: int = 50, **fields: int) -> str:
        run = run_row(**{**full, **fields})
        run.info.needs_dataset = False
        return plain_text(header.rates_line([run], cells)).strip()

    assert rates_text() == "official 75.0 %   corrected 75.0 %"
    assert rates_text(rule_pass=2) == "official 75.0 %   recomp. 50.0 %"
    assert rates_text(rule_pass=2, effective_pass=2) == "official 75.0 %   corrected 50.0 %"
    assert rates_text(60) == "official 75.0 %   recomputed 75.0 %   corrected 75.0 %"


def test_rates_have_a_denominator_if_incomplete():
    assert (format_pass_rate(3, 4, 4), format_pass_rate(3, 4, 9), format_pass_rate(0, 0, 9)) == (
        "75.0 %",
        "75.0 % of 4",
        "–",
    )
    assert plain_text(header.rates_line([run_row(), run_row("b", official_pass=1)], 60)).startswith(
        " official 50.0 %   corrected 100.0 %"
    )
    assert "%" not in plain_text(header.rates_line([run_row()], 60, blind=True))


@pytest.mark.parametrize("cells", [60, 80, 160])
@pytest.mark.parametrize("runs", [[run_row("m" * 200)], [run_row(), run_row("b")], [], None])
def test_top_line_fits_and_keeps_the_review_count(cells, runs):
    progress = header.top_progress_line(
        "annotator-with-a-long-name", ReviewProgress(3, 4), cells, n_reviewed_by_anyone=9
    )
    path = ("result/", *header.list_queue_breadcrumbs(runs, View(), "", ""))
    line = top_line(path, progress, cells)
    assert line_width(line) <= cells
    assert "3 of 4" in plain_text(line) and "ann" in plain_text(line)
    assert ("(9 by anyone)" in plain_text(line)) is (cells == 160)


def test_path_names_run_and_order_or_filter():
    one, two = [run_row("gpt-4o")], [run_row(), run_row("b")]
    assert header.list_queue_breadcrumbs(one, View(), "", "") == ("gpt-4o", "failures first")
    failing = View(where="effective:fail")
    assert header.list_queue_breadcrumbs(two, failing, failing.where, "") == ("2 runs", "failures")
    assert header.list_queue_breadcrumbs(two, View(where="official:fail"), "official:fail", "") == (
        "2 runs",
        "official:fail",
    )
    assert header.list_queue_breadcrumbs(two, View(items=(1, 2)), "", "") == (
        "2 runs",
        "2 selected items",
    )
    assert header.list_queue_breadcrumbs(None, View(), "", "") == ("opening",)


def test_facts_name_languages_after_the_benchmark():
    runs = [run_row(), run_row("b")]
    kind = runs[0].info.full_title
    runs[1].info.language = "zh"
    assert header.format_queue_facts(runs, View(), "", "", QueueCursor(1, 2), 80).startswith(
        f"{kind} en, zh · all items"
    )


def test_top_line_counts_others_if_they_reviewed_more():
    assert "by anyone" not in plain_text(
        header.top_progress_line("alice", ReviewProgress(1, 4), 120, n_reviewed_by_anyone=1)
    )
    assert plain_text(
        header.top_progress_line("alice", ReviewProgress(0, 4), 120, n_reviewed_by_anyone=3)
    ).endswith("0 of 4 reviewed (3 by anyone)   alice")
    assert plain_text(header.top_progress_line("alice", ReviewProgress(0, 4), 120)).endswith(
        "0 of 4 reviewed   alice"
    )


def test_facts_count_strong_suspects():
    view = View(queue="suspects")
    cursor = QueueCursor(1, 6, n_strong=4)
    text = header.format_queue_facts([run_row()], view, "", "", cursor, 80)
    assert text == "bfcl V4 · suspects, 4 strong items · 1/6"


def test_long_filter_replaces_the_order():
    text = header.format_queue_facts(
        [run_row()], View(), "effective:fail error:" + "x" * 40, "", QueueCursor(3, 85), 80
    )
    assert text == "filter effective:fail error:" + "x" * 40 + " · 3/85"
    short = header.format_queue_facts(
        [run_row()], View(), "effective:fail error:" + "x" * 90, "", QueueCursor(3, 85), 60
    )
    assert display_width(short) == 60 and short.endswith("… · 3/85")


def test_facts_show_filter_and_search_as_typed():
    view = View(where='(official:fail) text:"x"', queue="random", seed=7)
    text = header.format_queue_facts(
        [run_row()], view, "official:fail", "x", QueueCursor(3, 1200), 80
    )
    assert text == "bfcl V4 · filter official:fail · search x · order random (seed 7) · 3/1,200"


def test_wide_table_cuts_its_last_column_first():
    columns = (
        TextColumn("n", align_right=True),
        TextColumn("error", truncate=truncate_middle),
        TextColumn("example"),
    )
    rows = [
        [("1", ""), ("value_error:string", ""), ("e" * 50, "")],
        [("12", ""), ("x", ""), ("y", "")],
    ]
    heading, lines = lay_out_table(columns, rows, 40)
    assert plain_text(lines[0]) == " 1  value_error:string  eeeeeeeeeeeeeee…"
    assert plain_text(lines[1]).startswith("12  x ")
    assert plain_text(heading).index("example") == plain_text(lines[0]).index("e" * 10)
    narrow = lay_out_table(columns, rows, 24)[1]
    assert plain_text(narrow[0]) == " 1  val…:string  eeeeee…"


def test_keys_accept_full_ids_and_unambiguous_names():
    assert validate_keymap({"item.pass": "y", "clusters": "C"}) == {
        "item.pass": "y",
        "queue.clusters": "C",
    }
    for wrong in ({"nothing": "y"}, {"search": "y"}, {"item.pass": ","}):
        with pytest.raises(KeymapError):
            validate_keymap(wrong)


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [
        ("a.b.query not called", 20, "a.b.query not called"),
        ("Navigation.Traffic.query not called", 19, "…query not called"),
        ("x.y.view called (golden x.y.query)", 30, "…view called (golden …query)"),
        ('path "a.b.c.txt" (golden "d.e")', 20, 'path "a.b.c.txt" (g…'),
        ("user.address.city 3.5 (golden 4.25)", 24, "…city 3.5 (golden 4.25)"),
    ],
)
def test_dotted_names_in_a_difference_keep_their_last_part(
    text: str, cells: int, shown: str
) -> None:
    assert truncate_difference(text, cells) == shown


def test_names_that_are_too_long_break_after_a_sign():
    assert wrap_sanitized("Navigation.TrafficViolations.queryViolation", 31) == [
        "Navigation.TrafficViolations.",
        "queryViolation",
    ]
    assert wrap_sanitized("HRTimeOff_time_off_balance", 20) == ["HRTimeOff_time_off_", "balance"]
    assert wrap_sanitized("abcdefghijklmnop", 10) == ["abcdefghij", "klmnop"]


def test_filter_of_a_cluster_is_named_in_words() -> None:
    def path(where: str) -> str:
        return header.list_queue_breadcrumbs([run_row()], View(where=where), where, "")[-1]

    assert path("effective:fail error:type_error:simple") == "failures: value has the wrong type"
    assert path("effective:fail function:book") == "failures: function:book"
    assert path("effective:fail") == "failures" and path("official:fail") == "official:fail"


def test_harmless_notice_is_no_issue() -> None:
    notice = run_row(n_issues=2, n_notices=1, n_search_issues=1, n_search_notices=1)
    harmless = run_row(n_search_issues=1, n_search_notices=1)
    notice.info.needs_dataset = harmless.info.needs_dataset = False
    assert header.rates_line([notice], 120)[-1] == ("1 import issue ", "warn")
    assert header.rates_line([harmless], 120)[-1] == ("1 notice ", "dim")
