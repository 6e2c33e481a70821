"""Score entries of other replies, items scored twice, and items that were not run are reported."""

from __future__ import annotations

import pytest

from fcreview.importers.registry import discover
from fcreview.model.item import MissingItem
from tests.importers.acebench.conftest import (
    MULTI_TURN,
    SINGLE,
    RunWriter,
    make_failure,
    read_run,
    write_jsonl,
)


def write_run(run_writer: RunWriter, n_items: int = 4) -> None:
    run_writer.write_dataset(SINGLE, [{"find": {"place": "Oslo"}}] * n_items)
    run_writer.write_results(SINGLE, [f"[find(place='{number}')]" for number in range(n_items)])


def make_entry(number: int, quoted_number: int) -> dict[str, object]:
    return make_failure(SINGLE, number, "value_error:string", f"[find(place='{quoted_number}')]")


def test_few_entries_of_other_replies_are_marked(run_writer: RunWriter) -> None:
    write_run(run_writer)
    run_writer.write_scores(SINGLE, [make_entry(0, 0), make_entry(1, 1), make_entry(2, 7)], total=4)
    run = run_writer.read()
    assert [item.id for item in run.items.values() if "other_reply" in item.flags] == [
        f"{SINGLE}_2"
    ]
    assert list(run.official_verdicts.values()) == [False, False, False, True]
    assert "scores_of_other_replies" not in run.facts
    assert sum("quotes another reply" in issue.what for issue in run.issues) == 1


def test_scores_of_other_replies_are_not_used(run_writer: RunWriter) -> None:
    write_run(run_writer)
    run_writer.write_scores(SINGLE, [make_entry(0, 0), make_entry(1, 8), make_entry(2, 9)], total=4)
    (plan,) = discover([run_writer.root]).plans
    run = read_run(plan)
    assert set(run.official_verdicts.values()) == {None}
    assert plan.run.official_metrics == {}
    assert run.facts["scores_of_other_replies"].value == 2
    assert (
        run.facts["evaluator"].reason
        == "the newest version, because the scores belong to other replies"
    )
    (issue,) = [each for each in run.issues if "other replies" in each.what]
    assert issue.severity == "error" and "2 of 3 failing score entries" in issue.what
    assert run.items[f"{SINGLE}_1"].flags == ["other_reply"]


@pytest.mark.parametrize(
    ("reply", "quoted"),
    [
        ("[find( place = 'New York' )]", "[find(place='NewYork')]"),
        ("Sure: [find(place='New York')]", "[find(place='New York')]"),
        ("<think>a b</think>[find(place='x')]", "<think>ab</think>[find(place='x')]"),
        ("<think>a b</think>[find(place='x')]", "[find(place='x')]"),
        ("no calls", None),
        ("", ""),
    ],
)
def test_text_that_evaluator_decodes_is_no_other_reply(
    run_writer: RunWriter, reply: str, quoted: object
) -> None:
    run_writer.write_results(SINGLE, [reply])
    run_writer.write_scores(
        SINGLE, [make_failure(SINGLE, 0, "wrong_output_format", quoted)], total=1
    )
    run = run_writer.read()
    assert run.items[f"{SINGLE}_0"].flags in ([], ["undecoded"])
    assert run.official_verdicts == {f"{SINGLE}_0": False}


def test_multi_turn_and_special_entries_are_compared(run_writer: RunWriter) -> None:
    replies = {MULTI_TURN: "[find(place = 'x')]", "special_irrelevant": "I cannot"}
    run_writer.write_results(MULTI_TURN, [replies[MULTI_TURN]])
    run_writer.write_results("special_irrelevant", [replies["special_irrelevant"]])
    run_writer.write_scores(
        MULTI_TURN, [make_failure(MULTI_TURN, 0, "type_error", "[find(place='x')]")], total=1
    )
    special = {
        "id": "special_irrelevant_0",
        "valid": False,
        "error": ["e"],
        "error_type": "error_detection",
    }
    run_writer.write_scores(
        "special_irrelevant", [special | {"model_result_decoded": "another text"}], total=1
    )
    run = run_writer.read()
    assert [item.id for item in run.items.values() if "other_reply" in item.flags] == [
        "special_irrelevant_0"
    ]


