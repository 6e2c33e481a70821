"""Each folder with result files is a run with its model's name, and its language is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fcreview.importers.acebench.identity import find_folder_language, find_model_folder
from fcreview.importers.registry import discover
from fcreview.run_plan import RunPlan, SearchOptions
from tests.importers.acebench.conftest import (
    CASES,
    SINGLE,
    RunWriter,
    make_failure,
    read_run,
    write_jsonl,
)

RESULT_FILE = f"data_{SINGLE}_result.json"
SCORE_FILE = f"data_{SINGLE}_score.json"


def write_results(folder: Path, *replies: str) -> None:
    records = [
        {"id": f"{SINGLE}_{number}", "result": reply}
        for number, reply in enumerate(replies or ["[f()]"])
    ]
    write_jsonl(folder / RESULT_FILE, records)


def find_plans(root: Path, **options: str) -> list[RunPlan]:
    return discover([root], search=SearchOptions(**options)).plans  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("folder", "model", "settings"),
    [
        ("result_all/result_en/my-model", "my-model", []),
        ("result_all/result_en/org/maple-8b", "org/maple-8b", []),
        ("result_all/result_en/openai/gpt-4o-20240806", "openai/gpt-4o-20240806", []),
        ("result_en/togetherai/Qwen/Qwen3-235B-A22B", "togetherai/Qwen/Qwen3-235B-A22B", []),
        ("result_en/anthropic/some-model", "anthropic/some-model", []),
        ("results_en/model-a/run1", "model-a", ["run1"]),
        ("result_en/m/trial_1", "m", ["trial_1"]),
        ("result_en/m/2025-10-23", "m", ["2025-10-23"]),
        ("result_en/gpt-4o-2024-05-13/greedy/run_2", "gpt-4o-2024-05-13", ["greedy", "run_2"]),
        ("acebench_perturbed_result/gpt-4.1/action_a", "gpt-4.1", ["action_a"]),
        ("result_en/temp0.7/maple-8b", "maple-8b", ["temp0.7"]),
        ("runs/my_experiment/result/model_a", "model_a", []),
        ("runs/my-model", "my-model", []),
        ("maple-8b/result_en", "maple-8b", []),
        ("my-model/result_all/result_zh", "my-model", []),
        ("my-model/en/run1", "my-model", ["run1"]),
        ("result_all/result_en/run1", "run1", []),
        ("result_all/result_en/my-model-eval", "my-model-eval", []),
        ("some/place/maple-8b/20251023_101530", "maple-8b", ["20251023_101530"]),
        ("some/place/my-model/seed=42", "my-model", ["seed=42"]),
    ],
)
def test_model_follows_from_folder_names(
    tmp_path: Path, folder: str, model: str, settings: list[str]
) -> None:
    place = tmp_path / "checkout" / folder
    place.mkdir(parents=True)
    found = find_model_folder(place)
    assert (found.model, found.settings) == (model, settings)


def test_setting_above_models_is_no_part_of_their_name(tmp_path: Path) -> None:
    folders = [tmp_path / "result_en" / setting / "maple-8b" for setting in ("greedy", "sampled")]
    for folder in folders:
        folder.mkdir(parents=True)
    assert [find_model_folder(folder).model for folder in folders] == ["maple-8b", "maple-8b"]
    assert [find_model_folder(folder).settings for folder in folders] == [["greedy"], ["sampled"]]


def test_name_in_several_neighbouring_folders_is_setting(tmp_path: Path) -> None:
    folders = [tmp_path / "place" / model / "greedy" for model in ("a", "b")]
    for folder in folders:
        folder.mkdir(parents=True)
    assert [find_model_folder(folder).model for folder in folders] == ["a", "b"]


@pytest.mark.parametrize(
    ("folder", "language", "is_certain"),
    [
        ("result_all/result_zh/m", "zh", True),
        ("results_en/m/run1", "en", True),
        ("perturbed_results_zh/m", "zh", True),
        ("results_perturbed_en/m", "en", True),
        ("zh_results/m", "zh", True),
        ("outputs/chinese/m", "zh", True),
        ("m/en", "en", True),
        ("result_en/chat_zh", "en", True),
        ("runs/chat_zh", "zh", False),
        ("runs/m", "", False),
    ],
)
def test_language_follows_from_folder_names(folder: str, language: str, is_certain: bool) -> None:
    hint = find_folder_language(Path("/checkout") / folder)
    assert (hint.language, hint.is_certain) == (language, is_certain)


def test_settings_of_several_models_are_runs_of_their_own() -> None:
    plans = find_plans(CASES / "11-acebench-model-then-run")
    assert [(plan.run.model, plan.run.name_parts) for plan in plans] == [
        ("model-a", ["run1"]),
        ("model-a", ["run2"]),
        ("model-b", ["run1"]),
        ("model-b", ["run2"]),
    ]
    verdicts = [list(read_run(plan).verdicts.values()) for plan in plans]
    assert verdicts == [[True] * 4, [True] * 4, [False, True, True, True], [True] * 4]


@pytest.mark.parametrize(
    "opened", ["", "results_en", "results_en/model-b", "results_en/model-b/run1"]
)
def test_identity_does_not_depend_on_opened_folder(opened: str) -> None:
    plans = find_plans(CASES / "11-acebench-model-then-run" / opened)
    (plan,) = [each for each in plans if each.run.path.endswith("model-b/run1")]
    assert (plan.run.model, plan.run.language, plan.run.name_parts) == ("model-b", "en", ["run1"])
    assert plan.run.dataset is not None


def test_equal_files_of_nested_folders_stay_apart(tmp_path: Path) -> None:
    places = [
        "result_en/m",
        "result_en/m/run1",
        "result_en/m/run1/again",
        "other/m",
        "other/deep/er/m",
        "zh/m",
    ]
    for place in places:
        write_results(tmp_path / place)
    plans = find_plans(tmp_path)
    assert sorted(plan.run.path for plan in plans) == sorted(
        str(tmp_path / place) for place in places
    )
    assert all(len(plan.results) == 1 for plan in plans)


def test_scores_of_each_setting_are_found(tmp_path: Path) -> None:
    for run, failing in (("run1", 0), ("run2", 1)):
        replies = [f"[find(place='{run}')]", f"[find(place='{run}')]"]
        write_results(tmp_path / f"results_en/m/{run}", *replies)
        entry = make_failure(SINGLE, failing, "value_error:string", replies[0])
        header = {"accuracy": 0.5, "correct_count": 1, "total_count": 2}
        write_jsonl(tmp_path / f"scores_en/m/{run}" / SCORE_FILE, [header, entry])
    verdicts = [list(read_run(plan).official_verdicts.values()) for plan in find_plans(tmp_path)]
    assert verdicts == [[False, True], [True, False]]


def test_results_are_found_if_score_files_are_opened(tmp_path: Path) -> None:
    write_results(tmp_path / "results_en/m/run1")
    write_jsonl(
        tmp_path / "scores_en/m/run1" / SCORE_FILE,
        [{"accuracy": 1, "correct_count": 1, "total_count": 1}],
    )
    (plan,) = find_plans(tmp_path / "scores_en")
    assert (plan.run.model, plan.run.name_parts) == ("m", ["run1"])
    assert list(read_run(plan).official_verdicts.values()) == [True]


def test_scores_of_model_do_not_belong_to_one_of_its_settings(tmp_path: Path) -> None:
    for run in ("run1", "run2"):
        write_results(tmp_path / f"result_en/m/{run}")
    write_jsonl(
        tmp_path / "score_en/m" / SCORE_FILE,
        [{"accuracy": 1, "correct_count": 1, "total_count": 1}],
    )
    found = discover([tmp_path])
    assert [plan.scores for plan in found.plans] == [[], []]
    assert any("this score file has no result files" in issue.what for issue in found.issues)


def test_named_score_folder_is_used(tmp_path: Path) -> None:
    write_results(tmp_path / "result_en/m", "[f()]")
    write_jsonl(
        tmp_path / "score_en/m" / SCORE_FILE,
        [{"accuracy": 1, "correct_count": 1, "total_count": 1}],
    )
    entry = make_failure(SINGLE, 0, "type_error", "[f()]")
    header = {"accuracy": 0, "correct_count": 0, "total_count": 1}
    write_jsonl(tmp_path / "elsewhere/other-name" / SCORE_FILE, [header, entry])
    search = SearchOptions(scores=(tmp_path / "elsewhere",))
    (plan,) = discover([tmp_path / "result_en"], search=search).plans
    run = read_run(plan)
    assert list(run.official_verdicts.values()) == [False]
    assert any("several folders contain score files" in issue.what for issue in run.issues)
    assert (plan.results_folder, plan.named_score_folder) == (
        tmp_path / "result_en/m",
        tmp_path / "elsewhere",
    )


def test_score_folder_of_earlier_command_is_used_until_it_is_lost(tmp_path: Path) -> None:
    write_results(tmp_path / "result_en/m", "[f()]")
    entry = make_failure(SINGLE, 0, "type_error", "[f()]")
    header = {"accuracy": 0, "correct_count": 0, "total_count": 1}
    scores = write_jsonl(tmp_path / "elsewhere/other-name" / SCORE_FILE, [header, entry])
    search = SearchOptions(remembered_scores={tmp_path / "result_en/m": (tmp_path / "elsewhere",)})
    (plan,) = discover([tmp_path / "result_en"], search=search).plans
    assert (plan.scores, plan.lost_score_folder) == ([scores], None)
    scores.unlink()
    (plan,) = discover([tmp_path / "result_en"], search=search).plans
    assert (plan.scores, plan.lost_score_folder) == ([], tmp_path / "elsewhere")


def test_copies_beside_scores_are_no_runs() -> None:
    (plan,) = find_plans(CASES / "22-acebench-backup-score-file")
    assert [path.name for path in plan.scores] == [SCORE_FILE]


def test_language_is_that_of_data_folder() -> None:
    data = CASES / "10-acebench-october-2025-rules/data_all/data_en"
    (plan,) = discover([CASES / "11b-acebench-no-language-folder"], data=[data]).plans
    assert (plan.run.model, plan.run.language, plan.run.dataset) == ("my-model", "en", str(data))
    run = read_run(plan)
    assert set(run.verdicts.values()) == {True}
    assert any(
        "the language is en, that of the dataset data_en" in issue.what for issue in run.issues
    )


def test_unknown_language_is_reported() -> None:
    (plan,) = find_plans(CASES / "11b-acebench-no-language-folder")
    assert plan.run.language == ""
    assert any("Pass --language en or zh" in issue.what for issue in plan.issues)


def write_datasets_in_both_languages(root: Path) -> None:
    for language, function in (("en", "find_en"), ("zh", "find_zh")):
        folder = root / f"data_all/data_{language}"
        docs = {
            "name": function,
            "parameters": {"type": "object", "properties": {}, "required": []},
        }
        question = {"id": f"{SINGLE}_0", "question": "user: q", "function": [docs], "time": ""}
        write_jsonl(folder / f"data_{SINGLE}.json", [question])
        write_jsonl(
            folder / f"possible_answer/data_{SINGLE}.json",
            [{"id": f"{SINGLE}_0", "ground_truth": {}}],
        )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_replies_tell_language(tmp_path: Path, language: str) -> None:
    write_datasets_in_both_languages(tmp_path)
    write_results(tmp_path / "runs/m", f"[find_{language}(a=1)]")
    (plan,) = find_plans(tmp_path)
    assert plan.run.language == language
    assert any("the replies fit its questions" in issue.what for issue in plan.issues)


def test_dataset_that_does_not_fit_replies_is_not_used(tmp_path: Path) -> None:
    write_datasets_in_both_languages(tmp_path)
    write_results(tmp_path / "runs/m", "[other(a=1)]")
    (plan,) = find_plans(tmp_path)
    assert (plan.run.language, plan.run.dataset) == ("", None)


def test_questions_tell_language_of_unnamed_dataset(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, language="zh")
    writer.write_dataset(SINGLE, [{"find": {"place": "x"}}])
    question_file = tmp_path / f"data_all/data_zh/data_{SINGLE}.json"
    question = json.loads(question_file.read_text("utf-8"))
    write_jsonl(question_file, [question | {"question": "user: 请问最近的餐厅在哪里"}])
    (tmp_path / "data_all/data_zh").rename(tmp_path / "questions")
    write_results(tmp_path / "runs/m", "[find(place='x')]")
    (plan,) = discover([tmp_path / "runs"], data=[tmp_path / "questions"]).plans
    assert plan.run.language == "zh"


def test_named_language_counts_without_language_folder(tmp_path: Path) -> None:
    write_datasets_in_both_languages(tmp_path)
    write_results(tmp_path / "runs/m", "[find_en(a=1)]")
    (plan,) = find_plans(tmp_path, language="zh")
    assert plan.run.language == "zh" and str(plan.run.dataset).endswith("data_zh")


def test_folder_of_language_overrides_named_language(tmp_path: Path) -> None:
    write_results(tmp_path / "result_en/m")
    (plan,) = find_plans(tmp_path, language="zh")
    assert plan.run.language == "en"
    assert any("--language zh has no effect on this run" in issue.what for issue in plan.issues)
