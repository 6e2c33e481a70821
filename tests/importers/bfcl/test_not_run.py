"""Items of the dataset without a result are reported as not run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item, MissingItem, RunFact
from fcreview.run_plan import RunPlan
from tests.importers.bfcl.conftest import CATEGORY, RESULT, SCORE

CASES = Path(__file__).parents[2] / "cases" / "bfcl"
RESULT_FILE = "result/m/non_live/BFCL_v4_{}_result.json"


def read_coverage(plan: RunPlan) -> tuple[list[MissingItem], RunFact | None]:
    """Return the missing items of a run, and the number of expected items."""
    records = list(read_items(plan))
    facts = [
        record
        for record in records
        if isinstance(record, RunFact) and record.name == "expected_items"
    ]
    missing = [record for record in records if isinstance(record, MissingItem)]
    return missing, facts[0] if facts else None


def count_items(plan: RunPlan) -> int:
    return sum(isinstance(record, Item) for record in read_items(plan))


def write_questions(
    v4: Path, write_lines: Any, question: Any, category: str, ids: list[str]
) -> None:
    write_lines(v4 / f"data/BFCL_v4_{category}.json", *(question(item_id) for item_id in ids))


def test_results_of_few_items_name_the_others(
    question: Any, write_lines: Any, tmp_path: Path
) -> None:
    write_questions(
        tmp_path, write_lines, question, CATEGORY, [f"{CATEGORY}_{n}" for n in range(400)]
    )
    (plan,) = discover([CASES / "07-partial-run"], data=[tmp_path / "data"]).plans
    missing, fact = read_coverage(plan)
    assert fact is not None
    assert (fact.value, fact.reason) == (400, "the category of the dataset")
    assert len(missing) == 397
    assert missing[0] == MissingItem("simple_python_2", CATEGORY)
    assert "simple_python_3" not in {each.id for each in missing}
    assert count_items(plan) == 3  # `simple_python_1` was run twice


def test_complete_run_lacks_nothing(v4: Path, plans: Any) -> None:
    (plan,) = plans(v4)
    assert read_coverage(plan) == ([], RunFact("expected_items", 2, "the category of the dataset"))


def test_category_without_results_is_named_but_not_counted(
    v4: Path, plans: Any, write_lines: Any, question: Any
) -> None:
    for category in ("multiple", "web_search"):
        write_questions(v4, write_lines, question, category, [f"{category}_0"])
    (plan,) = plans(v4)
    missing, fact = read_coverage(plan)
    assert missing == []
    assert fact is not None
    assert fact.value == 2
    assert fact.reason == (
        "1 of 4 categories of the dataset; no results for multiple, web_search_base,"
        " web_search_no_snippet"
    )


@pytest.mark.parametrize(
    ("category", "stem", "dataset_id", "result_id"),
    [
        ("memory_kv", "memory", "memory_{}-customer-{}", "memory_kv_{}-customer-{}"),
        ("web_search_no_snippet", "web_search", "web_search_{}", "web_search_no_snippet_{}"),
        ("live_simple", "live_simple", "live_simple_{}-{}-0", "live_simple_{}-{}-0"),
    ],
)
def test_missing_items_have_ids_of_results(
    v4: Path,
    plans: Any,
    write_lines: Any,
    question: Any,
    result: Any,
    category: str,
    stem: str,
    dataset_id: str,
    result_id: str,
) -> None:
    write_questions(v4, write_lines, question, stem, [dataset_id.format(n, n) for n in range(3)])
    write_lines(v4 / RESULT_FILE.format(category), result(result_id.format(1, 1)))
    (plan,) = plans(v4)
    missing, fact = read_coverage(plan)
    assert missing == [MissingItem(result_id.format(n, n), category) for n in (0, 2)]
    assert fact is not None
    assert fact.value == 2 + 3


def test_failing_item_without_result_is_not_missing(
    v4: Path, plans: Any, write_lines: Any, result: Any
) -> None:
    write_lines(v4 / RESULT, result(f"{CATEGORY}_0"))
    (plan,) = plans(v4)
    assert read_coverage(plan)[0] == []


def test_numbers_of_v1_are_positions_in_dataset(
    tmp_path: Path, plans: Any, write_lines: Any, question: Any, result: Any
) -> None:
    name = "gorilla_openfunctions_v1_test_simple"
    write_lines(
        tmp_path / f"data/{name}.json", *(question(f"simple_{n}", v1=True) for n in range(4))
    )
    write_lines(
        tmp_path / f"result/m/{name}_result.json", result(1, key="idx"), result(3, key="idx")
    )
    (plan,) = plans(tmp_path)
    assert [each.id for each in read_coverage(plan)[0]] == ["simple_0", "simple_2"]


def test_items_of_other_dataset_version_are_unknown(
    v4: Path, plans: Any, write_lines: Any, question: Any, result: Any
) -> None:
    write_questions(
        v4, write_lines, question, "multiple", [f"multiple_{n}-{n}-0" for n in range(9)]
    )
    write_lines(
        v4 / RESULT_FILE.format("multiple"), *(result(f"multiple_{n}-{n + 1}-0") for n in range(5))
    )
    (plan,) = plans(v4)
    missing, fact = read_coverage(plan)
    assert missing == []
    assert fact is not None
    assert fact.value == count_items(plan) == 7
    assert fact.reason.endswith(
        "not compared with the dataset: multiple (5 results are not in the dataset)"
    )


@pytest.mark.parametrize(
    ("category", "reason"),
    [
        ("sql", "not scored"),
        ("format_sensitivity", "depend on the prompt formats"),
        ("my_domain", "no dataset"),
    ],
)
def test_reason_names_categories_that_cannot_be_counted(
    v4: Path, plans: Any, write_lines: Any, question: Any, result: Any, category: str, reason: str
) -> None:
    if category == "sql":
        write_questions(v4, write_lines, question, category, [f"sql_{n}" for n in range(9)])
    write_lines(
        v4 / RESULT_FILE.format(category), result(f"{category}_0:ret_fmt=json:{CATEGORY}_0")
    )
    (plan,) = plans(v4)
    missing, fact = read_coverage(plan)
    assert missing == []
    assert fact is not None
    assert (fact.value, reason in fact.reason) == (3, True)


def test_number_of_items_is_unknown_without_dataset(v4: Path, plans: Any) -> None:
    (v4 / "data").rename(v4.parent / f"{v4.name}-elsewhere")
    (plan,) = plans(v4)
    assert read_coverage(plan) == ([], None)


def test_scores_without_results_lack_nothing(v4: Path, plans: Any) -> None:
    (v4 / RESULT).unlink()
    (plan,) = plans(v4 / SCORE)
    assert read_coverage(plan) == ([], None)