def test_process_entry_with_other_messages_is_marked(run_writer: RunWriter) -> None:
    category = "agent_multi_step"
    folder = run_writer.root / f"result_all/result_en/{run_writer.model}"
    records = [
        {"id": f"{category}_{number}", "result": [], "process": [f"[f{number}()]"]}
        for number in range(3)
    ]
    write_jsonl(folder / f"data_{category}_result.json", records)
    entries = [
        {
            f"{category}_{number}": {
                "process_accuracy": 0.5,
                "model_output": [output],
                "call_process": ["[a()]"],
            }
        }
        for number, output in ((0, "[f0()]"), (1, "[other()]"), (2, "[f2()]"))
    ]
    run_writer.write_scores(
        category, [{"id": number, "valid": False} for number in range(3)], total=3
    )
    write_jsonl(run_writer.root / f"score_all/score_en/m/data_{category}_process.json", entries)
    run = run_writer.read()
    assert [item.id for item in run.items.values() if "other_reply" in item.flags] == [
        f"{category}_1"
    ]


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ({}, "no score file has process_accuracy and total_count"),
        (
            {"process_accuracy": 0.5, "total_count": 1},
            "it has 2 entries, but the score file counts only 1 item.",
        ),
    ],
)
def test_reason_against_process_file_is_stated(
    run_writer: RunWriter, header: dict[str, object], problem: str
) -> None:
    category = "agent_multi_step"
    results = run_writer.root / f"result_all/result_en/{run_writer.model}"
    scores = run_writer.root / "score_all/score_en/m"
    ids = [f"{category}_{number}" for number in range(2)]
    records = [{"id": each, "result": [], "process": ["[f()]"]} for each in ids]
    write_jsonl(results / f"data_{category}_result.json", records)
    process = {"process_accuracy": 0.5, "model_output": ["[f()]"], "call_process": ["[a()]"]}
    write_jsonl(scores / f"data_{category}_process.json", [{each: process} for each in ids])
    failure = {"id": 0, "valid": False}
    write_jsonl(scores / f"data_{category}_score.json", [{"accuracy": 0.5, **header}, failure])
    (issue,) = [each for each in run_writer.read().issues if "process accuracies" in each.what]
    assert problem in issue.what
    assert issue.severity == "error"


def test_item_scored_twice_is_marked(run_writer: RunWriter) -> None:
    write_run(run_writer)
    run_writer.write_scores(SINGLE, [make_entry(0, 0), make_entry(1, 1), make_entry(1, 1)], total=4)
    run = run_writer.read()
    assert [item.id for item in run.items.values() if "scored_twice" in item.flags] == [
        f"{SINGLE}_1"
    ]


def test_missing_results_are_listed(run_writer: RunWriter) -> None:
    write_run(run_writer, n_items=3)
    run_writer.write_dataset(SINGLE, [{"find": {"place": "Oslo"}}] * 5)
    run = run_writer.read()
    assert run.not_run == [MissingItem(f"{SINGLE}_3", SINGLE), MissingItem(f"{SINGLE}_4", SINGLE)]
    assert (run.facts["expected_items"].value, run.facts["expected_items"].reason) == (
        5,
        "the dataset's items of 1 category of the run",
    )


def test_category_without_results_is_not_missing(run_writer: RunWriter) -> None:
    write_run(run_writer)
    run_writer.write_dataset(MULTI_TURN, [{"find": {"place": "Oslo"}}])
    run = run_writer.read()
    assert run.not_run == [] and run.facts["expected_items"].value == 4


def test_dataset_with_other_ids_does_not_tell_missing_items(run_writer: RunWriter) -> None:
    write_run(run_writer)
    run_writer.write_dataset(SINGLE, [{"find": {"place": "Oslo"}}] * 2)
    run = run_writer.read()
    assert run.not_run == [] and "expected_items" not in run.facts


def test_run_without_dataset_has_no_expected_items(run_writer: RunWriter) -> None:
    run_writer.write_results(SINGLE, ["[f()]"])
    assert "expected_items" not in run_writer.read().facts
