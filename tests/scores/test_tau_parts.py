"""The corrected reward of tau-bench starts from the recorded parts, and pass^k ends where tasks
have no more trials.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.metric import MetricSource
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns, Values
from tests.sharing import Imports

VERSION2 = "library_maple-8b.json"
VERSION1 = "tool-calling-maple-8b-0.0_range_0-3_user-oak-20b-llm_0102030405.json"
OpenFile = Callable[[Any], ReviewedRuns]


@pytest.fixture
def open_file(tmp_path: Path) -> Iterator[OpenFile]:
    """Return a function that imports one file with the given content."""
    opened: list[ReviewedRuns] = []

    def open_content(content: Any) -> ReviewedRuns:
        path = tmp_path / "runs" / "changed.json"
        path.parent.mkdir()
        path.write_text(json.dumps(content))
        opened.append(ReviewedRuns(Imports(tmp_path / "imports").of([path])))
        return opened[-1]

    yield open_content
    for runs in opened:
        runs.close()


def read_pass_hat(values: Values, source: MetricSource) -> dict[str, float | None]:
    return {
        key[2]: value
        for (_, kind, key), value in values.items()
        if kind == source and key[0] == "pass^k"
    }


def read_average_reward(values: Values, source: MetricSource) -> float | None:
    return values[1, source, ("reward", 0, "average reward")]


def review_item(runs: ReviewedRuns, item: str, criterion: str, verdict: Any) -> Values:
    number = runs.find_item(item)
    return runs.compute_metrics(
        *runs.make_events([ItemVerdict(number, "item", criterion, verdict)])
    )


@pytest.fixture
def contradicting_action(samples: Path) -> Any:
    """One simulation that fails an assertion.

    Its action check is recorded as met, but no call matches the action.
    """
    content = json.loads((samples / "tau" / VERSION2).read_text())
    simulation = next(each for each in content["simulations"] if each["reward_info"]["reward"] == 0)
    simulation = deepcopy(simulation)
    simulation["reward_info"]["reward_basis"] = ["ENV_ASSERTION", "ACTION"]
    simulation["reward_info"]["reward_breakdown"] = {"ENV_ASSERTION": 0.0, "ACTION": 1.0}
    for check in simulation["reward_info"]["action_checks"]:
        check["action_match"] = True
    content["simulations"] = [simulation]
    return content


def test_recorded_part_counts_beside_an_override(
    contradicting_action: Any, open_file: OpenFile
) -> None:
    runs = open_file(contradicting_action)
    rows = runs.store.run_sql(
        "SELECT source, CAST(value AS VARCHAR) FROM verdicts WHERE target = 'item'"
        " AND criterion = 'action' ORDER BY source"
    )[1]
    assert rows == [("official", "true"), ("rule", "false")]

    values = review_item(runs, "renew_loan_trial_1", "env_assertion", True)
    assert read_average_reward(values, "corrected") == 1
    assert read_average_reward(values, "official") == 0


def test_recomputed_part_counts_if_a_person_confirms_it(
    contradicting_action: Any, open_file: OpenFile
) -> None:
    runs = open_file(contradicting_action)
    number = runs.find_item("renew_loan_trial_1")
    verdicts = [
        ItemVerdict(number, "item", "env_assertion", True),
        ItemVerdict(number, "item", "action", False),
    ]
    assert read_average_reward(runs.compute_metrics(*runs.make_events(verdicts)), "corrected") == 0


def test_recomputed_part_counts_where_nothing_is_recorded(
    contradicting_action: Any, open_file: OpenFile
) -> None:
    info = contradicting_action["simulations"][0]["reward_info"]
    info["reward_breakdown"] = {}
    info["action_checks"] = None
    runs = open_file(contradicting_action)
    assert (
        read_average_reward(
            review_item(runs, "renew_loan_trial_1", "env_assertion", True), "corrected"
        )
        == 0
    )


def test_recomputed_average_leaves_out_infrastructure_errors(
    samples: Path, open_file: OpenFile
) -> None:
    """Four of five simulations have an infrastructure error, and the remaining one passes."""
    content = json.loads((samples / "tau" / VERSION2).read_text())
    passing = next(
        each for each in content["simulations"] if (each["reward_info"] or {}).get("reward") == 1
    )
    broken = next(
        each
        for each in content["simulations"]
        if each["termination_reason"] == "infrastructure_error"
    )
    simulations = [{**broken, "id": f"broken-{trial}", "trial": trial} for trial in range(4)]
    content["simulations"] = [passing, *simulations]

    runs = open_file(content)
    (row,) = [row for row in runs.compute_rows() if row.name == "average reward"]
    assert (row.of, row.n["rule"]) == (1, 1)
    assert row.values["rule"] == row.values["official"] == 1


def test_pass_hat_ends_at_the_number_of_trials_of_every_task(
    samples: Path, open_file: OpenFile
) -> None:
    """100 tasks with one trial each, whose trial numbers are all different."""
    entry = json.loads((samples / "tau" / VERSION1).read_text())[0]
    entries = [{**deepcopy(entry), "task_id": number, "trial": number} for number in range(100)]
    values = read_pass_hat(open_file(entries).compute_metrics(), "official")
    # tau-bench v1 divides by C(100, 1), because the file has 100 different trials.
    assert values == {"pass^1": pytest.approx(0.01)}
