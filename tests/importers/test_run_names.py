"""Importers say what distinguishes runs of one model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover
from fcreview.model.run_name import build_run_names


def name_runs(*paths: Path) -> dict[str, str]:
    """Return the names of the runs at the paths by their models and paths."""
    plans = discover(list(paths)).plans
    names = build_run_names({number: plan.run for number, plan in enumerate(plans)})
    return {plan.run.path: names[number] for number, plan in enumerate(plans)}


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


CONVERSATIONS = [
    {"FC_res": [{"input": "user: hi", "predict": "hello", "label": {"name": "f", "arguments": {}}}]}
]


@pytest.mark.parametrize(
    "folder",
    [
        "maple/HammerBench_Based",
        "maple/MT0/HammerBench_Based",
        "maple/HammerBench_SO_case1/MT0",
        "maple/MT0",
    ],
)
def test_a_folder_of_base_results_is_not_the_model_of_hammerbench(
    tmp_path: Path, folder: str
) -> None:
    write_json(tmp_path / "en" / folder / "MT_res.json", CONVERSATIONS)
    (plan,) = discover([tmp_path]).plans
    assert plan.run.model == "maple"


def test_hammerbench_runs_of_a_model_are_named_by_their_folder(tmp_path: Path) -> None:
    for folder in ("maple", "maple/MT0"):
        write_json(tmp_path / "en" / folder / "HammerBench_Based" / "MT_res.json", CONVERSATIONS)
    assert sorted(name_runs(tmp_path).values()) == ["maple", "maple · MT0"]


@pytest.mark.parametrize("provider", ["provider-a", "provider-b"])
def test_confetti_runs_are_named_by_their_provider(tmp_path: Path, provider: str) -> None:
    for each in ("provider-a", "provider-b"):
        write_json(
            tmp_path / "result" / each / "maple" / "BFCL_v2_conversationsclean_result.json",
            {"id": "a"},
        )
    names = name_runs(tmp_path)
    assert names[str(tmp_path / "result" / provider / "maple")] == f"maple · {provider}"


def write_generic_run(path: Path, settings: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"fcreview": 1, "model": "maple", "settings": settings}
    record = {
        "id": "a",
        "category": "c",
        "messages": [{"role": "user", "content": "hi"}],
        "golden": [],
    }
    path.write_text(f"{json.dumps(header)}\n{json.dumps(record)}\n")


def test_generic_runs_are_named_by_file_then_by_settings(tmp_path: Path) -> None:
    write_generic_run(tmp_path / "one" / "results.jsonl", {"temperature": 0, "seed": 1})
    write_generic_run(tmp_path / "two" / "results.jsonl", {"temperature": 1, "seed": 1})
    assert list(name_runs(tmp_path / "one", tmp_path / "two").values()) == [
        "maple · temperature 0",
        "maple · temperature 1",
    ]
    write_generic_run(tmp_path / "two" / "baseline.jsonl", {"temperature": 1, "seed": 1})
    assert "maple · baseline" in name_runs(tmp_path / "one", tmp_path / "two").values()


def test_keys_in_settings_are_not_in_names(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_generic_run(tmp_path / name / "results.jsonl", {"api_key": f"sk-{name}", "seed": 1})
    assert not any("sk-" in name for name in name_runs(tmp_path / "one", tmp_path / "two").values())


def test_tau_runs_are_named_by_strategy_then_by_user(tmp_path: Path) -> None:
    entry = [{"task_id": 1, "reward": 1.0, "info": {}, "traj": []}]
    for strategy, user in (("tool-calling", "gpt-4o"), ("react", "gpt-4o"), ("react", "oak")):
        write_json(tmp_path / f"{strategy}-maple-0.0_range_0--1_user-{user}-llm.json", entry)
    assert sorted(name_runs(tmp_path).values()) == [
        "maple · react · user gpt-4o-llm",
        "maple · react · user oak-llm",
        "maple · tool-calling",
    ]


@pytest.mark.parametrize(
    ("differing", "names"),
    [
        ({"environment_info": {"domain_name": "airline"}}, ["maple · airline", "maple · retail"]),
        (
            {"user_info": {"implementation": "user", "llm": "oak"}},
            ["maple · user elm", "maple · user oak"],
        ),
    ],
)
def test_tau2_runs_are_named_by_domain_and_user(
    tmp_path: Path, differing: dict[str, Any], names: list[str]
) -> None:
    info = {
        "num_trials": 1,
        "agent_info": {"implementation": "llm_agent", "llm": "maple"},
        "user_info": {"implementation": "user", "llm": "elm"},
        "environment_info": {"domain_name": "retail"},
    }
    for folder, changes in (("one", {}), ("two", differing)):
        write_json(
            tmp_path / folder / "sim.json", {"info": info | changes, "tasks": [], "simulations": []}
        )
    assert sorted(name_runs(tmp_path).values()) == names


def test_harbor_runs_are_named_by_their_job(tmp_path: Path) -> None:
    for job in ("monday", "tuesday"):
        trial = tmp_path / job / "task__abcdefg"
        config = {"agent": {"name": "kite", "model_name": "maple"}}
        info = {"name": "kite", "version": "1", "model_info": {"name": "maple", "provider": "p"}}
        write_json(
            trial / "result.json",
            {
                "trial_name": trial.name,
                "task_name": "task",
                "source": "desk",
                "config": config,
                "agent_info": info,
            },
        )
    assert sorted(name_runs(tmp_path).values()) == [
        "maple (kite) · monday",
        "maple (kite) · tuesday",
    ]


@pytest.mark.bench
@pytest.mark.parametrize(
    "folder", ["hammerbench", "tau2", "bfcl_families", "inspect", "inspect_bfcl"]
)
def test_published_runs_have_unique_names(bench: Path, folder: str) -> None:
    plans = discover([bench / folder]).plans
    names = build_run_names({number: plan.run for number, plan in enumerate(plans)})
    assert len(set(names.values())) == len(plans) > 1
    assert not any("#" in name for name in names.values()), (
        "something better than a number distinguishes the runs"
    )
