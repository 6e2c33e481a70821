"""Replies are decoded by the rules of August or October 2025, and the score files decide which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.acebench.decoding import (
    AUGUST_2025,
    MAX_CACHED_TEXT,
    OCTOBER_2025,
    RULE_SETS,
    RuleSet,
    decode_call_list,
    decode_reply,
    find_first_brackets,
)
from fcreview.importers.common.records import Undecodable
from fcreview.importers.registry import discover
from tests.importers.acebench.conftest import (
    CASES,
    MULTI_TURN,
    PARALLEL,
    SINGLE,
    ReadRun,
    RunWriter,
    make_failure,
    read_run,
)


def read_case(name: str, **options: str) -> ReadRun:
    (plan,) = discover([CASES / name]).plans
    return read_run(plan, **options)


@pytest.mark.parametrize(
    ("reply", "brackets"),
    [
        ("[f(a=1)]", "[f(a=1)]"),
        ("Sure: [f(a='x y')] or [g()]", "[f(a='x y')]"),
        ("```python\n[f(a=[1, [2]])]\n```", "[f(a=[1, [2]])]"),
        ("<think>[a]</think>[f()]", "[a]"),
        ("[f(a=']')]", "[f(a=']"),  # brackets in strings count
        ("f(a=1), g(b=2)", None),
        ("[f(a=1)", None),
        ("] [f()]", None),  # the depth is negative, so this bracket begins no text
        ("] [[f()]", "[f()]"),
        ("", None),
    ],
)
def test_first_balanced_brackets_are_decoded(reply: str, brackets: str | None) -> None:
    assert find_first_brackets(reply) == brackets


def test_october_rules_keep_white_space_in_strings() -> None:
    reply = "[f(a='x y', b=[ 'c d' ])]"
    assert decode_reply(reply, SINGLE, OCTOBER_2025) == [("f", {"a": "x y", "b": ["c d"]})]
    assert decode_reply(reply, SINGLE, AUGUST_2025) == [("f", {"a": "xy", "b": ["cd"]})]


@pytest.mark.parametrize("rule_set", RULE_SETS)
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("today()", {"today": {}}),
        ("cal.today(1)", {"cal.today": {}}),
        ("[today(), date(day=now())]", [{"today": {}}, {"date": {"day": {"now": {}}}}]),
        ("len('ab')+1", 3),
        ("x[f()]", "x[f()]"),
    ],
)
def test_nested_calls_are_objects(argument: str, value: object, rule_set: RuleSet) -> None:
    assert decode_reply(f"[g(a={argument})]", SINGLE, rule_set) == [("g", {"a": value})]


def test_multi_turn_categories_keep_august_rules() -> None:
    assert decode_reply("[f(a='x y')]", MULTI_TURN, OCTOBER_2025) == [("f", {"a": "xy"})]
    with pytest.raises(Undecodable):
        decode_reply("Sure: [f(a='x')]", MULTI_TURN, OCTOBER_2025)


@pytest.mark.parametrize("options", [{}, {"evaluator": OCTOBER_2025}])
def test_replies_without_scores_are_judged_by_newest_rules(options: dict[str, str]) -> None:
    run = read_case("10-acebench-october-2025-rules", **options)
    assert set(run.verdicts.values()) == {True} and len(run.verdicts) == 4
    assert run.facts["evaluator"].value == OCTOBER_2025


def test_user_chooses_rules() -> None:
    run = read_case("10-acebench-october-2025-rules", evaluator=AUGUST_2025)
    assert [item_id for item_id, verdict in run.verdicts.items() if verdict] == [f"{PARALLEL}_0"]
    assert (run.facts["evaluator"].value, run.facts["evaluator"].reason) == (
        AUGUST_2025,
        "chosen by the user",
    )


def test_brackets_in_thoughts_come_before_calls() -> None:
    run = read_case("26-acebench-think-block")
    assert list(run.verdicts.values()) == [True, True, False]
    failing = run.items[f"{SINGLE}_2"]
    assert failing.rule_error_type == "wrong_output_format"
    assert "the first brackets of the reply are [Austria]" in str(failing.verdicts[-1].rationale)
    assert failing.flags == ["undecoded"]


def test_thoughts_before_calls_are_shown_as_reasoning() -> None:
    item = read_case("26-acebench-think-block").items[f"{SINGLE}_1"]
    thoughts = [message.content for message in item.messages if message.name == "reasoning"]
    assert thoughts == ["The city is Linz."]
    assert [call.arguments for call in item.predicted] == [{"city": "Linz"}]


def test_think_block_fails_by_august_rules() -> None:
    run = read_case("26-acebench-think-block", evaluator=AUGUST_2025)
    assert set(run.verdicts.values()) == {False}


SPACED = "[find(place='New York')]"
WORDY = "Sure: [find(place='Rome')]"


def write_run_with_different_rules(run_writer: RunWriter) -> None:
    """Write four items, two of which the rules judge differently."""
    golden = [{"find": {"place": place}} for place in ("Oslo", "Rome", "Bonn", "Graz")]
    run_writer.write_dataset(SINGLE, golden)
    run_writer.write_results(
        SINGLE, ["[find(place='Oslo')]", WORDY, SPACED, "[find(place='Graz')]"]
    )


def test_scores_choose_august_rules(run_writer: RunWriter) -> None:
    write_run_with_different_rules(run_writer)
    wordy = make_failure(SINGLE, 1, "wrong_output_format", "Sure:[find(place='Rome')]")
    spaced = make_failure(SINGLE, 2, "value_error:string", "[find(place='NewYork')]")
    run_writer.write_scores(SINGLE, [wordy, spaced], total=4)
    run = run_writer.read()
    fact = run.facts["evaluator"]
    assert (fact.value, fact.reason) == (
        AUGUST_2025,
        "agrees with 4 of 4 score entries; 2025-10 with 2",
    )
    assert run.verdicts == run.official_verdicts


def test_scores_choose_october_rules(run_writer: RunWriter) -> None:
    write_run_with_different_rules(run_writer)
    run_writer.write_scores(
        SINGLE, [make_failure(SINGLE, 2, "value_error:string", SPACED)], total=4
    )
    run = run_writer.read()
    fact = run.facts["evaluator"]
    assert (fact.value, fact.reason) == (
        OCTOBER_2025,
        "agrees with 4 of 4 score entries; 2025-08 with 2",
    )
    assert run.verdicts == run.official_verdicts


def test_scores_choose_rules_without_dataset(run_writer: RunWriter) -> None:
    run_writer.write_results(SINGLE, ["[find(place='Oslo')]", WORDY, SPACED])
    entries = [
        make_failure(SINGLE, 1, "wrong_output_format", "Sure:[find(place='Rome')]"),
        make_failure(SINGLE, 2, "value_error:string", "[find(place='NewYork')]"),
    ]
    run_writer.write_scores(SINGLE, entries, total=3)
    run = run_writer.read()
    assert (run.facts["evaluator"].value, run.facts["evaluator"].reason) == (
        AUGUST_2025,
        "agrees with 3 of 3 score entries; 2025-10 with 1",
    )
    assert run.official_verdicts[f"{SINGLE}_0"] is True


def test_option_overrides_scores(run_writer: RunWriter) -> None:
    write_run_with_different_rules(run_writer)
    run_writer.write_scores(
        SINGLE, [make_failure(SINGLE, 2, "value_error:string", SPACED)], total=4
    )
    run = run_writer.read(evaluator=AUGUST_2025)
    assert run.facts["evaluator"].value == AUGUST_2025
    assert run.verdicts[f"{SINGLE}_1"] is False and run.official_verdicts[f"{SINGLE}_1"] is True


NEW_PARALLEL_ERROR = "Parallel function call failed; excepted [...], real: [...]"


@pytest.mark.parametrize(
    ("error", "rule_set", "reason"),
    [
        (NEW_PARALLEL_ERROR, OCTOBER_2025, "agrees with 1 of 1 score entry; 2025-08 with 0"),
        (
            "wrong value",
            AUGUST_2025,
            "agrees with 1 of 1 score entry, as does the other version; the error texts",
        ),
    ],
)
def test_error_text_of_several_calls_tells_rules(
    run_writer: RunWriter, error: str, rule_set: str, reason: str
) -> None:
    run_writer.write_dataset(PARALLEL, [{"find_1": {"place": "Oslo"}, "find_2": {"place": "Rome"}}])
    reply = "[find(place='Bonn'),find(place='Graz')]"
    run_writer.write_results(PARALLEL, [reply])
    entry = make_failure(PARALLEL, 0, "value_error:string", reply, error=[error])
    run_writer.write_scores(PARALLEL, [entry], total=1)
    fact = run_writer.read().facts["evaluator"]
    assert fact.value == rule_set and fact.reason.startswith(reason)


def test_equal_agreement_chooses_newest_rules(run_writer: RunWriter) -> None:
    run_writer.write_dataset(SINGLE, [{"find": {"place": "Oslo"}}])
    run_writer.write_results(SINGLE, ["[find(place='Oslo')]"])
    run_writer.write_scores(SINGLE, [], total=1)
    fact = run_writer.read().facts["evaluator"]
    assert (fact.value, fact.reason) == (
        OCTOBER_2025,
        "agrees with 1 of 1 score entry, as does the other version; the newest version is used",
    )


def test_scores_of_another_evaluator_are_reported(run_writer: RunWriter) -> None:
    write_run_with_different_rules(run_writer)
    entries = [make_failure(SINGLE, 0, "type_error", "[find(place='Oslo')]")]
    run_writer.write_scores(SINGLE, entries, total=4)
    (issue,) = [each for each in run_writer.read().issues if "fit no version" in each.what]
    assert "2025-10 agrees with 2 of 4 score entries; 2025-08 with 1" in issue.what


def test_listed_item_that_matches_later_answer_agrees(run_writer: RunWriter) -> None:
    """The evaluator lists an item that fails the first golden answer, although it counts the
    item as correct.
    """
    run_writer.write_dataset(
        SINGLE, [[{"find": {"place": "Oslo"}}, {"find": {"place": "New York"}}]]
    )
    run_writer.write_results(SINGLE, [SPACED])
    run_writer.write_scores(
        SINGLE, [make_failure(SINGLE, 0, "value_error:string", SPACED)], total=1
    )
    reason = run_writer.read().facts["evaluator"].reason
    assert reason == "agrees with 1 of 1 score entry; 2025-08 with 0"


def test_special_and_agent_items_do_not_depend_on_rules(bench: Path) -> None:
    (plan,) = [each for each in discover([bench / "acebench"]).plans if each.run.language == "en"]
    plan.results = [path for path in plan.results if "special" in path.name or "agent" in path.name]
    runs: list[dict[str, Any]] = [
        read_run(plan, evaluator=each).verdicts for each in (AUGUST_2025, OCTOBER_2025)
    ]
    assert runs[0] == runs[1]


def test_published_scores_choose_august_rules(bench: Path) -> None:
    for plan in discover([bench / "acebench"]).plans:
        plan.results = [path for path in plan.results if "atom" in path.name]
        fact = read_run(plan).facts["evaluator"]
        assert fact.value == AUGUST_2025
        assert fact.reason.startswith("agrees with 300 of 300 score entries; 2025-10 with 2")


def test_text_that_is_decoded_again_has_the_same_calls() -> None:
    text = "[f(a='x', b=today(), c=[now()])]"
    calls = decode_call_list(text)
    assert calls == [("f", {"a": "x", "b": {"today": {}}, "c": [{"now": {}}]})]
    assert decode_call_list(text) is calls


def test_calls_of_a_long_text_do_not_stay_in_memory() -> None:
    long_value = "x" * MAX_CACHED_TEXT
    text = f"[f(a='{long_value}')]"
    calls = decode_call_list(text)
    assert calls == [("f", {"a": long_value})]
    assert decode_call_list(text) is not calls
