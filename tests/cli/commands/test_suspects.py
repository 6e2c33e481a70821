"""`fcreview suspects` lists golden answers that look wrong in all runs at a path."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.tau.read import read_scenario
from fcreview.store.rows import SUSPECTS_QUEUE, SuspectQuestions, View
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace

Cli = Callable[..., Any]

FIELDS = [
    *(
        "rank",
        "score",
        "benchmark",
        "generation",
        "language",
        "category",
        "id",
        "reasons",
        "n_runs",
        "n_failing",
    ),
    *("alternative", "strong", "same_question_as"),
]
FUNCTION = {
    "name": "distance",
    "parameters": {
        "type": "dict",
        "properties": {
            "to": {"type": "string", "description": "Where to."},
            "unit": {"type": "string", "description": "Default is 'km'."},
        },
        "required": ["to"],
    },
}
QUESTIONS = [
    ("Oslo", ["Oslo"], ["km", ""]),
    ("Rome", ["Roma"], ["km", ""]),
    ("Paris", ["Paris"], ["km"]),
]
"""City and golden values of each question.

The second golden answer is Italian, the third requires a default.
"""
MODELS = {"gpt-a": "", "claude-b": "", "mistral-c": ", unit='mile'"}
"""Additional arguments in the calls of each model."""


ITEM_NUMBERS = range(len(QUESTIONS))


def write_lines(path: Path, records: Sequence[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture
def suspect_runs(tmp_path: Path) -> Path:
    """A BFCL V4 run of three models with three questions, without scores."""
    root = tmp_path / "runs"
    write_category(root, "simple_python")
    return root


def write_category(
    root: Path, category: str, questions: Sequence[tuple[str, list[str], list[str]]] = QUESTIONS
) -> None:
    """Write the dataset and the results of all models for a category with these questions."""
    ids = [f"{category}_{number}" for number in ITEM_NUMBERS]
    texts = [
        [[{"role": "user", "content": f"How far is it to {city}?"}]] for city, _, _ in questions
    ]
    golden = [[{"distance": {"to": to, "unit": unit}}] for _, to, unit in questions]
    together = list(zip(ids, texts, golden, strict=True))
    name = f"BFCL_v4_{category}.json"
    write_lines(
        root / "data" / name,
        [{"id": n, "question": text, "function": [FUNCTION]} for n, text, _ in together],
    )
    write_lines(
        root / "data" / "possible_answer" / name,
        [{"id": n, "ground_truth": answer} for n, _, answer in together],
    )
    for model, more in MODELS.items():
        answers = [f"[distance(to='{city}'{more})]" for city, _, _ in questions]
        records = [{"id": n, "result": answer} for n, answer in zip(ids, answers, strict=True)]
        results = root / "result" / model / "non_live" / f"BFCL_v4_{category}_result.json"
        write_lines(results, records)


def test_questions_are_sorted_by_score(cli: Cli, suspect_runs: Path) -> None:
    found = cli("suspects", suspect_runs, "--json").objects
    assert [list(each) for each in found] == [FIELDS] * 3
    assert [each["rank"] for each in found] == [1, 2, 3]
    scores = [each["score"] for each in found]
    assert scores == sorted(scores, reverse=True)
    assert {each["id"] for each in found} == {f"simple_python_{at}" for at in range(3)}
    assert {
        (each["benchmark"], each["generation"], each["language"], each["n_runs"]) for each in found
    } == {("bfcl", "V4", "en", 3)}
    by_id = {each["id"]: each for each in found}
    assert by_id["simple_python_0"]["n_failing"] == 1
    assert by_id["simple_python_1"]["n_failing"] == 3
    assert any("default" in reason for reason in by_id["simple_python_2"]["reasons"])


def test_alternative_answer_has_models(cli: Cli, suspect_runs: Path) -> None:
    found = {each["id"]: each for each in cli("suspects", suspect_runs, "--json").objects}
    assert found["simple_python_1"]["alternative"] == {
        "answer": 'to: "Rome"',
        "models": ["claude-b", "gpt-a", "mistral-c"],
        "families": ["claude", "gpt", "mistral"],
    }


def test_filter_selects_questions_and_keeps_evidence(cli: Cli, suspect_runs: Path) -> None:
    everything = {each["id"]: each for each in cli("suspects", suspect_runs, "--json").objects}
    (one,) = cli("suspects", suspect_runs, "--json", "--where", "id:simple_python_1").objects
    assert one["rank"] == 1
    assert one["score"] == everything[one["id"]]["score"]
    assert one["n_runs"] == 3
    assert cli("suspects", suspect_runs, "--where", "oficial:fail").code == 2
    assert len(cli("suspects", suspect_runs, "--json", "--limit", "2").objects) == 2


def test_run_limits_questions_and_keeps_evidence(cli: Cli, suspect_runs: Path) -> None:
    listed = cli(
        "suspects",
        suspect_runs,
        "--json",
        "--run",
        "gpt-a",
        "--where",
        "official:fail OR rule:fail",
    ).objects
    assert [(each["id"], each["n_runs"]) for each in listed] == [
        ("simple_python_2", 3),
        ("simple_python_1", 3),
    ]
    assert cli("suspects", suspect_runs, "--run", "unknown").code == 1


def test_only_runs_at_path_count(cli: Cli, suspect_runs: Path) -> None:
    cli("import", suspect_runs)
    found = cli("suspects", suspect_runs / "result" / "gpt-a", "--json").objects
    assert [each["n_runs"] for each in found] == [1, 1, 1]


@pytest.mark.sweep
def test_reviews_change_scores(cli: Cli, suspect_runs: Path) -> None:
    def score(item: str) -> float:
        found = cli("suspects", suspect_runs, "--json").objects
        return float(next(each["score"] for each in found if each["id"] == item))

    before = score("simple_python_2")
    label = ["label", suspect_runs, "simple_python_1", "--run", "gpt-a", "--verdict"]
    assert cli(*label, "pass", "--fault", "golden").code == 0
    right = score("simple_python_2")
    assert cli(*label, "fail", "--fault", "model").code == 0
    assert score("simple_python_2") < before < right


def test_text_shows_reasons_and_next_steps(cli: Cli, suspect_runs: Path) -> None:
    out = cli("suspects", suspect_runs, "--limit", "2").out
    assert out.startswith("3 golden answers · 3 suspects · 1 strong suspect (score 0.5 or more)\n")
    for text in (
        "simple_python_1",
        "3 of 3 runs fail",
        "question: How far is it to Rome?",
        'this answer may be right: to: "Rome"',
    ):
        assert text in out
    assert "press g to mark the golden answer as wrong, G to correct it" in out
    assert "… 1 more golden answer. Use --limit N" in out


def test_repeated_questions_count_once(cli: Cli, suspect_runs: Path) -> None:
    """Two categories ask the same three questions, with the same golden answers."""
    write_category(suspect_runs, "multiple")
    out = cli("suspects", suspect_runs).out
    assert out.startswith("6 golden answers (3 questions) · 6 suspects (3 questions) · ")

    found = cli("suspects", suspect_runs, "--json").objects
    first_ranks = [each["rank"] for each in found if each["same_question_as"] is None]
    assert len(found) == 6 and len(first_ranks) == 3
    assert {each["same_question_as"] for each in found} == {None, *first_ranks}
    for each in found:
        number = each["id"].rpartition("_")[2]
        first = each["same_question_as"] or each["rank"]
        assert found[first - 1]["id"].endswith(f"_{number}")

    n_strong = len({each["id"].rpartition("_")[2] for each in found if each["strong"]})
    assert 0 < n_strong < 3
    text = cli("report", suspect_runs, "--markdown").out
    assert out.splitlines()[0] in text, "the report has the counts of the command"
    n_weak = 3 - n_strong
    assert f"golden answers: {n_strong} · {n_weak} weak, none confirmed yet" in text

    workspace = find_workspace(suspect_runs, create=False)
    with Store.open(workspace) as store:
        view = View(queue=SUSPECTS_QUEUE)
        assert store.count_items(view) == 6
        assert store.count_suspect_questions(view) == SuspectQuestions(all=3, strong=n_strong)


def test_report_marks_runs_that_may_be_as_good_as_the_best_run(
    cli: Cli, suspect_runs: Path
) -> None:
    """Two models give the same answers. Three questions do not show that the third is worse."""
    text = cli("report", suspect_runs, "--markdown").out
    assert "not clearly better than 2 other runs" in text
    assert text.count("=: the run may be as good as the best run") == 1
    for name in ("claude-b", "gpt-a =", "mistral-c ="):
        assert f"| {name} | 3 |" in text


def test_runs_without_dataset_are_reported(cli: Cli, suspect_runs: Path) -> None:
    """Golden answers are then known only for failures, so every counted run fails."""
    assert "no dataset" not in cli("suspects", suspect_runs).err
    (suspect_runs / "data").rename(suspect_runs.parent / "elsewhere")
    errors = cli("suspects", suspect_runs, "--workspace", suspect_runs.parent / "new").err
    assert "3 of 3 runs: no dataset" in errors and "counts only runs that fail" in errors


@pytest.fixture
def sibling_runs(suspect_runs: Path) -> Path:
    """The questions of `suspect_runs` in a second category, which accepts `Rome`."""
    questions = [(city, [city], units) for city, _, units in QUESTIONS]
    write_category(suspect_runs, "multiple", questions)
    return suspect_runs


def test_siblings_with_another_golden_answer_are_listed(cli: Cli, sibling_runs: Path) -> None:
    (found,) = cli("suspects", sibling_runs, "--siblings", "--json").objects
    assert (found["question"], found["corrected"]) == ("How far is it to Rome?", False)
    ids = [[item["id"] for item in answer["items"]] for answer in found["answers"]]
    assert ids == [["multiple_1"], ["simple_python_1"]]
    assert found["answers"][1]["only_here"] == ['distance(to="Roma", unit="km" or no value)']
    assert found["answers"][1]["missing_here"] == ['distance(to="Rome", unit="km" or no value)']
    assert found["answers"][1]["same_function_docs"] is True

    text = cli("suspects", sibling_runs, "--siblings").out
    assert "1 question has siblings with another golden answer (1 sibling)" in text
    assert "differs: simple_python_1 (V4)" in text
    assert '- only here: distance(to="Roma", unit="km" or no value)' in text


def test_accepted_correction_is_the_reference_of_its_siblings(cli: Cli, sibling_runs: Path) -> None:
    golden = [{"distance": {"to": ["Roma", "Rome"], "unit": ["km", ""]}}]
    fix = json.dumps({"ground_truth": golden})
    item = ("simple_python_1", "--run", "gpt-a")
    assert cli("label", sibling_runs, *item, "--golden-fix", fix, "--accept").code == 0
    (found,) = cli("suspects", sibling_runs, "--siblings", "--json").objects
    assert found["corrected"] is True
    reference, sibling = found["answers"]
    assert [item["id"] for item in reference["items"]] == ["simple_python_1"]
    assert sibling["missing_here"] == ['distance(to="Roma" or "Rome", unit="km" or no value)']
    assert "(corrected)" in cli("suspects", sibling_runs, "--siblings").out


def test_filter_limits_siblings_to_those_of_selected_items(cli: Cli, sibling_runs: Path) -> None:
    def list_siblings(*options: str) -> int:
        return len(cli("suspects", sibling_runs, "--siblings", "--json", *options).objects)

    assert list_siblings("--where", "id:multiple_1") == 1
    assert list_siblings("--where", "id:multiple_2") == 0
    assert list_siblings("--run", "gpt-a") == 1
    assert cli("suspects", sibling_runs, "--siblings", "--where", "oficial:fail").code == 2


def test_without_contradictions_a_sentence_says_so(cli: Cli, suspect_runs: Path) -> None:
    done = cli("suspects", suspect_runs, "--siblings")
    assert (done.code, done.out) == (0, "All siblings have the same golden answers.\n")


def test_tasks_of_two_releases_are_compared_by_their_instructions(
    cli: Cli, samples: Path, tmp_path: Path
) -> None:
    """The results of tau2-bench contain the tasks of their release."""
    source = samples / "tau" / "library_maple-8b.json"
    results = json.loads(source.read_text("utf-8"))
    runs = tmp_path / "runs"
    runs.mkdir()
    shutil.copy(source, runs / "old.json")
    task = results["tasks"][0]
    task["evaluation_criteria"]["actions"].pop()
    for simulation in results["simulations"]:
        for message in simulation["messages"]:
            if message["role"] == "user":
                message["content"] = f"Well. {message['content']}"
    (runs / "new.json").write_text(json.dumps(results))

    (found,) = cli("suspects", runs, "--siblings", "--json").objects
    assert found["question"] == read_scenario(task).instruction
    first, second = found["answers"]
    assert {item["id"] for answer in found["answers"] for item in answer["items"]} == {
        f"{task['id']}_trial_0"
    }
    names = {answer["items"][0]["run_name"] for answer in (first, second)}
    assert len(names) == 2
    assert len(first["only_here"] + first["missing_here"]) == 0
    assert len(second["only_here"] + second["missing_here"]) == 1
    text = cli("suspects", runs, "--siblings").out
    for name in names:
        assert f"{task['id']}_trial_0 (v2) in {name}" in text
