"""Filters find the right items, errors have a position, and values never become SQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.model.item import AcceptedValues, Call, ImportIssue, Message
from fcreview.store.filters.parser import (
    FILTER_FLAGS,
    FILTER_KEYS,
    FilterError,
    list_filter_help,
    parse_filter,
    quote,
)
from fcreview.store.filters.search_sql import escape_regex
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.store import Store, View
from fcreview.store.workspace import find_workspace
from tests.examples import examples
from tests.store.factory import make_item, write_run

ITEMS = [
    make_item(0),
    make_item(
        1,
        official=True,
        rule=False,
        category="live_simple",
        rule_error_type="type_error:simple",
        messages=[Message(0, 0, role="tool", content="celsius, to [İstanbul] (a+b)? \\ {1} ^$.| ")],
    ),
    make_item(
        2,
        official=None,
        rule=False,
        category="live_multiple",
        error_type=None,
        rule_error_type="wrong_count",
    ),
    make_item(3, error_type="Value_Error", diff_argument="100%_sure", id='say "hi" \\ OR'),
    make_item(
        4,
        official=True,
        n_turns=3,
        tokens_in=900,
        tokens_out=200,
        latency=2.75,
        group="talk-1",
        messages=[Message(0, 0, role="tool", content="Straße der JUNI")],
        golden=[
            Call("golden", "cd", arguments={"folder": AcceptedValues(["temp"])}),
            Call("golden", "ls", arguments={}),
        ],
        issues=[ImportIssue("f", 1, what="odd")],
    ),
    make_item(
        5,
        official=False,
        rule=False,
        judge=True,
        error_type=None,
        rule_error_type=None,
        diff_function=None,
    ),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    place = tmp_path_factory.mktemp("filters")
    plans = [
        write_run(place / "gpt-4o", [{}], "gpt-4o"),
        write_run(place / "other", [{}], "Maple-8B"),
    ]
    workspace = find_workspace(place)
    import_runs(
        workspace, plans, lambda plan: iter(ITEMS if plan.run.model == "gpt-4o" else [make_item(9)])
    )
    with Store.open(workspace, "alice") as store:
        yield store


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "0123459"),
        ("official:fail", "0359"),
        ("official:pass", "14"),
        ("official:unknown", "2"),
        ("official:pass|unknown", "124"),
        ("official:pass,unknown", "124"),
        ("-official:pass", "02359"),
        ("official!=pass", "02359"),
        ("rule:fail official:pass", "1"),
        ("effective:fail", "02359"),
        ("judge:pass", "5"),
        ("disagree", "15"),
        ("reviewed", ""),
        ("-reviewed category:live_simple", "1"),
        ("human:none you:none -stale", "0123459"),
        ("category:live_*", "12"),
        ("category:live", "12"),
        ("category:liv", ""),
        ('category:"live"', ""),
        ("category:LIVE_SIMPLE", "1"),
        ('category:"LIVE_SIMPLE"', ""),
        ("error:value_error", "039"),
        ("error:value_error:string", "09"),
        ('error:"value_error"', ""),
        ("error:wrong_count", "2"),
        ("error:none official:fail", "5"),
        ("rule_error:type_error", "1"),
        ("function:get_weather", "0239"),
        ("function:none", "145"),
        ("argument:100%_sure", "3"),
        ("argument:100*", "3"),
        ("argument:c%y", ""),
        ("argument:c_ty", ""),
        ("calls:ls", "4"),
        ("calls:get_*", "0123459"),
        ("group:talk-1", "4"),
        ("id:simple_1", "1"),
        ('id:"say \\"hi\\" \\\\ OR"', "3"),
        ("model:maple-8b", "9"),
        ("run:1", "012345"),
        ("run:other", "9"),
        ("benchmark:bfcl generation:v4 language:en", "0123459"),
        ("generation:V3", ""),
        ('text:"straße der juni"', "4"),
        ("text:celsius", "012359"),
        ("text!=celsius", "4"),
        ("text:TEMP", "4"),
        ("text:hangzhou", "0123459"),
        ("text:h.ngzhou", ""),
        ("text:istanbul", "1"),
        ('text:"[İSTANBUL] (a+b)? \\\\ {1} ^$.|"', "1"),
        ("golden>1", "4"),
        ("golden:>=1 predicted=1 golden<2", "012359"),
        ("golden:1|2", "0123459"),
        ("golden!=1", "4"),
        ("turns>=3", "4"),
        ("tokens>1000", "4"),
        ("tokens=0", "012359"),
        ("latency>2.5", "4"),
        ("latency:none", "012359"),
        ("issues", "4"),
        ("issues>=1", "4"),
        ("-issues run:2", "9"),
        ("say", "3"),
        ('"city 4"', "4"),
        ("city 4", "4"),
        ("SIMPLE_4", "4"),
        ("id:simple_0 OR id:simple_1", "01"),
        ("(id:simple_0 or id:simple_1) official:pass", "1"),
        ("-(id:simple_0 OR official:pass)", "2359"),
        ("--official:pass", "14"),
        ("tag:x", ""),
        ("fault:golden", ""),
        ("annotator:bob", ""),
    ],
)
def test_filter_finds_items(store: Store, text: str, expected: str) -> None:
    view = View(where=text, queue="dataset")
    found = store.fetch_page(view, 0, 100)
    assert sorted(row.question[-2] for row in found) == sorted(expected)
    assert store.count_items(view) == len(expected)


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("offical:fail", 0, "did you mean official:?"),
        ("rule:fail catgory:x", 10, "did you mean category:?"),
        ("zzzzz:1", 0, "Use one of official"),
        ("official:maybe", 9, "use one of pass, fail"),
        ("official:pass|maybe", 14, "use one of pass, fail"),
        ("golden>two", 7, "not a number"),
        ("golden>nan", 7, "not a number"),
        ("category>3", 9, "compares only numbers"),
        ("error:", 6, "a value is missing"),
        ("category:a| ", 11, "a value is missing"),
        ('text:"open', 5, "unclosed quotation mark"),
        ("(rule:fail", 0, "unclosed parenthesis"),
        ("rule:fail)", 9, "unmatched closing"),
        ("rule:fail OR", 12, "condition is missing"),
        ("()", 1, "condition is missing"),
        ("-" * 100 + "a", 41, "too deeply"),
        ("a " * 201, 400, "more than 200"),
        ("a" * 10_001, 10_000, "at most"),
        ("ab\ud800", 2, "lone surrogate"),
    ],
)
def test_filter_error_has_a_position(text: str, position: int, says: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(text)
    assert caught.value.position == position
    assert says in caught.value.message
    shown, caret = caught.value.format_with_caret().split("\n")
    assert len(shown) == len(text)
    assert caret.startswith(" " * position + "^ ")


@pytest.mark.parametrize(
    "text",
    ["official:pass", "rule:fail", "error:x", "human:none", "-(a OR disagree)", "tag:x", "issues"],
)
def test_blind_mode_refuses_keys_of_other_verdicts(text: str) -> None:
    parse_filter(text)
    with pytest.raises(FilterError, match="blind"):
        parse_filter(text, blind=True)


def test_blind_mode_allows_other_keys() -> None:
    parse_filter("you:none -reviewed category:x text:y golden>1 stale", blind=True)
    names = [name for name, _ in list_filter_help(blind=True)]
    assert "category:" in names
    assert "you:" in names
    assert not {"official:", "rule:", "judge:", "human:", "effective:", "error:", "disagree"} & set(
        names
    )
    assert len(list_filter_help()) == len(FILTER_KEYS) + len(FILTER_FLAGS)


WORDS = st.sampled_from(
    [
        *FILTER_KEYS,
        *FILTER_FLAGS,
        ":",
        ">",
        "<=",
        "!=",
        "(",
        ")",
        "-",
        "OR",
        '"',
        "|",
        ",",
        " ",
        "pass",
        "3",
        "*",
        "\\",
    ]
)


def test_items_are_selected_by_number(store: Store) -> None:
    every = [row.item for row in store.fetch_page(View(queue="dataset"), 0, 10)]
    chosen = [
        row.item for row in store.fetch_page(View(f"item:{every[3]},{every[0]}", "dataset"), 0, 10)
    ]
    assert chosen == [every[0], every[3]]
    assert store.count_items(View(f"-item:{every[0]}")) == len(every) - 1
    with pytest.raises(FilterError, match="is not a valid item number"):
        store.count_items(View("item:x"))


@examples(2)
@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=15).map("".join)))
def test_any_text_is_a_filter_error_or_runs(store: Store, text: str) -> None:
    try:
        found = parse_filter(text)
    except FilterError as error:
        assert 0 <= error.position <= len(text)
        return
    assert found.where.count("?") == len(found.params)
    store.count_items(View(where=text))


@examples(1)
@given(
    st.sampled_from(["category", "error", "id", "text", "model", "tag", "calls", "run"]),
    st.text(max_size=40),
)
def test_values_never_become_sql(key: str, value: str) -> None:
    harmless, given_ = parse_filter(f"{key}:{quote('x')}"), parse_filter(f"{key}:{quote(value)}")
    assert given_.where == harmless.where
    assert set(given_.params) <= {value, escape_regex(value)}


def test_parser_reads_quoted_values(store: Store) -> None:
    assert store.count_items(View(where=f"id:{quote(ITEMS[3].id)}")) == 1


def test_injection_attempt_is_only_text(store: Store, tmp_path: Path) -> None:
    for attempt in ("'); DROP TABLE human; --", "x' OR 1=1 --", '" OR true', "%'"):
        assert store.count_items(View(where=f"category:{quote(attempt)}")) == 0
    assert store.count_items(View()) == 7
