"""Reviews of tau-bench runs change average reward, pass^k and counts to the values that the
official programs print.

The expected values are computed here from the raw files.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import comb
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.metric import MetricKey
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns, Values, find_changes

OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
Moved = dict[MetricKey, tuple[float | None, float | None]]
Metrics = dict[MetricKey, float]
NEW, OLD = (
    "library_maple-8b.json",
    "tool-calling-maple-8b-0.0_range_0-3_user-oak-20b-llm_0102030405.json",
)


class Oracle:
    """Metrics of a result file by the rules of the program that wrote it."""

    def __init__(self, path: Path) -> None:
        raw = json.loads(path.read_text())
        self.is_new = isinstance(raw, dict)
        self.planned = raw["info"]["num_trials"] if self.is_new else None
        self.rewards: dict[str, float | None] = {}
        self.tasks: dict[str, str] = {}
        self.trials: set[int] = set()
        for entry in raw["simulations"] if self.is_new else raw:
            key = f"{entry['task_id']}_trial_{entry['trial']}"
            info = (entry["reward_info"] or {}) if self.is_new else entry
            self.rewards[key] = info.get("reward")
            self.tasks[key] = str(entry["task_id"])
            self.trials.add(entry["trial"])

    def compute_metrics(self, **reviewed: float) -> Metrics:
        rewards = {
            key: value for key, value in (self.rewards | reviewed).items() if value is not None
        }
        tasks = defaultdict(list)
        for key, reward in rewards.items():
            tasks[self.tasks[key]].append(abs(reward - 1) <= 1e-6)
        found: Metrics = {("reward", 0, "average reward"): sum(rewards.values()) / len(rewards)}
        most = min(map(len, tasks.values()))
        if self.is_new:
            most = min(most, self.planned)
        for k in range(1, most + 1):
            n_trials = {
                task: len(each) if self.is_new else len(self.trials) for task, each in tasks.items()
            }
            totals = [comb(sum(each), k) / comb(n_trials[task], k) for task, each in tasks.items()]
            found["pass^k", 0, f"pass^{k}"] = sum(totals) / len(totals)
        return found


class Reviews:
    """A run and the changes of its metrics when annotators override verdicts."""

    def __init__(self, runs: ReviewedRuns, path: Path, run: int) -> None:
        self.runs, self.run = runs, run
        self.oracle = Oracle(path)
        self.before: Values = runs.compute_metrics()

    def override(self, item: str, *verdicts: tuple[str, str, Any]) -> Moved:
        """Override verdicts and return the metrics that change.

        Only corrected metrics may change.
        """
        number = self.runs.find_item(item, self.run)
        after = self.runs.compute_metrics(
            *self.runs.make_events([ItemVerdict(number, *verdict) for verdict in verdicts])
        )
        moved = find_changes(self.before, after)
        assert {source for source, _ in moved} <= {"corrected"}
        return {key: values for (_, key), values in moved.items()}

    def check(self, item: str, reward: float | None, moved: Moved, counts: dict[str, int]) -> None:
        """Compare changed rewards with the oracle, and other changes by `table: name` with
        `counts`.
        """
        before, after = (
            self.oracle.compute_metrics(),
            self.oracle.compute_metrics(**({} if reward is None else {item: reward})),
        )
        shared = {key: values for key, values in moved.items() if key[0] in ("reward", "pass^k")}
        for key in before.keys() | after.keys():
            same = before.get(key) == after.get(key)
            if not same:
                assert shared.pop(key) == (
                    pytest.approx(before.get(key)),
                    pytest.approx(after.get(key)),
                ), key
        assert not shared
        outcomes = {
            key[2]: int((to or 0) - (by or 0))
            for key, (by, to) in moved.items()
            if key[0] == "outcomes"
        }
        was, now = (
            self.oracle.rewards[item] == 1,
            (self.oracle.rewards[item] if reward is None else reward) == 1,
        )
        assert outcomes.get("success", 0) == now - was
        is_added = self.oracle.rewards[item] is None and reward is not None
        assert sum(outcomes.values()) == is_added
        found = {
            f"{table}: {name}": int((values[1] or 0) - (values[0] or 0))
            for (table, _, name), values in moved.items()
            if table not in ("reward", "pass^k", "outcomes")
        }
        assert found == counts


@pytest.fixture(scope="module")
def new(samples: Path, open_runs: OpenRuns) -> Reviews:
    return Reviews(open_runs([samples / "tau" / NEW]), samples / "tau" / NEW, 1)


@pytest.fixture(scope="module")
def old(samples: Path, open_runs: OpenRuns) -> Reviews:
    return Reviews(open_runs([samples / "tau" / OLD]), samples / "tau" / OLD, 1)


ITEM, CALL = "item", "turn:1/call:1"


@pytest.mark.parametrize(
    ("item", "verdicts", "reward", "counts"),
    [
        ("renew_loan_trial_1", [(ITEM, "correct", True)], 1, {}),
        (
            "renew_loan_trial_1",
            [(ITEM, "db", True)],
            None,
            {"database: matches": 1, "database: does not match": -1},
        ),
        (
            "renew_loan_trial_1",
            [(ITEM, "db", True), (ITEM, "communicate", True)],
            1,
            {"database: matches": 1, "database: does not match": -1},
        ),
        ("renew_loan_trial_0", [(ITEM, "communicate", False)], 0, {}),
        ("renew_loan_trial_0", [(ITEM, "reward", 0.5)], 0.5, {}),
        (
            "reserve_room_trial_1",
            [(CALL, "action", True)],
            1,
            {"golden actions: write actions matched": 1},
        ),
        (
            "activate_card[PERSONA:None]_trial_1",
            [(CALL, "action", True)],
            None,
            {"golden actions: write actions matched": 1},
        ),
        ("complaint_trial_0", [(ITEM, "nl_assertion_2", True)], 1, {}),
        ("complaint_trial_0", [(ITEM, "nl_assertion_1", False)], None, {}),
        ("complaint_trial_2", [(ITEM, "correct", True)], 1, {}),
        (
            "complaint_trial_1",
            [(ITEM, "correct", True)],
            1,
            {
                "simulations: simulations": 1,
                "simulations: infrastructure errors, left out": -1,
                "termination: infrastructure_error": 1,
                "database: not checked": 1,
            },
        ),
    ],
)
def test_tau2_override(
    new: Reviews,
    item: str,
    verdicts: list[tuple[str, str, Any]],
    reward: float | None,
    counts: dict[str, int],
) -> None:
    new.check(item, reward, new.override(item, *verdicts), counts)


@pytest.mark.parametrize(
    ("item", "verdicts", "reward"),
    [
        ("0_trial_1", [(ITEM, "correct", True)], 1),
        ("0_trial_0", [(ITEM, "db", False)], 0),
        ("2_trial_0", [(ITEM, "db", True)], 1),
        # The file does not record whether the database matched.
        (
            "1_trial_1",
            [(ITEM, "communicate", True)],
            None,
        ),
        ("1_trial_1", [(ITEM, "communicate", True), (ITEM, "db", True)], 1),
        ("1_trial_0", [(ITEM, "communicate", False)], 0),
        ("2_trial_1", [(ITEM, "correct", True)], 1),
        ("0_trial_2", [(ITEM, "correct", True)], 1),
    ],
)
def test_version1_override(
    old: Reviews, item: str, verdicts: list[tuple[str, str, Any]], reward: float | None
) -> None:
    old.check(item, reward, old.override(item, *verdicts), {})


@pytest.mark.sweep
def test_published_run(bench: Path, open_runs: OpenRuns) -> None:
    name = "tau_v1/gpt-4o-airline.json"
    runs = Reviews(open_runs([bench / name]), bench / name, 1)
    for item in random.Random(7).sample(sorted(runs.oracle.rewards), 4):
        passes = runs.oracle.rewards[item] != 1
        runs.check(item, float(passes), runs.override(item, (ITEM, "correct", passes)), {})
