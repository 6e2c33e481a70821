"""Predictions and reviews of EvalScope become items, each answer once."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fcreview.importers.evalscope.discovery import BenchmarkFiles
from fcreview.importers.evalscope.messages import find_written_arguments, read_conversation
from fcreview.importers.evalscope.repeats import infer_repeats
from fcreview.importers.evalscope.verdicts import CAUSE
from fcreview.importers.registry import (
    compute_metrics,
    discover,
    find_summary_files,
    get_importer,
    read_items,
    rewrite_scores,
)
from fcreview.model.item import Item
from fcreview.model.metric import ScoredItem, find_own_score
from fcreview.run_plan import RewrittenFile
from tests.importers.evalscope.outputs import (
    MODEL,
    Line,
    copy_subset,
    edit_line,
    make_scored_items,
    read_output,
    write_lines,
)

SIMPLE = "bfcl_v4_simple_python"
MULTI_TURN = "bfcl_v4_multi_turn_base"


def get_score(line: Line) -> Line:
    score: Line = line["sample_score"]["score"]
    return score


# -- joining


def test_field_that_all_lines_lack_is_counted(samples: Path, tmp_path: Path) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    for index in range(4):
        edit_line(folder, "reviews", SIMPLE, index, lambda line: get_score(line).pop("explanation"))
    warnings = read_output(folder).warnings
    assert [text for text in warnings if "explanation" in text] == [
        "score has no field explanation",
        "score has no field explanation (in 3 more lines of this file)",
    ]


def test_each_answer_is_one_item_although_two_files_have_it(samples: Path, tmp_path: Path) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    reading = read_output(folder)
    assert [item.extra.metadata["index"] for item in reading.items.values()] == [0, 1, 2, 3]
    first = reading.items["simple_python_0"]
    assert Path(first.file).parts[-3:] == ("predictions", MODEL, f"{SIMPLE}.jsonl")
    assert first.extra.score_record is not None
    assert "reviews" in first.extra.score_record.file


def test_predictions_without_reviews_have_calls_and_no_official_verdict(
    samples: Path, tmp_path: Path
) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    (folder / "reviews" / MODEL / f"{SIMPLE}.jsonl").unlink()
    items = read_output(folder).items
    assert {item.official for item in items.values()} == {None}
    assert [item.rule for item in items.values()] == [True, False, True, False]
    assert items["simple_python_0"].predicted[0].arguments == {"base": 12, "height": 7}


def test_reviews_without_predictions_have_verdicts_and_calls(samples: Path, tmp_path: Path) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    complete = read_output(folder).items
    (folder / "predictions" / MODEL / f"{SIMPLE}.jsonl").unlink()
    alone = read_output(folder).items
    for item_id, item in complete.items():
        assert alone[item_id].official == item.official
        assert alone[item_id].rule == item.rule
        assert alone[item_id].predicted == item.predicted


def test_review_without_its_prediction_is_dropped_with_an_issue(
    samples: Path, tmp_path: Path
) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    path = folder / "predictions" / MODEL / f"{SIMPLE}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    write_lines(path, lines[1:])
    reading = read_output(folder)
    assert "simple_python_0" not in reading.items
    (issue,) = [each for each in reading.issues if "has no prediction" in each.what]
    assert (Path(issue.file).parts[-3], issue.line) == ("reviews", 1)


def test_last_line_of_a_repeated_index_counts(samples: Path, tmp_path: Path) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    path = folder / "reviews" / MODEL / f"{SIMPLE}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    again = json.loads(json.dumps(lines[0]))
    get_score(again)["value"]["acc"] = 0
    write_lines(path, [*lines, again])
    reading = read_output(folder)
    assert reading.items["simple_python_0"].official is False
    (issue,) = [each for each in reading.issues if "also occurs in line" in each.what]
    assert issue.line == 5


def test_large_files_give_the_same_items(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    kept = read_output(folder).items
    monkeypatch.setattr("fcreview.importers.evalscope.samples.MAX_KEPT_BYTES", 0)
    assert read_output(folder).items == kept


# -- finding runs


def test_benchmark_and_subset_are_told_apart_by_the_report(samples: Path, tmp_path: Path) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    (plan,) = discover([folder]).plans
    files: BenchmarkFiles = plan.importer_data
    assert (files.benchmark, files.subsets[0].name) == ("bfcl_v4", "simple_python")


@pytest.mark.parametrize("kind", ["predictions", "reviews"])
def test_single_file_opens(samples: Path, tmp_path: Path, kind: str) -> None:
    path = samples / "evalscope/20261012_101530" / kind / MODEL / f"{SIMPLE}.jsonl"
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    reading = read_output(tmp_path)
    assert [item.rule for item in reading.items.values()] == [True, False, True, False]
    has_verdicts = kind == "reviews"
    assert (reading.items["simple_python_0"].official is True) == has_verdicts


def test_report_alone_is_refused_with_a_reason(samples: Path, tmp_path: Path) -> None:
    copy_subset(samples, tmp_path, SIMPLE)
    (tmp_path / "predictions" / MODEL / f"{SIMPLE}.jsonl").unlink()
    (tmp_path / "reviews" / MODEL / f"{SIMPLE}.jsonl").unlink()
    found = discover([tmp_path])
    assert found.plans == []
    assert ["there are no items to review" in issue.what for issue in found.issues] == [True]


def test_files_of_a_rerun_are_ignored(samples: Path, tmp_path: Path) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    path = folder / "reviews" / MODEL / f"{SIMPLE}.jsonl"
    path.with_name(f"rerun-{path.name}").write_bytes(path.read_bytes())
    (plan,) = discover([folder]).plans
    assert len(plan.importer_data.subsets) == 1


def test_two_models_in_one_folder_are_two_runs(samples: Path, tmp_path: Path) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    for kind in ("reviews", "predictions"):
        path = folder / kind / MODEL / f"{SIMPLE}.jsonl"
        other = folder / kind / "oak-20b" / path.name
        other.parent.mkdir()
        other.write_bytes(path.read_bytes())
    assert sorted(plan.run.model for plan in discover([folder]).plans) == [MODEL, "oak-20b"]


def test_model_has_the_name_of_the_report(samples: Path, tmp_path: Path) -> None:
    """Folders have slashes in names replaced."""
    folder = copy_subset(samples, tmp_path, SIMPLE)
    report = folder / "reports" / MODEL / "bfcl_v4.json"
    fields = json.loads(report.read_text()) | {"model_name": "forest/maple-8b"}
    report.write_text(json.dumps(fields))
    (plan,) = discover([folder]).plans
    assert plan.run.model == "forest/maple-8b"


def test_newest_configuration_counts(samples: Path, tmp_path: Path) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    old = folder / "configs" / "task_config.yaml"
    new = folder / "configs" / "task_config_2.yaml"
    new.write_text(old.read_text().replace("\nrepeats: 1", "\nrepeats: 3"))
    os.utime(old, (1_000_000, 1_000_000))
    (plan,) = discover([folder]).plans
    assert plan.run.settings["repeats"] == 3


# -- conversations


def test_multi_turn_predictions_are_no_plain_chats(samples: Path, tmp_path: Path) -> None:
    folder = copy_subset(samples, tmp_path, MULTI_TURN)
    item = read_output(folder).items["multi_turn_base_1"]
    assert item.n_turns == 2
    assert [(call.turn, call.name) for call in item.predicted] == [
        (0, "list_files"),
        (1, "move_file"),
    ]
    assert [call.name for call in item.golden] == ["list_files", "move_file"]
    results = [message for message in item.messages if message.role == "tool"]
    assert [(each.turn, each.name) for each in results] == [(0, "list_files"), (1, "move_file")]
    assert item.error_type == "multi_turn:instance_state_mismatch"
    assert [pair.state for pair in item.pairs] == ["=", "!"]


def test_unparsable_arguments_are_those_that_the_model_wrote() -> None:
    error = 'Error parsing the following tool call arguments:\n\n{"room": "ha\n\nError details: x'
    assert find_written_arguments(error) == '{"room": "ha'
    call = {
        "id": "c",
        "function": {"name": "set_lamp", "arguments": {}},
        "parse_error": error,
    }
    conversation = read_conversation([{"role": "assistant", "content": "", "tool_calls": [call]}])
    (parsed,) = conversation.messages[0].calls
    assert (parsed.arguments, parsed.raw, parsed.problem) == (None, '{"room": "ha', "are not JSON")
    assert len(conversation.issues) == 1


def test_call_without_parse_error_field_is_reported() -> None:
    call = {"id": "c", "function": {"name": "set_lamp", "arguments": {}}}
    conversation = read_conversation([{"role": "assistant", "content": "", "tool_calls": [call]}])
    assert [issue.what for issue in conversation.issues] == ["the field parse_error is missing"]


def test_reasoning_parts_are_no_text(samples: Path) -> None:
    items = read_output(samples / "evalscope" / "repeats").items
    reasoning = [each for each in items["default_0"].messages if each.name == "reasoning"]
    assert [message.content for message in reasoning] == ["The hall is named."]


def test_results_of_text_calls_are_paired_by_the_trace(samples: Path, tmp_path: Path) -> None:
    name = "acebench_agent_multi_step"
    folder = copy_subset(samples, tmp_path, name)
    reading = read_output(folder)
    item = reading.items["agent_multi_step_0"]
    steps = Counter(message.step for message in item.messages if message.role == "tool")
    assert steps == {0: 1, 1: 1, 2: 1}
    assert [call.step for call in item.predicted] == [0, 1, 2]
    assert item.issues == []
    assert item.extra.metadata["events of the trace"] == [
        {"type": "submit", "payload": {"reason": "finish conversation"}}
    ]

    for kind in ("predictions", "reviews"):
        edit_line(folder, kind, name, 0, lambda line: line["agent_trace"]["events"].clear())
    warnings = read_output(folder).warnings
    assert sum("belongs to no call" in what for what in warnings) == 3


def test_steps_of_a_dialogue_are_a_group_with_all_repeats(samples: Path, tmp_path: Path) -> None:
    name = "acebench_normal_multi_turn_user_adjust"
    items = read_output(copy_subset(samples, tmp_path, name)).items
    assert {item.group for item in items.values()} == {"normal_multi_turn_user_adjust_0"}


def test_repeats_of_a_question_are_a_group(samples: Path) -> None:
    items = read_output(samples / "evalscope" / "repeats").items
    groups = Counter(item.group for item in items.values())
    assert groups == {"default_0": 2, "default_1": 2, "default_2": 2}


@pytest.mark.parametrize("kind", ["predictions", "reviews"])
def test_repeats_of_a_single_file_are_a_group(samples: Path, tmp_path: Path, kind: str) -> None:
    source = samples / "evalscope" / "repeats" / kind / MODEL / "general_fc_default.jsonl"
    (tmp_path / source.name).write_bytes(source.read_bytes())
    reading = read_output(tmp_path)
    groups = Counter(item.group for item in reading.items.values())
    assert groups == {"default_0": 2, "default_1": 2, "default_2": 2}
    notices = [issue.what for issue in reading.issues if "2 samples in succession" in issue.what]
    assert len(notices) == 1


def convert_to_array(lines: list[Line]) -> bytes:
    return json.dumps(lines).encode()


def convert_to_indented_records(lines: list[Line]) -> bytes:
    return "\n".join(json.dumps(line, indent=2) for line in lines).encode()


def convert_to_sorted_keys(lines: list[Line]) -> bytes:
    return "\n".join(json.dumps(line, sort_keys=True) for line in lines).encode()


def convert_to_utf16(lines: list[Line]) -> bytes:
    return "\n".join(json.dumps(line) for line in lines).encode("utf-16")


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".ndjson"])
@pytest.mark.parametrize(
    "convert",
    [
        convert_to_array,
        convert_to_indented_records,
        convert_to_sorted_keys,
        convert_to_utf16,
    ],
)
def test_converted_reviews_keep_their_verdicts(
    samples: Path, tmp_path: Path, suffix: str, convert: Callable[[list[Line]], bytes]
) -> None:
    source = samples / "evalscope" / "repeats" / "reviews" / MODEL / "general_fc_default.jsonl"
    (tmp_path / source.name).write_bytes(source.read_bytes())
    expected = {name: item.official for name, item in read_output(tmp_path).items.items()}
    (tmp_path / source.name).unlink()

    lines = [json.loads(line) for line in source.read_text().splitlines()]
    (tmp_path / source.with_suffix(suffix).name).write_bytes(convert(lines))
    found = {name: item.official for name, item in read_output(tmp_path).items.items()}
    assert found == expected


def test_first_of_sorted_values_of_an_unknown_benchmark_is_no_verdict(
    samples: Path, tmp_path: Path
) -> None:
    source = samples / "evalscope" / "repeats" / "reviews" / MODEL / "general_fc_default.jsonl"
    lines = [json.loads(line) for line in source.read_text().splitlines()]
    path = tmp_path / "own_tools_default.jsonl"
    path.write_bytes("\n".join(json.dumps(line) for line in lines).encode())
    assert any(item.official is not None for item in read_output(tmp_path).items.values())

    path.write_bytes(convert_to_sorted_keys(lines))
    for item in read_output(tmp_path).items.values():
        assert item.official is None
        assert any("not known which value decides" in issue.what for issue in item.issues)


@pytest.mark.parametrize("model", ["forest/maple-8b", "a/forest/maple-8b"])
def test_folders_of_a_model_name_with_slashes_are_joined(
    samples: Path, tmp_path: Path, model: str
) -> None:
    folder = copy_subset(samples, tmp_path / "out", SIMPLE)
    expected = read_output(folder)
    for kind in ("predictions", "reviews", "reports"):
        nested = tmp_path / "nested" / kind / model
        nested.parent.mkdir(parents=True)
        (folder / kind / MODEL).rename(nested)
    found = read_output(tmp_path / "nested")
    assert found.items.keys() == expected.items.keys()
    for name, item in found.items.items():
        assert (item.official, item.rule) == (
            expected.items[name].official,
            expected.items[name].rule,
        )
    (plan,) = discover([tmp_path / "nested"]).plans
    assert plan.scores
    assert plan.logs


def test_converted_files_of_an_output_folder_are_joined(samples: Path, tmp_path: Path) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    expected = {name: item.official for name, item in read_output(folder).items.items()}
    for kind in ("predictions", "reviews"):
        path = folder / kind / MODEL / f"{SIMPLE}.jsonl"
        path.rename(path.with_suffix(".json"))
    found = {name: item.official for name, item in read_output(folder).items.items()}
    assert found == expected


def test_questions_that_differ_are_no_repeats() -> None:
    assert infer_repeats([{0: "a", 1: "b", 2: "c"}]) == 1
    assert infer_repeats([{0: "a", 1: "a", 2: "b", 3: "c"}]) == 1
    assert infer_repeats([{0: "a", 1: "a", 2: "b", 3: "b"}, {0: "c", 1: "d"}]) == 1
    assert infer_repeats([{0: "a", 3: "b"}]) == 1


def test_questions_that_follow_each_other_are_repeats_although_samples_are_missing() -> None:
    assert infer_repeats([{0: "a", 1: "a", 2: "b", 5: "c", 4: "c"}]) == 2
    assert infer_repeats([{0: "a", 1: "a", 2: "a", 3: "b", 5: "b"}]) == 3


def test_simulation_in_the_reply_is_read_by_the_rules_of_tau2(
    samples: Path, tmp_path: Path
) -> None:
    item = read_output(copy_subset(samples, tmp_path, "tau2_bench_library")).items[
        "library_reserve_room"
    ]
    assert (item.official, item.rule, item.error_type) == (False, False, "action_not_made")
    assert [call.name for call in item.golden] == ["reserve_room"]


def test_claims_are_the_golden_answer_and_the_trajectory_is_one_way(
    samples: Path, tmp_path: Path
) -> None:
    items = read_output(copy_subset(samples, tmp_path, "mcp_atlas_default")).items
    item = items["garden-2"]
    assert item.official is False
    assert "The soil is loam." in (item.extra.golden_reply or "")
    assert [call.name for call in item.golden] == ["garden_list_beds"]
    assert item.extra.uncounted_states == "-!+"


# -- verdicts


def test_judge_that_did_not_answer_gives_no_verdict(samples: Path, tmp_path: Path) -> None:
    item = read_output(copy_subset(samples, tmp_path, "mcp_atlas_default")).items["garden-3"]
    assert item.official is None
    assert item.flags == ["judge_failed"]
    assert item.incident is None
    (failed,) = [verdict for verdict in item.verdicts if verdict.failure]
    assert failed.failure == "transport_error: the judge did not answer"


@pytest.mark.parametrize("share", [0.5, 1.0, 0.0])
def test_share_of_a_job_is_no_verdict(samples: Path, tmp_path: Path, share: float) -> None:
    name = "toolathlon_default"
    folder = copy_subset(samples, tmp_path, name)
    edit_line(folder, "reviews", name, 0, lambda line: get_score(line)["value"].update(acc=share))
    item = read_output(folder).items["default_0"]
    assert item.official is None
    assert [(each.criterion, each.value) for each in item.verdicts] == [("reward", share)]


def test_status_of_a_failed_judge_hides_the_reward_of_a_simulation(
    samples: Path, tmp_path: Path
) -> None:
    name = "tau2_bench_library"
    folder = copy_subset(samples, tmp_path, name)
    edit_line(folder, "reviews", name, 0, lambda line: get_score(line).update(status="parse_error"))
    item = read_output(folder).items["library_renew_loan"]
    assert (item.official, item.rule) == (None, True)
    assert item.flags == ["judge_failed"]


def test_failed_requests_are_incidents_whatever_their_verdict(samples: Path) -> None:
    incidents = {}
    for plan in discover([samples / "evalscope"]).plans:
        for item in read_items(plan):
            if isinstance(item, Item) and item.has_incident:
                incidents[plan.run.generation, item.id] = (item.incident, item.official)
    assert incidents == {
        ("acebench", "agent_multi_step_1"): ("server", False),
        ("bfcl_v4", "irrelevance_1"): ("rate_limit", True),
        ("general_fc", "default_1_trial_1"): ("bad_request", False),
        ("general_fc", "default_2_trial_1"): ("content_filter", True),
        ("tau3_bench", "library_reserve_room"): ("connection", False),
        ("tau_bench", "shop_2"): ("timeout", False),
    }


def test_cause_of_a_difference_is_stated(samples: Path, tmp_path: Path) -> None:
    def give_verdict(line: Line, value: int) -> None:
        get_score(line)["value"]["acc"] = value

    def change_golden(line: Line) -> None:
        give_verdict(line, 0)
        line["target"] = ['[{"geometry.triangle_area": {"base": [13], "height": [7]}}]']

    def change_reply(line: Line) -> None:
        give_verdict(line, 0)
        get_score(line)["prediction"] = '"I do not know."'

    def change_decoder(line: Line) -> None:
        give_verdict(line, 0)
        get_score(line)["metadata"]["error_type"] = "ast_decoder:decoder_failed"

    changes = {
        "golden version": change_golden,
        "reply": change_reply,
        "decoder": change_decoder,
        "checker": lambda line: give_verdict(line, 0),
    }
    for cause, change in changes.items():
        folder = copy_subset(samples, tmp_path / cause, SIMPLE)
        edit_line(folder, "reviews", SIMPLE, 0, change)
        item = read_output(folder).items["simple_python_0"]
        assert (item.official, item.rule) == (False, True)
        assert item.extra.metadata[CAUSE].startswith(f"{cause}:")

    folder = copy_subset(samples, tmp_path / "api", "bfcl_v4_irrelevance")
    edit_line(folder, "reviews", "bfcl_v4_irrelevance", 1, lambda line: give_verdict(line, 0))
    item = read_output(folder).items["irrelevance_1"]
    assert item.extra.metadata[CAUSE].startswith("API error:")


def test_prompt_replies_are_decoded_by_the_stated_handler(samples: Path, tmp_path: Path) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    config = folder / "configs" / "task_config.yaml"
    config.write_text(config.read_text().replace("is_fc_model: true", "is_fc_model: false"))

    def write_text_reply(line: Line) -> None:
        reply = json.dumps("[geometry.triangle_area(base=12, height=7)]")
        line["model_output"]["choices"][0]["message"]["content"] = reply

    edit_line(folder, "predictions", SIMPLE, 0, write_text_reply)
    item = read_output(folder).items["simple_python_0"]
    assert item.rule is True
    assert item.predicted[0].arguments == {"base": 12, "height": 7}


# -- report


def test_figures_that_differ_from_the_reviews_are_reported(samples: Path, tmp_path: Path) -> None:
    folder = copy_subset(samples, tmp_path, "mcp_atlas_default")
    assert read_output(folder).warnings == []
    report = folder / "reports" / MODEL / "mcp_atlas.json"
    report.write_text(report.read_text().replace("0.75", "0.85"))
    warnings = read_output(folder).warnings
    assert any("coverage_score of default is 0.8500 in the report" in what for what in warnings)


def test_missing_samples_are_counted(samples: Path, tmp_path: Path) -> None:
    name = "toolathlon_default"
    folder = copy_subset(samples, tmp_path, name)
    report = folder / "reports" / MODEL / "toolathlon.json"
    fields = json.loads(report.read_text())
    fields["execution_summary"]["subsets"]["default"] |= {"requested": 4, "errored": 3}
    report.write_text(json.dumps(fields))
    reading = read_output(folder)
    what = "3 of 4 samples of default are missing (3 requests failed). EvalScope leaves them out"
    assert reading.warnings == [what]
    assert [(fact.name, fact.value) for fact in reading.facts] == [("expected_items", 4)]


def test_own_metric_is_overall_or_else_the_primary_one(samples: Path) -> None:
    own_scores = {}
    for plan in discover([samples / "evalscope"]).plans:
        items = [record for record in read_items(plan) if isinstance(record, Item)]
        score = find_own_score(
            compute_metrics(make_scored_items(items), plan.run),
            get_importer("evalscope").own_metrics,
        )
        assert score is not None
        own_scores[plan.run.generation] = (score.table.removeprefix("EvalScope: "), score.value)
    assert own_scores == {
        "acebench": ("accuracy", 0.3555),
        "bfcl_v3": ("accuracy", 0.5),
        "bfcl_v4": ("accuracy", 0.325),
        "general_fc": ("tool_call_f1", 0.6667),
        "mcp_atlas": ("pass_rate", 0.5),
        "tau2_bench": ("accuracy", 0.5),
        "tau3_bench": ("accuracy", 0.0),
        "tau_bench": ("accuracy", 0.3333),
        "toolathlon": ("accuracy", 0.5),
    }


# -- write-back


def test_reviewed_verdict_is_written_where_evalscope_reads_it(
    samples: Path, tmp_path: Path
) -> None:
    folder = copy_subset(samples, tmp_path, SIMPLE)
    (plan,) = discover([folder]).plans
    items = [record for record in read_items(plan) if isinstance(record, Item)]
    scored = [
        ScoredItem(item.id, item.category, None, item.official, metadata=item.extra.metadata)
        for item in items
    ]
    scored[1].overrides = {("item", "correct"): True}
    (rewritten,) = rewrite_scores(plan, scored)
    assert isinstance(rewritten, RewrittenFile)
    old = rewritten.path.read_bytes().splitlines()
    new = rewritten.content.splitlines()
    assert [before == after for before, after in zip(old, new, strict=True)] == [
        True,
        False,
        True,
        True,
    ]
    score = get_score(json.loads(new[1]))
    assert score["value"] == {"acc": 1}
    assert score["metadata"]["fcreview"] == {"replaced": {"acc": 0}}
    assert [path.name for path in find_summary_files(plan)] == ["bfcl_v4.json"]

    rewritten.path.write_bytes(rewritten.content)
    assert read_output(folder).items["simple_python_1"].official is True
