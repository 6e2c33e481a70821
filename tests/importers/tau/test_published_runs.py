"""tau-bench rewards, pass^k, checks and verdicts equal the published figures and the official
metric code.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fcreview.importers.registry import compute_metrics, discover, read_items
from fcreview.model.item import Item, SourceName
from fcreview.model.metric import Metric, ScoredItem
from fcreview.run_plan import RunPlan


def read(path: Path) -> tuple[RunPlan, list[Item]]:
    (plan,) = discover([path], format="tau").plans
    return plan, [item for item in read_items(plan) if isinstance(item, Item)]


def compute_statistics(
    plan: RunPlan, items: list[Item], source: SourceName
) -> dict[tuple[str, str], Metric]:
    scored = [
        ScoredItem(
            item.id,
            item.category,
            item.group,
            getattr(item, source),
            item.error_type if source == "official" else item.rule_error_type,
            {
                v.criterion: v.value
                for v in item.verdicts
                if v.source == source and v.target == "item"
            },
            metadata=item.extra.metadata,
        )
        for item in items
    ]
    return {(metric.table, metric.name): metric for metric in compute_metrics(scored, plan.run)}


@pytest.fixture(scope="module")
def airline(bench: Path) -> tuple[RunPlan, list[Item]]:
    return read(bench / "tau_v1" / "gpt-4o-airline.json")


@pytest.mark.parametrize("source", ["official", "rule"])
def test_version1_figures_equal_published_ones(
    airline: tuple[RunPlan, list[Item]], source: SourceName
) -> None:
    found = compute_statistics(*airline, source)
    assert found["reward", "average reward"].value == pytest.approx(0.42, abs=1e-12)
    expected = [0.42, 0.8200 / 3, 0.22, 0.20]
    assert [found["pass^k", f"pass^{k}"].value for k in (1, 2, 3, 4)] == pytest.approx(
        expected, abs=1e-12
    )
    assert ("pass^k", "pass^5") not in found


def test_version1_items(airline: tuple[RunPlan, list[Item]]) -> None:
    _, items = airline
    assert len(items) == 200 and {item.category for item in items} == {"airline"}
    assert all(
        item.official == item.rule and item.error_type == item.rule_error_type for item in items
    )
    assert len({item.group for item in items}) == 50
    assert sum(item.rule_error_type == "not_ended" for item in items) == 5


FIGURES = {
    "avg_reward": ("reward", "average reward"),
    "avg_agent_cost": ("cost", "mean agent cost"),
    "total_simulations": ("simulations", "simulations"),
    "total_tasks": ("simulations", "tasks"),
    "infra_error_count": ("simulations", "infrastructure errors, left out"),
    "total_read_actions": ("golden actions", "read actions"),
    "correct_read_actions": ("golden actions", "read actions matched"),
    "total_write_actions": ("golden actions", "write actions"),
    "correct_write_actions": ("golden actions", "write actions matched"),
    "db_match_count": ("database", "matches"),
    "db_mismatch_count": ("database", "does not match"),
    "db_not_checked": ("database", "not checked"),
    "auth_succeeded": ("authentication", "succeeded"),
    "auth_failed": ("authentication", "failed"),
    "auth_not_needed": ("authentication", "not needed"),
    "termination_user_stop": ("termination", "user_stop"),
    "termination_agent_stop": ("termination", "agent_stop"),
    "termination_max_steps": ("termination", "max_steps"),
    "termination_error": ("termination", "errors"),
    "termination_infrastructure_error": ("simulations", "infrastructure errors, left out"),
    "sims_with_unresponsive_period": ("responsiveness", "with an unresponsive period"),
    "sims_with_responsiveness_info": ("responsiveness", "recorded"),
}
"""Table and name of a metric by its name in the official code. A metric of 0 may be missing."""


@pytest.fixture(scope="module")
def runs(bench: Path) -> dict[str, tuple[RunPlan, list[Item]]]:
    """The runs of tau2-bench, by their name in truth.json."""
    found = {}
    for plan in discover([bench / "tau2"], format="tau").plans:
        path = Path(plan.run.path) / ("results.json" if plan.importer_data else "")
        items = [item for item in read_items(plan) if isinstance(item, Item)]
        found[path.relative_to(bench / "tau2").as_posix()] = (plan, items)
    return found


@pytest.mark.parametrize("source", ["official", "rule"])
def test_version2_figures_equal_official_code(
    bench: Path, runs: dict[str, tuple[RunPlan, list[Item]]], source: SourceName
) -> None:
    truth = json.loads((bench / "tau2" / "truth.json").read_text())
    assert set(truth) == set(runs)
    n_graded = 0
    for name, expected in truth.items():
        plan, items = runs[name]
        if "error" in expected:
            assert len(items) == 3
            continue
        found = compute_statistics(plan, items, source)
        for number, key in FIGURES.items():
            value = found[key].value if key in found else 0
            assert value == pytest.approx(expected[number], abs=1e-9), (name, number)
        passes = {
            key[1].removeprefix("pass^"): metric.value
            for key, metric in found.items()
            if key[0] == "pass^k"
        }
        assert passes == pytest.approx(expected["pass_hat_ks"], abs=1e-9), name
        assert (plan.run.model, items[0].category) == (expected["agent"], expected["domain"])
        shown = {item.extra.metadata["simulation"]: item for item in items}
        for simulation, task, trial, reward, ended in expected["per_sim"]:
            item = shown[simulation]
            assert item.id == f"{task}_trial_{trial}"
            assert item.extra.metadata["ended"] == ended
            assert [v.value for v in item.verdicts if v.criterion == "reward"] == [reward, reward]
            n_graded += ended == "user_stop"
    assert n_graded == 168


def test_recomputed_checks_equal_recorded_ones(
    bench: Path, runs: dict[str, tuple[RunPlan, list[Item]]]
) -> None:
    n_actions = n_texts = 0
    files = [path for path in (bench / "tau2").rglob("*.json") if path.name != "truth.json"]
    simulations = [
        each for path in files for each in json.loads(path.read_text()).get("simulations") or ()
    ]
    for _, items in runs.values():
        for item in items:
            verdicts = {(v.source, v.target, v.criterion): v.value for v in item.verdicts}
            for (source, target, criterion), value in verdicts.items():
                if source == "official" and criterion in ("action", "communicate"):
                    assert verdicts["rule", target, criterion] == value, (
                        item.id,
                        target,
                        criterion,
                    )
                    n_actions += criterion == "action" and target != "item"
                    n_texts += criterion == "communicate"
    recorded = [each["reward_info"] for each in simulations]
    assert n_actions == sum(len(each["action_checks"] or ()) for each in recorded)
    assert n_texts == sum(
        bool(each["communicate_checks"]) or "COMMUNICATE" in (each.get("reward_breakdown") or ())
        for each in recorded
    )


def test_voice_runs_have_turn_for_each_utterance(
    runs: dict[str, tuple[RunPlan, list[Item]]],
) -> None:
    plan, items = runs["voice/results.json"]
    assert plan.run.model == "openai:gpt-realtime-2"
    for item in items:
        assert item.official is None
        assert item.n_turns > 3 and {m.role for m in item.messages} >= {"user", "assistant"}
