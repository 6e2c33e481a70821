"""Rollouts of NeMo Gym have the rewards, calls, golden answers, failures and figures of its own
program.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.nemo_gym.inputs import Golden
from fcreview.importers.nemo_gym.leaderboard import compute_metrics
from fcreview.importers.nemo_gym.rules import (
    EXPECTED_ANSWERS,
    TOO_MANY_CALLS_NOTE,
    recompute_verdict,
)
from fcreview.importers.registry import discover, read_items, rewrite_scores
from fcreview.model.derivation import PASSING_REWARD_KEY
from fcreview.model.item import AcceptedValues, Call, ImportIssue, Item, MissingItem, RunFact
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import TOTAL_REWARD
from fcreview.run_plan import RewrittenFile, RunPlan, Unrepresentable
from tests.examples import only_long
from tests.importers.mutations import (
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

ENVIRONMENT = Path("nemo_gym") / "library_desk"
MUTATED_FIELDS = (
    "role",
    "content",
    "text",
    "summary",
    "name",
    "arguments",
    "call_id",
    "output",
    "input",
    "tools",
    "parameters",
    "reward",
    "response",
    "responses_create_params",
    "verdict_label",
)

VALID_VALUES = (("arguments", "object"), ("parameters", "object"), ("reward", "number"))
"""Kinds of values that these fields may have."""


@pytest.fixture
def environment(samples: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(samples / ENVIRONMENT, tmp_path / "run"))


def find_plan(folder: Path, **options: str) -> RunPlan:
    return find_only_plan(folder, "nemo_gym", **options)


def get_reward(item: Item) -> Any:
    return [verdict.value for verdict in item.verdicts if verdict.criterion == TOTAL_REWARD]


def list_result_texts(item: Item) -> list[str]:
    return [message.content for message in item.messages if message.role == "tool"]


# -- published rollouts


@pytest.mark.bench
def test_published_rollouts_have_the_recorded_rewards_calls_and_golden_answers(bench: Path) -> None:
    folder = bench / "nemo_gym"
    truth = json.loads((folder / "truth.json").read_text())
    plans = {plan.run.path: plan for plan in discover([folder], format="nemo_gym").plans}
    assert set(plans) == {str(folder / name) for name in truth}

    for name, expected in truth.items():
        items, _ = read_run(plans[str(folder / name)])
        rollouts = {item.line: item for item in items if item.file == str(folder / name)}
        assert len(rollouts) == expected["rows"]
        for entry in expected["items"]:
            item = rollouts[entry["line"]]
            assert get_reward(item) == [entry["reward"]]
            calls = [(call.name, call.raw) for call in item.predicted if call.raw is not None]
            assert calls == [(call_name, text) for call_name, text, _ in entry["calls"]]
            shown = list_result_texts(item)[-len(entry["results"]) :] if entry["results"] else []
            # The truth has the beginnings of the results.
            starts = sorted(text for _, text in entry["results"])
            for text, start in zip(sorted(shown), starts, strict=True):
                assert text.startswith(start)
            check_golden_answer(item, entry.get("golden"))


def check_golden_answer(item: Item, expected: Any) -> None:
    if expected is None:
        return
    if isinstance(expected, list):
        assert [
            {"name": call.name, "arguments": {k: v.any_of[0] for k, v in call.arguments.items()}}
            for call in item.golden
            if call.arguments is not None
        ] == expected
    elif expected["type"] == "message":
        assert (item.golden, item.extra.golden_reply) == ([], expected["content"])
    else:
        assert [call.name for call in item.golden] == [expected["name"]]


@pytest.mark.bench
def test_published_figures_are_recomputed(bench: Path) -> None:
    folder = bench / "nemo_gym"
    truth = json.loads((folder / "truth.json").read_text())
    for plan in discover([folder], format="nemo_gym").plans:
        expected = truth[str(Path(plan.run.path).relative_to(folder))]
        items, issues = read_run(plan)
        metrics = compute_metrics([score_item(item) for item in items], plan.run)
        values = {metric.name: metric.value for metric in metrics}
        assert values["mean/reward"] == pytest.approx(expected["mean_reward"])
        for name, value in expected.get("official", {}).items():
            assert values[name] == pytest.approx(value), name
        assert not any("mean/reward" in issue.what for issue in issues)


@pytest.mark.bench
def test_recomputed_verdicts_equal_rewards_of_environments_that_compare_calls(bench: Path) -> None:
    for name in ("xlam_fc", "single_step_tool_use_with_argument_comparison"):
        items, _ = read_run(find_plan(bench / "nemo_gym" / name))
        assert [item.rule for item in items] == [item.official for item in items]


@pytest.mark.bench
def test_failed_attempts_and_cut_rollouts_are_incidents(bench: Path) -> None:
    items, _ = read_run(find_plan(bench / "nemo_gym" / "made_repeats"))
    incidents = {item.id: item.incident for item in items if item.incident}
    assert incidents == {
        "task_1_rollout_1": "context_length",
        "task_2_rollout_1": "harness",
        "task_0_rollout_2": "timeout",
        "task_1_rollout_2": "server",
        "task_2_rollout_2": "harness",
    }
    failed = [item for item in items if "failed attempt" in item.extra.metadata]
    assert [(item.official, item.rule, get_reward(item)) for item in failed] == [
        (None, None, [])
    ] * 3


def test_failed_attempt_counts_if_a_person_gave_it_a_verdict(samples: Path) -> None:
    """The list of runs counts it too."""
    plan = find_plan(samples / "nemo_gym")
    items, _ = read_run(plan)

    def compute_accuracy(verdict: bool | None) -> tuple[float | None, int | None]:
        scored = []
        for item in items:
            is_failed = "failed attempt" in item.extra.metadata
            scored.append(score_item(item, valid=verdict) if is_failed else score_item(item))
        metrics = {metric.name: metric for metric in compute_metrics(scored, plan.run)}
        return metrics["all items"].value, metrics["all items"].n

    assert compute_accuracy(None) == (4 / 7, 7)
    assert compute_accuracy(False) == (4 / 8, 8)
    assert compute_accuracy(True) == (5 / 8, 8)


@pytest.mark.bench
def test_inputs_of_other_tasks_give_an_issue_instead_of_golden_answers(bench: Path) -> None:
    items, issues = read_run(find_plan(bench / "nemo_gym" / "workplace_assistant"))
    assert not any(item.golden for item in items)
    assert any("5 rollouts belong to no input of example.jsonl" in issue.what for issue in issues)


# -- rewards and verdicts


def test_rewards_beyond_0_and_1_are_scores_and_no_verdicts(environment: Path) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    rows[-1]["reward"] = 2.5
    write_rows(path, rows)
    items, _ = read_run(find_plan(environment))
    assert {item.official for item in items} == {None}
    assert get_reward(items[0]) == [1.0]


def test_threshold_of_verdict_from_gives_verdicts(environment: Path) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    rows[-1]["reward"] = 0.5
    write_rows(path, rows)
    plan = find_plan(environment, verdict_from="reward>=0.5")
    items, _ = read_run(plan)
    assert items[6].official is True
    assert items[2].official is False
    facts = [record for record in read_items(plan) if isinstance(record, RunFact)]
    assert facts[0].value == "reward>=0.5"


@pytest.mark.parametrize("reward", ["1.0", True, [1], {"x": 1}])
def test_reward_that_is_no_number_gives_an_issue_and_no_verdict(
    environment: Path, reward: Any
) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    rows[0]["reward"] = reward
    write_rows(path, rows)
    items, issues = read_run(find_plan(environment))
    assert items[0].official is None
    assert any(issue.line == 1 and "not a finite number" in issue.what for issue in issues)


def test_judge_verdicts_have_the_text_of_the_judge(environment: Path) -> None:
    items, _ = read_run(find_plan(environment))
    by_id = {item.id: item for item in items}
    overlooked = by_id["task_0_rollout_1"]
    (verdict,) = [verdict for verdict in overlooked.verdicts if verdict.source == "judge"]
    assert (verdict.value, verdict.by) == (True, "oak-20b")
    assert verdict.rationale == "The opening time is right. [[A=B]]"
    assert (overlooked.judge, overlooked.official, overlooked.rule) == (True, False, False)


def test_failed_judge_of_a_failed_attempt_is_no_incident_of_the_model(environment: Path) -> None:
    items, _ = read_run(find_plan(environment))
    failed = items[-1]
    assert (failed.id, failed.incident, failed.flags) == (
        "task_3_rollout_1",
        None,
        ["judge_failed"],
    )
    assert failed.extra.metadata["earlier failed attempts"] == ["attempt 0: transient"]


# -- joining


def test_golden_answers_are_joined_by_messages_if_there_is_no_task_index(environment: Path) -> None:
    for path in environment.glob("*.jsonl"):
        rows = read_rows(path)
        for row in rows:
            row.pop("_ng_task_index", None)
        write_rows(path, rows[::-1] if "inputs" in path.name else rows)
    items, _ = read_run(find_plan(environment))
    assert [len(item.golden) for item in items[:4]] == [1, 2, 1, 2]
    assert len({item.group for item in items}) == 4


def test_rollouts_that_were_not_run_are_counted(environment: Path) -> None:
    path = environment / "rollouts.jsonl"
    write_rows(path, read_rows(path)[1:])
    records = list(read_items(find_plan(environment)))
    missing = [record.id for record in records if isinstance(record, MissingItem)]
    assert missing == ["task_1_rollout_0"]


def test_agents_of_one_file_are_several_runs(environment: Path) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    rows[0]["agent_ref"] = {"name": "other_agent"}
    write_rows(path, rows)
    plans = discover([environment], format="nemo_gym").plans
    runs = {plan.run.generation: plan for plan in plans}
    assert set(runs) == {"other_agent", "library_desk_agent"}
    items, _ = read_run(runs["other_agent"])
    assert [item.id for item in items] == ["task_1_rollout_0"]


def test_calls_in_the_request_are_context_and_no_predictions(environment: Path) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    rows[0]["responses_create_params"]["input"] += [
        {
            "type": "function_call",
            "call_id": "c",
            "name": "find_book",
            "arguments": '{"title": "X"}',
        },
        {"type": "function_call_output", "call_id": "c", "output": "nothing"},
        {"role": "user", "content": "And by Ida Brandt?"},
    ]
    write_rows(path, rows)
    items, _ = read_run(find_plan(environment))
    assert [call.arguments for call in items[0].predicted] == [{"author": "Ida Brandt"}]
    assert any(
        '[call find_book {"title": "X"}]' in message.content for message in items[0].messages
    )
    assert items[0].pairs[0].state == "="


# -- rows that a file usually does not have


def join_failures(environment: Path, *, are_first: bool) -> None:
    """Write the failed attempts into the file of the rollouts."""
    rollouts = environment / "rollouts.jsonl"
    failures = environment / "rollouts_failures.jsonl"
    texts = [rollouts.read_text(), failures.read_text()]
    rollouts.write_text("".join(reversed(texts) if are_first else texts))
    failures.unlink()


@pytest.mark.parametrize("are_first", [False, True])
def test_failed_attempts_among_rollouts_are_recognised_row_by_row(
    environment: Path, are_first: bool
) -> None:
    separate, _ = read_run(find_plan(environment))
    join_failures(environment, are_first=are_first)
    joined, _ = read_run(find_plan(environment))

    def describe(item: Item) -> tuple[Any, ...]:
        return item.id, item.official, item.incident, item.flags, get_reward(item)

    assert [describe(item) for item in joined] == [describe(item) for item in separate]


def test_failed_attempt_among_rollouts_is_an_incident_without_verdict(environment: Path) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    rows[1] |= {"_ng_failure_class": "timeout_exceeded", "reward": 0.0}
    write_rows(path, rows)
    plan = find_plan(environment)
    items, _ = read_run(plan)
    (failed,) = [item for item in items if item.line == 2 and item.file == str(path)]
    assert (failed.official, failed.incident, get_reward(failed)) == (None, "timeout", [])

    reviewed = score_item(failed, overrides={ITEM_CORRECT: True})
    assert not any(isinstance(e, RewrittenFile) for e in rewrite_scores(plan, [reviewed]))


def test_file_of_failed_attempts_alone_is_a_run(environment: Path) -> None:
    (environment / "rollouts.jsonl").unlink()
    items, _ = read_run(find_plan(environment))
    assert items
    assert {item.official for item in items} == {None}


@pytest.mark.parametrize("is_first", [False, True])
def test_rollout_with_null_response_and_no_reward_is_read(
    environment: Path, is_first: bool
) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    index = 0 if is_first else 1
    rows[index]["response"] = None
    del rows[index]["reward"]
    write_rows(path, rows)
    items, issues = read_run(find_plan(environment))
    assert items[index].official is None
    assert any(issue.what == "the rollout has no reward" for issue in issues)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "responses_api_agents", "config": {"a": {"b": 1}}},
        {"description": "x" * 2_000},
        {"note": "a } b"},
    ],
)
def test_agents_are_several_runs_whatever_their_other_fields_are(
    environment: Path, fields: Json
) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    for index, row in enumerate(rows):
        row["agent_ref"] = fields | {"name": f"agent_{index % 2}"}
    write_rows(path, rows)
    plans = discover([environment], format="nemo_gym").plans
    assert {"agent_0", "agent_1"} <= {plan.run.generation for plan in plans}


def test_models_of_one_file_are_several_runs(environment: Path) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    first_model = rows[0]["response"]["model"]
    rows[1]["response"]["model"] = "other-70b"
    write_rows(path, rows)
    plans = discover([environment], format="nemo_gym").plans
    lines = {}
    for plan in plans:
        items, issues = read_run(plan)
        assert [issue.what for issue in issues if "mean/reward" in issue.what] == []
        lines[plan.run.model] = [i.line for i in items if i.file == str(path)]
    assert lines["other-70b"] == [2]
    assert 2 not in lines[first_model]
    assert {1, 3} <= set(lines[first_model])


def test_rollouts_without_a_model_belong_to_the_only_model(environment: Path) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    rows[1]["response"]["model"] = ""
    rows[2]["response"] = None
    write_rows(path, rows)
    runs = {plan.run.model for plan in discover([environment], format="nemo_gym").plans}
    assert runs == {rows[0]["response"]["model"]}


# -- golden answers, judges and responses in other forms


def write_golden(path: Path, field_name: str, written: Any) -> None:
    """Give the first rollout a golden answer, which precedes that of its input."""
    rows = read_rows(path)
    rows[0][field_name] = written
    write_rows(path, rows)


CALL: Json = {"name": "find_book", "arguments": {"author": "Ida Brandt"}}
ACTION: Json = CALL | {"type": "function_call"}


@pytest.mark.parametrize(
    ("field_name", "written"),
    [
        ("expected_answers", [CALL]),
        ("expected_answers", json.dumps([CALL])),
        ("expected_answers", CALL),
        ("expected_answers", json.dumps(CALL)),
        ("expected_answers", [{"type": "function", "function": CALL}]),
        ("expected_action", ACTION),
        ("expected_action", json.dumps(ACTION)),
        ("expected_action", [ACTION]),
    ],
)
def test_golden_calls_are_read_in_all_their_forms(
    environment: Path, field_name: str, written: Any
) -> None:
    remove_inputs(environment)
    write_golden(environment / "rollouts.jsonl", field_name, written)
    items, _ = read_run(find_plan(environment))
    assert [(call.name, call.arguments) for call in items[0].golden] == [
        ("find_book", {"author": AcceptedValues(["Ida Brandt"])})
    ]
    assert items[0].rule is True


def remove_inputs(environment: Path) -> None:
    for path in environment.glob("*inputs.jsonl"):
        path.unlink()


def test_several_expected_actions_are_a_batch_of_calls(environment: Path) -> None:
    remove_inputs(environment)
    write_golden(environment / "rollouts.jsonl", "expected_action", [ACTION, ACTION])
    items, _ = read_run(find_plan(environment))
    assert [call.name for call in items[0].golden] == ["find_book", "find_book"]


@pytest.mark.parametrize(
    ("field_name", "written"),
    [
        ("expected_answers", "find_book"),
        ("expected_answers", [1]),
        ("expected_answers", {"calls": []}),
        ("ground_truth", {"x": 1}),
        ("expected_action", 5),
        ("expected_action", "call find_book"),
    ],
)
def test_golden_answer_in_an_unknown_form_gives_an_issue_and_is_kept(
    environment: Path, field_name: str, written: Any
) -> None:
    remove_inputs(environment)
    write_golden(environment / "rollouts.jsonl", field_name, written)
    items, issues = read_run(find_plan(environment))
    assert items[0].extra.metadata[field_name] == written
    assert any(issue.line == 1 and field_name in issue.what for issue in issues)


def test_ground_truth_in_words_is_an_expected_answer(environment: Path) -> None:
    remove_inputs(environment)
    write_golden(environment / "rollouts.jsonl", "ground_truth", "the blue one")
    items, _ = read_run(find_plan(environment))
    assert items[0].extra.accepted_answers == ["the blue one"]


def test_inputs_without_a_golden_answer_give_a_notice(environment: Path) -> None:
    for path in environment.glob("*inputs.jsonl"):
        rows = read_rows(path)
        for row in rows:
            if "expected_answers" in row:
                row["expected_calls"] = row.pop("expected_answers")
        write_rows(path, rows)
    _, issues = read_run(find_plan(environment))
    assert any("rollouts have an input" in issue.what for issue in issues)


JUDGE_MESSAGE: Json = {"output": [{"content": [{"text": "The hours are right."}]}]}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"judge_output": {"verdict": "yes", "why": "ok"}}, '{"verdict":"yes","why":"ok"}'),
        ({"judge_output": {"why": "ok"}, "judge_verdict": True}, '{"why":"ok"}'),
        ({"judge_output": JUDGE_MESSAGE, "verdict": "yes"}, "The hours are right."),
        (
            {"judge_evaluations": {"response": JUDGE_MESSAGE, "verdict_label": "[[A=B]]"}},
            "The hours are right.",
        ),
    ],
)
def test_judges_are_read_from_objects(environment: Path, fields: Json, text: str) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    rows[0].pop("judge_evaluations", None)
    rows[0] |= fields
    write_rows(path, rows)
    items, _ = read_run(find_plan(environment))
    (verdict,) = [verdict for verdict in items[0].verdicts if verdict.source == "judge"]
    assert verdict.value is True
    assert str(verdict.rationale).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("written", ["yes", [1]])
def test_judge_evaluations_of_another_kind_give_an_issue(environment: Path, written: Any) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    rows[0]["judge_evaluations"] = written
    write_rows(path, rows)
    _, issues = read_run(find_plan(environment))
    assert any(issue.line == 1 and "judge_evaluations" in issue.what for issue in issues)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_response_that_failed_without_an_error_is_an_incident(
    environment: Path, status: str
) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    rows[0]["response"] |= {"status": status, "error": None, "output": []}
    write_rows(path, rows)
    items, _ = read_run(find_plan(environment))
    assert (items[0].has_incident, items[0].incident) == (True, "unknown")


# -- writing back


def test_reviewed_rewards_and_masks_are_written_and_all_else_is_kept(environment: Path) -> None:
    plan = find_plan(environment)
    items, _ = read_run(plan)
    by_id = {item.id: item for item in items}
    reviewed = [
        score_item(by_id["task_1_rollout_1"], overrides={ITEM_CORRECT: True}),
        score_item(by_id["task_2_rollout_1"], overrides={("item", TOTAL_REWARD): 0.25}),
        score_item(by_id["task_3_rollout_0"], is_incident=False),
        score_item(by_id["task_0_rollout_0"], is_incident=True),
        score_item(by_id["task_3_rollout_1"], overrides={ITEM_CORRECT: True}),
    ]
    written = list(rewrite_scores(plan, reviewed))
    (file,) = [each for each in written if isinstance(each, RewrittenFile)]
    assert [each.count for each in written if isinstance(each, Unrepresentable)] == [1]

    old = read_rows(environment / "rollouts.jsonl")
    new = [json.loads(line) for line in file.content.splitlines()]
    changes = {
        index: {name: row[name] for name in row if before.get(name) != row[name]}
        for index, (before, row) in enumerate(zip(old, new, strict=True))
        if before != row
    }
    assert changes == {
        1: {"mask_sample": True},
        2: {"reward": 1.0},
        5: {"reward": 0.25},
        6: {"mask_sample": False},
    }


def test_json_array_of_rollouts_is_read_and_never_written(environment: Path) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    path.unlink()
    (environment / "rollouts.json").write_text(json.dumps(rows, indent=1))
    plan = find_plan(environment)
    items, _ = read_run(plan)
    assert items[2].predicted
    reviewed = score_item(items[2], overrides={ITEM_CORRECT: True})
    (refusal,) = rewrite_scores(plan, [reviewed])
    assert isinstance(refusal, Unrepresentable)


def test_mask_that_is_no_boolean_is_an_issue(environment: Path) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    rows[0]["mask_sample"] = "true"
    write_rows(path, rows)
    items, _ = read_run(find_plan(environment))
    what = "mask_sample is not true or false, so the rollout counts as not masked"
    assert what in [issue.what for issue in items[0].issues]
    assert items[0].incident is None


def test_nested_output_is_no_empty_reply(environment: Path) -> None:
    path = environment / "rollouts.jsonl"
    rows = read_rows(path)
    rows[0]["response"]["output"] = [rows[0]["response"]["output"]]
    write_rows(path, rows)
    items, _ = read_run(find_plan(environment))
    assert items[0].predicted
    assert items[0].incident is None


def test_verdicts_determine_rewards_only_if_all_rewards_are_0_or_1(environment: Path) -> None:
    items, _ = read_run(find_plan(environment))
    assert items[0].extra.metadata[PASSING_REWARD_KEY] == 1
    item = score_item(items[0], overrides={ITEM_CORRECT: False})
    assert item.derive_verdict("nemo_gym", "item", TOTAL_REWARD) == 0.0
    item.metadata = {}
    assert item.derive_verdict("nemo_gym", "item", TOTAL_REWARD) is None


# -- damage


def read_mutated(environment: Path, rows: Sequence[Json]) -> Reading:
    write_rows(environment / "rollouts.jsonl", rows)
    items: list[Item] = []
    issues: list[ImportIssue] = []
    for plan in discover([environment], format="nemo_gym").plans:  # one for each agent
        items_of_run, issues_of_run = read_run(plan)
        items += items_of_run
        issues += issues_of_run
    return Reading(sorted(describe_item(item) for item in items), issues)


@pytest.mark.parametrize("count", [100, pytest.param(2_000, marks=(pytest.mark.sweep, only_long))])
def test_no_mutation_of_a_field_loses_anything_in_silence(environment: Path, count: int) -> None:
    rows = read_rows(environment / "rollouts.jsonl")
    mutations = choose_mutations(list_mutations(rows, MUTATED_FIELDS, VALID_VALUES), count)
    # The first record shows what the file is.
    mutations = [mutation for mutation in mutations if mutation.record > 0]
    assert find_silent_losses(rows, mutations, lambda new: read_mutated(environment, new)) == []


@pytest.mark.parametrize(("is_reversed", "verdict"), [(False, True), (True, None)])
def test_thousands_of_calls_are_compared_in_their_order_only(
    is_reversed: bool, verdict: bool | None
) -> None:
    calls = [Call("predicted", "f", arguments={"a": number}) for number in range(1_000)]
    golden = [
        Call("golden", "f", arguments={"a": AcceptedValues([number])}) for number in range(1_000)
    ]
    item = Item("task", category="")
    expected = Golden(EXPECTED_ANSWERS, written=None, calls=golden)
    recompute_verdict(item, expected, calls[::-1] if is_reversed else calls)
    assert item.rule is verdict
    assert (item.rule_note == TOO_MANY_CALLS_NOTE) is is_reversed
