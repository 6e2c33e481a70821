"""Rollouts of verifiers have the rewards, branches, calls, judges and figures of the packages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover, read_items, rewrite_scores
from fcreview.importers.verifiers import discovery
from fcreview.importers.verifiers.leaderboard import compute_metrics
from fcreview.importers.verifiers.messages import read_branch, read_tree
from fcreview.importers.verifiers.rollouts import choose_main_trace
from fcreview.model.item import Item, RunFact
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import TOTAL_REWARD
from fcreview.run_plan import RewrittenFile, RunPlan, Unrepresentable
from tests.examples import only_long
from tests.importers.mutations import (
    Mutation,
    Reading,
    choose_mutations,
    describe_item,
    find_silent_losses,
    list_mutations,
)
from tests.importers.run_reading import (
    Json,
    find_only_plan,
    read_rows,
    read_run,
    score_item,
    write_rows,
)

TRACES = "bakery--maple-8b--bash--7c1d09aa"
LEGACY = Path("outputs") / "evals" / "bakery-old--maple-8b" / "5e6f7a8b"
MUTATED_FIELDS = (
    "traces",
    "nodes",
    "message",
    "parent",
    "role",
    "content",
    "reasoning_content",
    "tool_calls",
    "name",
    "arguments",
    "tool_call_id",
    "rewards",
    "score",
    "weight",
    "judge_calls",
    "response",
    "parsed",
    "data",
    "tools",
    "parameters",
    "prompt",
    "completion",
    "reward",
    "tool_defs",
)
VALID_VALUES = (
    ("arguments", "object"),
    ("parameters", "object"),
    ("reward", "number"),
    ("score", "number"),
    ("weight", "number"),
    ("parsed", "number"),
    ("data", "object"),
    ("rewards", "object"),
)
"""Kinds of values that these fields may have."""


@pytest.fixture
def traces(samples: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(samples / "verifiers" / TRACES, tmp_path / "run"))


@pytest.fixture
def legacy(samples: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(samples / "verifiers" / LEGACY, tmp_path / "legacy"))


def find_plan(folder: Path, **options: str) -> RunPlan:
    return find_only_plan(folder, "verifiers", **options)


def get_figures(plan: RunPlan) -> dict[str, float | None]:
    items, _ = read_run(plan)
    metrics = compute_metrics([score_item(item) for item in items], plan.run)
    return {metric.name: metric.value for metric in metrics}


def get_values(item: Item, source: str = "official") -> dict[str, Any]:
    return {
        verdict.criterion: verdict.value for verdict in item.verdicts if verdict.source == source
    }


# -- published rollouts


@pytest.mark.bench
def test_episodes_have_the_recorded_rewards_calls_and_judges(bench: Path) -> None:
    truth = json.loads((bench / "verifiers" / "truth_v1.json").read_text())
    items, _ = read_run(find_plan(bench / "verifiers" / "v1_run"))
    for item, episode in zip(items, truth["episodes"], strict=True):
        assert item.group == episode["task_key"]
        assert item.extra.metadata["episode id"] == episode["episode"]
        if not episode["traces"]:
            assert (item.predicted, item.incident) == ([], "harness")
            continue
        expected = episode["traces"][0]
        values = get_values(item)
        assert values.get(TOTAL_REWARD) == expected["reward"]
        for name, reward in expected["rewards"].items():
            assert values.get(f"reward {name}") == (None if reward is None else reward[0])
        calls = [[call.name, call.raw] for call in item.predicted]
        assert calls == expected["calls_in_last_branch"]
        assert item.ended == expected["stop_condition"]
        judged = [
            [verdict.value, verdict.rationale]
            for verdict in item.verdicts
            if verdict.source == "judge" and verdict.failure is None
        ]
        assert judged == [[value == "yes", text] for _, value, text in expected["judge_calls"]]


@pytest.mark.bench
def test_branches_are_the_paths_from_roots_to_leaves(bench: Path) -> None:
    truth = json.loads((bench / "verifiers" / "truth_v1.json").read_text())
    rows = read_rows(bench / "verifiers" / "v1_run" / "traces.jsonl")
    for row, episode in zip(rows, truth["episodes"], strict=True):
        for trace, expected in zip(row["traces"], episode["traces"], strict=True):
            tree = read_tree(trace["nodes"], place="nodes")
            branches = [tree.list_branch(leaf) for leaf in tree.list_leaves()]
            roles = [[node.message["role"] for node in branch] for branch in branches]
            assert roles == expected["branches"]
            assert tree.issues == []
            assert all(read_branch(branch).messages for branch in branches)


@pytest.mark.bench
def test_legacy_rollouts_have_the_recorded_rewards_calls_and_errors(bench: Path) -> None:
    truth = json.loads((bench / "verifiers" / "truth_legacy.json").read_text())
    items, _ = read_run(find_plan(bench / "verifiers" / "legacy"))
    for item, expected in zip(items, truth["items"], strict=True):
        assert item.id == f"example_{expected['group']}_rollout_{expected['trial']}"
        assert get_values(item)[TOTAL_REWARD] == expected["reward"]
        assert item.official == expected["pass(threshold 0.5)"]
        assert [[call.name, call.raw] for call in item.predicted] == [
            [name, arguments] for name, arguments, _ in expected["calls"]
        ]
        results = [message.content for message in item.messages if message.role == "tool"]
        assert results == [text for _, text in expected["results"]]
        incident = item.incident if item.has_incident else None
        assert incident == expected["infrastructure_error"]
        assert item.ended == expected["stop_condition"]


@pytest.mark.bench
def test_figures_of_the_metadata_are_recomputed(bench: Path) -> None:
    plan = find_plan(bench / "verifiers" / "legacy")
    official = json.loads((bench / "verifiers" / "truth_legacy.json").read_text())["official"]
    figures = get_figures(plan)
    assert figures["mean"] == official["avg_reward"]
    assert figures["share of rollouts with an error"] == official["avg_error"]
    assert {name: figures[name] for name in official["avg_metrics"]} == official["avg_metrics"]
    for k in ("1", "2"):
        assert figures[f"pass@{k}"] == official["pass_at_k"][k]
        assert figures[f"pass^{k}"] == official["pass_all_k"][k]
    assert plan.run.official_metrics["rollouts"]["pass_threshold"] == 0.5


@pytest.mark.bench
def test_mean_stands_without_errors_and_with_errors_as_zero(bench: Path) -> None:
    figures = get_figures(find_plan(bench / "verifiers" / "v1_run"))
    # 1.5 + 1 + 1.5 + 0 + 1.5 + 0 - 0.25 without error; 1 more with a scoring error, and two of 0
    assert figures["mean of rollouts without error"] == pytest.approx(5.25 / 7)
    assert figures["mean"] == pytest.approx(6.25 / 10)


# -- rewards, judges and branches


def test_null_rewards_are_no_zeros(traces: Path) -> None:
    items, _ = read_run(find_plan(traces))
    failed = items[4]
    assert (failed.id, failed.incident) == ("recipe-oven_rollout_1", "rate_limit")
    assert (failed.official, get_values(failed)) == (None, {})


def test_reward_beyond_0_and_1_decides_nothing_until_a_threshold_is_chosen(traces: Path) -> None:
    path = traces / "traces.jsonl"
    rows = read_rows(path)
    rows[0]["traces"][0]["rewards"]["correct"]["score"] = 0.7
    write_rows(path, rows)
    items, _ = read_run(find_plan(traces))
    assert {item.official for item in items} == {None}

    plan = find_plan(traces, verdict_from="reward>=1.2")
    items, _ = read_run(plan)
    assert [item.official for item in items] == [True, False, True, False, None, False]
    facts = [record.value for record in read_items(plan) if isinstance(record, RunFact)]
    assert facts == ["reward>=1.2"]


def test_judges_are_verdicts_with_their_reply(traces: Path) -> None:
    items, _ = read_run(find_plan(traces))
    (verdict,) = [verdict for verdict in items[1].verdicts if verdict.source == "judge"]
    assert (verdict.value, verdict.rationale) == (True, "yes, an amount is given")
    assert (verdict.by, items[1].judge, items[1].official) == ("oak-20b helpful", True, False)


def test_scoring_that_failed_is_no_incident_of_the_model(traces: Path) -> None:
    items, _ = read_run(find_plan(traces))
    failed = items[5]
    assert (failed.incident, failed.flags, failed.official) == (None, ["judge_failed"], True)


def test_earlier_branches_are_logs_and_their_calls_are_only_counted(traces: Path) -> None:
    items, _ = read_run(find_plan(traces))
    compacted = items[2]
    assert compacted.predicted == []
    assert compacted.extra.metadata["branches"] == 2
    assert compacted.extra.metadata["calls in all branches"] == 2
    log = compacted.messages[0]
    assert (log.role, log.name) == ("log", "earlier branch 1")
    assert '[call find_recipe {"name": "rolls"}]' in log.content
    assert "tool: wheat flour" in log.content


def test_other_agents_are_logs(traces: Path) -> None:
    items, _ = read_run(find_plan(traces))
    log = items[5].messages[-1]
    assert (log.role, log.name) == ("log", "checker")
    assert log.content.endswith("assistant: perhaps")


def test_circles_in_the_tree_are_cut_and_reported(traces: Path) -> None:
    path = traces / "traces.jsonl"
    rows = read_rows(path)
    rows[0]["traces"][0]["nodes"][1]["parent"] = 4
    write_rows(path, rows)
    _, issues = read_run(find_plan(traces))
    assert [(issue.line, issue.what) for issue in issues] == [
        (1, "traces.nodes[1]: parent is no earlier node")
    ]


def test_legacy_threshold_of_the_metadata_decides(legacy: Path) -> None:
    path = legacy / "results.jsonl"
    rows = read_rows(path)
    rows[1]["reward"] = 0.6
    write_rows(path, rows)
    items, _ = read_run(find_plan(legacy))
    assert [item.official for item in items] == [True, True, False, False]


# -- models and tasks


def write_models(path: Path, models: Sequence[str | None]) -> None:
    """Let the agent of each episode call this model, or none. Further episodes call the last."""
    rows = read_rows(path)
    for index, row in enumerate(rows):
        model = models[min(index, len(models) - 1)]
        for trace in row["traces"]:
            trace["calls"] = [] if model is None else [{"node": 1, "model": model}]
    write_rows(path, rows)


def test_models_of_one_file_are_several_runs(traces: Path) -> None:
    path = traces / "traces.jsonl"
    write_models(path, ["maple-8b", "other-70b", None, "maple-8b"])
    lines = {}
    n_items = 0
    for plan in discover([traces], format="verifiers").plans:
        items, issues = read_run(plan)
        assert [issue.what for issue in issues if "several models" in issue.what] == []
        lines[plan.run.model] = [item.line for item in items]
        n_items += len(items)
    assert lines["other-70b"] == [2]
    assert lines["maple-8b"][:2] == [1, 4]
    # Nobody knows which model failed before its first call.
    assert lines[traces.name] == [3]
    assert n_items == len(read_rows(path))


def test_episodes_without_a_model_belong_to_the_only_model(traces: Path) -> None:
    write_models(traces / "traces.jsonl", [None, "maple-8b"])
    (plan,) = discover([traces], format="verifiers").plans
    assert [item.line for item in read_run(plan)[0]][:2] == [1, 2]


def test_rewards_of_one_model_decide_nothing_about_another(traces: Path) -> None:
    path = traces / "traces.jsonl"
    write_models(path, ["other-70b", "maple-8b"])
    rows = read_rows(path)
    for row in rows:
        for trace in row["traces"]:
            trace["rewards"] = {"correct": {"score": 0.5, "weight": 1.0}}
    rows[0]["traces"][0]["rewards"] = {"correct": {"score": 1.0, "weight": 1.0}}
    write_rows(path, rows)
    plans = {plan.run.model: plan for plan in discover([traces], format="verifiers").plans}
    (item,) = read_run(plans["other-70b"])[0]
    assert item.official is True
    assert {item.official for item in read_run(plans["maple-8b"])[0]} == {None}


def test_agent_that_calls_several_models_is_an_issue(traces: Path) -> None:
    path = traces / "traces.jsonl"
    write_models(path, ["maple-8b"])
    rows = read_rows(path)
    rows[0]["traces"][0]["calls"].append({"node": 2, "model": "other-70b"})
    write_rows(path, rows)
    (plan,) = discover([traces], format="verifiers").plans
    items, _ = read_run(plan)
    (issue,) = [issue for issue in items[0].issues if "several models" in issue.what]
    assert (issue.line, "maple-8b, other-70b" in issue.what) == (1, True)


def test_more_models_than_runs_are_an_error_that_names_them(
    traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "MAX_MODELS", 1)
    write_models(traces / "traces.jsonl", ["maple-8b", "other-70b"])
    _, issues = read_run(find_plan(traces))
    (issue,) = [issue for issue in issues if "several models" in issue.what]
    assert issue.severity == "error"
    assert "maple-8b, other-70b" in issue.what


def test_reviews_of_a_shared_file_cannot_be_written_back(traces: Path) -> None:
    write_models(traces / "traces.jsonl", ["maple-8b", "other-70b"])
    plan = discover([traces], format="verifiers").plans[0]
    items, _ = read_run(plan)
    reviewed = score_item(items[0], overrides={ITEM_CORRECT: not items[0].official})
    (refusal,) = rewrite_scores(plan, [reviewed])
    assert isinstance(refusal, Unrepresentable)


@pytest.mark.parametrize("example", [None, True, [1], "", 0.5])
def test_legacy_rollouts_without_an_id_are_grouped_by_their_prompt(
    legacy: Path, example: Any
) -> None:
    path = legacy / "results.jsonl"
    rows = read_rows(path)
    for row in rows:
        row["example_id"] = example
    write_rows(path, rows)
    items, issues = read_run(find_plan(legacy))
    n_questions = len({json.dumps(row["prompt"]) for row in rows})
    assert len({item.group for item in items}) == n_questions > 1
    assert len([issue for issue in issues if "no example_id" in issue.what]) == len(rows)


def test_legacy_file_without_example_ids_is_read(legacy: Path) -> None:
    path = legacy / "results.jsonl"
    rows = read_rows(path)
    for row in rows:
        del row["example_id"]
    write_rows(path, rows)
    items, _ = read_run(find_plan(legacy))
    assert len(items) == len(rows)


def test_whole_numbers_with_a_decimal_point_are_ids(legacy: Path) -> None:
    path = legacy / "results.jsonl"
    expected = [item.id for item in read_run(find_plan(legacy))[0]]
    rows = read_rows(path)
    for row in rows:
        row["example_id"] = float(row["example_id"])
    write_rows(path, rows)
    items, issues = read_run(find_plan(legacy))
    assert [item.id for item in items] == expected
    assert not any("no example_id" in issue.what for issue in issues)


def test_episodes_without_key_and_index_are_grouped_by_their_task(traces: Path) -> None:
    path = traces / "traces.jsonl"
    rows = read_rows(path)
    for row in rows:
        row["task"].pop("key", None)
        row["task"]["data"].pop("idx", None)
    write_rows(path, rows)
    items, issues = read_run(find_plan(traces))
    n_tasks = len({json.dumps(row["task"]["data"]) for row in rows})
    assert len({item.group for item in items}) == n_tasks > 1
    assert len([issue for issue in issues if "no task.key" in issue.what]) == len(rows)


def test_index_of_a_task_can_be_a_text(traces: Path) -> None:
    path = traces / "traces.jsonl"
    rows = read_rows(path)
    for row in rows:
        row["task"].pop("key", None)
        row["task"]["data"]["idx"] = "rolls"
    write_rows(path, rows)
    items, _ = read_run(find_plan(traces))
    assert {item.group for item in items} == {"task_rolls"}


# -- failures that few fields state

RATE_LIMIT: Json = {"type": "ProviderError", "message": "429 Too Many Requests"}


@pytest.mark.parametrize(
    ("fields", "incident"),
    [
        ({"ok": False}, "unknown"),
        ({"calls": [{"node": 1, "error": RATE_LIMIT}]}, "rate_limit"),
        ({"errors": "429 Too Many Requests"}, "rate_limit"),
        ({"errors": RATE_LIMIT}, "rate_limit"),
        ({"errors": ["429 Too Many Requests"]}, "rate_limit"),
    ],
)
def test_failure_of_a_trace_is_an_incident_however_it_is_stated(
    traces: Path, fields: Json, incident: str
) -> None:
    path = traces / "traces.jsonl"
    rows = read_rows(path)
    rows[0]["traces"][0] |= fields
    write_rows(path, rows)
    items, _ = read_run(find_plan(traces))
    assert (items[0].has_incident, items[0].incident) == (True, incident)


def test_model_call_that_was_repeated_is_no_incident(traces: Path) -> None:
    path = traces / "traces.jsonl"
    rows = read_rows(path)
    rows[0]["traces"][0]["calls"] = [{"error": RATE_LIMIT}, {"finish_reason": "stop"}]
    write_rows(path, rows)
    items, _ = read_run(find_plan(traces))
    assert not items[0].has_incident


@pytest.mark.parametrize("fields", [{"traces": []}, {"ok": False}, {"errors": "boom"}])
def test_failure_of_an_episode_is_an_incident(traces: Path, fields: Json) -> None:
    path = traces / "traces.jsonl"
    rows = read_rows(path)
    rows[0] |= fields
    write_rows(path, rows)
    items, _ = read_run(find_plan(traces))
    assert items[0].has_incident


def test_errors_that_are_no_list_give_an_issue(traces: Path) -> None:
    path = traces / "traces.jsonl"
    rows = read_rows(path)
    rows[0]["errors"] = "boom"
    write_rows(path, rows)
    _, issues = read_run(find_plan(traces))
    assert any((issue.line, issue.what) == (1, "errors is not a list") for issue in issues)


def test_trace_without_messages_is_an_issue(traces: Path) -> None:
    path = traces / "traces.jsonl"
    rows = read_rows(path)
    rows[0]["traces"][0]["nodes"] = []
    write_rows(path, rows)
    items, _ = read_run(find_plan(traces))
    assert "traces.nodes: no messages were found" in [issue.what for issue in items[0].issues]


def test_issue_of_a_prompt_counts_its_messages_without_the_system_prompt(traces: Path) -> None:
    path = traces / "traces.jsonl"
    rows = read_rows(path)
    unknown = {"role": "user", "content": [{"type": "hologram"}]}
    rows[0]["task"]["data"] |= {"system_prompt": "Be brief.", "prompt": [unknown]}
    rows[0]["traces"] = []
    write_rows(path, rows)
    items, _ = read_run(find_plan(traces))
    places = [issue.what.partition(": ")[0] for issue in items[0].issues]
    assert "task.data.prompt[0].content[0]" in places


# -- writing back


def test_reviewed_rewards_of_a_json_array_are_refused(legacy: Path) -> None:
    path = legacy / "results.jsonl"
    path.write_text(json.dumps(read_rows(path), indent=1))
    plan = find_plan(legacy)
    items, _ = read_run(plan)
    reviewed = score_item(items[1], overrides={ITEM_CORRECT: True})
    (refusal,) = rewrite_scores(plan, [reviewed])
    assert isinstance(refusal, Unrepresentable)


def test_reviewed_verdicts_set_the_deciding_reward(traces: Path) -> None:
    plan = find_plan(traces)
    items, _ = read_run(plan)
    reviewed = [
        score_item(items[1], overrides={ITEM_CORRECT: True}),
        score_item(items[3], overrides={("item", "reward helpful"): 1.0}),
        score_item(items[0], overrides={("item", TOTAL_REWARD): 0.5}, is_incident=True),
    ]
    written = list(rewrite_scores(plan, reviewed))
    (file,) = [each for each in written if isinstance(each, RewrittenFile)]
    assert [each.count for each in written if isinstance(each, Unrepresentable)] == [1, 1]

    old = read_rows(traces / "traces.jsonl")
    new = [json.loads(line) for line in file.content.splitlines()]
    old[1]["traces"][0]["rewards"]["correct"]["score"] = 1.0
    old[3]["traces"][0]["rewards"]["helpful"]["score"] = 1.0
    assert new == old


def test_reviewed_legacy_rewards_are_written_and_tool_defs_are_kept(legacy: Path) -> None:
    plan = find_plan(legacy)
    items, _ = read_run(plan)
    reviewed = [
        score_item(items[1], overrides={ITEM_CORRECT: True}),
        score_item(items[0], overrides={("item", TOTAL_REWARD): 0.25}),
    ]
    (file,) = list(rewrite_scores(plan, reviewed))
    assert isinstance(file, RewrittenFile)
    old = read_rows(legacy / "results.jsonl")
    old[1]["reward"] = 1.0
    old[0]["reward"] = 0.25
    assert [json.loads(line) for line in file.content.splitlines()] == old


# -- damage


def read_mutated(folder: Path, name: str, rows: Sequence[Json]) -> Reading:
    write_rows(folder / name, rows)
    items, issues = read_run(find_plan(folder))
    return Reading([describe_item(item) for item in items], issues)


def is_loss(mutation: Mutation) -> bool:
    """Whether a mutation gives something that the format does not allow."""
    if mutation.record == 0:
        return False  # the first record shows what the file is
    name = mutation.path[-1]
    # A node without a parent is a root, and a message with calls needs no content.
    optional = ("parent", "content", "reasoning_content", "judge_calls", "tools")
    is_optional = name in optional
    if mutation.kind == "remove" and is_optional:
        return False
    # `info` has any fields, and a parameter of a tool any name.
    if mutation.kind == "rename" and name == "judge_calls":
        return False
    is_copy = "task" in mutation.path and "traces" in mutation.path
    return not is_copy and "properties" not in mutation.path


@pytest.mark.parametrize("count", [60, pytest.param(2_000, marks=(pytest.mark.sweep, only_long))])
@pytest.mark.parametrize("form", ["traces", "legacy"])
def test_no_mutation_of_a_field_loses_anything_in_silence(
    request: pytest.FixtureRequest, form: str, count: int
) -> None:
    folder: Path = request.getfixturevalue(form)
    name = "traces.jsonl" if form == "traces" else "results.jsonl"
    rows = read_rows(folder / name)
    mutations = list_mutations(rows, MUTATED_FIELDS, VALID_VALUES)
    mutations = [mutation for mutation in mutations if is_loss(mutation)]
    chosen = choose_mutations(mutations, count)
    assert find_silent_losses(rows, chosen, lambda new: read_mutated(folder, name, new)) == []


def test_main_trace_is_that_of_the_trained_agent() -> None:
    judge = {"agent": {"name": "judge", "trainable": False}}
    solver = {"agent": {"name": "solver", "trainable": True}}
    assert choose_main_trace({"traces": [judge, solver]}) is solver
    assert choose_main_trace({"traces": [judge]}) is judge
    assert choose_main_trace({"traces": []}) == {}


def test_last_reply_is_the_answer_that_stands_beside_the_accepted_one(traces: Path) -> None:
    items, _ = read_run(find_plan(traces))
    assert (items[0].extra.accepted_answers, items[0].extra.final_answer) == (
        ["350 ml"],
        "350 ml of water.",
    )
    assert items[4].extra.final_answer is None  # the request failed
