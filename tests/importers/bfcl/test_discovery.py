"""Runs are found from every folder, with their scores and dataset."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.joining import API_KEY, is_same_reply
from fcreview.importers.registry import discover
from tests.importers.bfcl.conftest import (
    CATEGORY,
    OFFICIAL,
    RESULT,
    SCORE,
    issue_texts,
    official_verdicts,
)


def names(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


@pytest.mark.parametrize(
    "opened",
    [
        ".",
        "result",
        "score",
        "result/m",
        "score/m",
        "result/m/non_live",
        "result/m/non_live/BFCL_v4_simple_python_result.json",
    ],
)
def test_checkout_is_one_run_from_every_folder(v4: Path, plans: Any, opened: str) -> None:
    (plan,) = plans(v4 / opened)
    assert (plan.run.model, plan.run.generation, plan.run.benchmark) == ("m", "V4", "bfcl")
    assert names(plan.results) == ["BFCL_v4_simple_python_result.json"]
    assert names(plan.scores) == ["BFCL_v4_simple_python_score.json"]
    assert plan.run.dataset == str(v4 / "data")
    assert plan.issues == []


def test_outer_folders_may_have_any_name(v4: Path, plans: Any) -> None:
    (v4 / "result").rename(v4 / "result-BFCL")
    (v4 / "score").rename(v4 / "score-BFCL")
    shutil.copytree(v4 / "score-BFCL", v4 / "an_older_score")
    (plan,) = plans(v4 / "result-BFCL" / "m")
    assert plan.scores[0].is_relative_to(v4 / "score-BFCL")
    (v4 / "result-BFCL").rename(v4 / "one")
    (v4 / "score-BFCL").rename(v4 / "two")
    shutil.rmtree(v4 / "an_older_score")
    (plan,) = plans(v4 / "one")
    assert plan.scores[0].is_relative_to(v4 / "two")


def test_run_folder_with_result_and_score(v4: Path, plans: Any, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "gpt4o"
    run.mkdir(parents=True)
    (v4 / "result").rename(run / "result")
    (v4 / "score").rename(run / "score")
    for opened in (tmp_path / "runs", run, run / "result" / "m"):
        (plan,) = plans(opened)
        assert (plan.run.model, len(plan.results), len(plan.scores)) == ("m", 1, 1)


def test_run_folder_without_model_folder(v4: Path, plans: Any) -> None:
    run = v4 / "runs" / "gpt4o"
    run.mkdir(parents=True)
    (v4 / "result" / "m" / "non_live").rename(run / "result")
    (v4 / "score" / "m" / "non_live").rename(run / "score")
    for opened in (v4 / "runs", run, run / "result", run / "score"):
        (plan,) = plans(opened)
        assert (plan.run.model, len(plan.results), len(plan.scores)) == ("gpt4o", 1, 1)


def test_folder_of_result_files_names_model(v4: Path, plans: Any) -> None:
    bare = v4 / "runs" / "gpt4o"
    bare.parent.mkdir()
    (v4 / "result" / "m" / "non_live").rename(bare)
    shutil.rmtree(v4 / "score")
    (plan,) = plans(bare)
    assert (plan.run.model, len(plan.results), plan.scores) == ("gpt4o", 1, [])
    shutil.copytree(bare, v4 / "runs" / "claude")
    assert [plan.run.model for plan in plans(v4 / "runs")] == ["claude", "gpt4o"]


def test_scores_in_same_folder(v4: Path, plans: Any) -> None:
    name = "BFCL_v4_simple_python_score.json"
    (v4 / "score" / "m" / "non_live" / name).rename(v4 / "result" / "m" / "non_live" / name)
    (plan,) = plans(v4 / "result")
    assert names(plan.scores) == [name]


def test_single_file_has_only_its_category(
    v4: Path, plans: Any, write_lines: Any, header: Any, result: Any
) -> None:
    write_lines(v4 / "result/m/non_live/BFCL_v4_multiple_result.json", result("multiple_0"))
    write_lines(v4 / "score/m/non_live/BFCL_v4_multiple_score.json", header(1, 1))
    (plan,) = plans(v4 / "result/m/non_live/BFCL_v4_multiple_result.json")
    assert list(plan.importer_data) == ["multiple"]
    assert plan.run.path.endswith("BFCL_v4_multiple_result.json")
    (plan,) = plans(v4 / "result/m")
    assert list(plan.importer_data) == ["simple_python", "multiple"]


def test_two_versions_are_two_runs(v4: Path, plans: Any, write_lines: Any, result: Any) -> None:
    write_lines(v4 / "result/m/BFCL_v3_simple_result.json", result("simple_0"))
    found = plans(v4)
    assert sorted(plan.run.generation for plan in found) == ["V3", "V4"]
    (old,) = [plan for plan in found if plan.run.generation == "V3"]
    assert old.run.dataset is None
    assert "no BFCL V3 dataset" in old.issues[0].what


def test_v1_results_named_like_questions(
    tmp_path: Path, plans: Any, write_lines: Any, question: Any, result: Any
) -> None:
    name = "gorilla_openfunctions_v1_test_simple.json"
    write_lines(tmp_path / "data" / name, question("simple_0", v1=True))
    write_lines(tmp_path / "result/m" / name, result(0, key="idx"))
    write_lines(
        tmp_path / "score/m/simple_score.json",
        {"accuracy": 1, "correct_count": 1, "total_count": 1},
    )
    (plan,) = plans(tmp_path)
    assert (plan.run.generation, len(plan.results), len(plan.scores)) == ("V1", 1, 1)
    assert plan.run.dataset == str(tmp_path / "data")


def test_ignored_files_give_one_notice_per_kind_and_folder(v4: Path) -> None:
    for number in range(3):
        snapshot = v4 / f"result/m/agentic/memory/kv/memory_snapshot/s{number}.json"
        snapshot.parent.mkdir(parents=True, exist_ok=True)
        snapshot.write_text("{\n}")
    for name in ("data_overall.csv", "data_live.csv"):
        (v4 / "score" / name).write_text("Rank")
    found = discover([v4])
    assert [issue.severity for issue in found.issues] == ["notice", "notice"]
    assert {issue.what.split()[1] for issue in found.issues} == {"3", "2"}
    assert len(found.plans) == 1


def test_dataset_folder_option(
    v4: Path, plans: Any, tmp_path_factory: Any, monkeypatch: Any
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (v4 / "data").rename(elsewhere / "bench")
    (plan,) = plans(v4)
    assert plan.run.dataset is None
    (plan,) = plans(v4, data=[elsewhere])
    assert plan.run.dataset == str(elsewhere / "bench")
    monkeypatch.setenv("FCREVIEW_DATA", str(elsewhere / "bench"))
    (plan,) = plans(v4)
    assert plan.run.dataset == str(elsewhere / "bench")


def test_installed_package_is_found_without_import(
    v4: Path, plans: Any, tmp_path_factory: Any, monkeypatch: Any
) -> None:
    from fcreview.importers.bfcl import discovery

    site = tmp_path_factory.mktemp("site")
    (site / "bfcl_eval").mkdir()
    (site / "bfcl_eval" / "__init__.py").write_text("raise SystemExit('imported')")
    (v4 / "data").rename(site / "bfcl_eval" / "data")
    monkeypatch.syspath_prepend(str(site))
    discovery._find_installed_data_folders.cache_clear()
    try:
        (plan,) = plans(v4)
    finally:
        discovery._find_installed_data_folders.cache_clear()
    assert plan.run.dataset == str(site / "bfcl_eval" / "data")


def test_scored_dataset_is_chosen(v4: Path, plans: Any, write_lines: Any, question: Any) -> None:
    other = v4 / "other"
    shutil.copytree(v4 / "data", other)
    (plan,) = plans(v4, data=[other, v4 / "data"])
    assert plan.issues == []  # equal datasets are not ambiguous
    write_lines(
        other / "BFCL_v4_simple_python.json",
        question("simple_python_0"),
        question("simple_python_1", "Else?"),
    )
    (plan,) = plans(v4, data=[other, v4 / "data"])
    assert plan.run.dataset == str(v4 / "data")
    assert [issue.severity for issue in plan.issues] == ["notice"]
    assert str(other) in plan.issues[0].what


def test_newest_matching_dataset_is_used_without_scores(
    v4: Path, plans: Any, write_lines: Any, question: Any
) -> None:
    """The very newest dataset lacks an item of the results.

    Without dates in the paths, file times decide.
    """
    shutil.rmtree(v4 / "score")
    name, ids = "BFCL_v4_simple_python.json", ("simple_python_0", "simple_python_1")
    for folder, day in (("old", "2025-07-06"), ("new", "2025-08-11"), ("newest", "2025-09-01")):
        records = [question(item, day) for item in ids[: 1 if folder == "newest" else 2]]
        path = write_lines(v4 / "data" / folder / day / name, *records)
        os.utime(path, (0, 0))
    (v4 / "data" / name).unlink()
    (plan,) = plans(v4 / "result", data=[v4 / "data"])
    assert plan.run.dataset == str(v4 / "data/new/2025-08-11")
    issue, no_scores = plan.issues
    assert (issue.severity, no_scores.severity) == ("warning", "notice")
    assert (
        f"new/2025-08-11 (2); {v4 / 'data/old/2025-07-06'} (2); {v4 / 'data/newest/2025-09-01'} (1)"
        in issue.what
    )
    for seconds, folder in enumerate(("new", "old")):
        (next((v4 / "data" / folder).iterdir())).rename(v4 / "data" / folder / "x")
        os.utime(v4 / "data" / folder / "x" / name, (seconds, seconds))
    (plan,) = plans(v4 / "result", data=[v4 / "data"])
    assert plan.run.dataset == str(v4 / "data/old/x")


def test_dataset_with_other_functions_does_not_match(
    v4: Path, plans: Any, write_lines: Any, question: Any
) -> None:
    shutil.rmtree(v4 / "score")
    name, renamed = "BFCL_v4_simple_python.json", [question(f"simple_python_{n}") for n in range(2)]
    for record in renamed:
        record["function"][0]["name"] = "perimeter"
    os.utime(write_lines(v4 / "other/2025-09-01" / name, *renamed))
    (plan,) = plans(v4 / "result", data=[v4 / "data", v4 / "other"])
    assert plan.run.dataset == str(v4 / "data")


def test_folder_without_dataset_is_reported(v4: Path, plans: Any) -> None:
    (v4 / "empty").mkdir()
    (plan,) = plans(v4, data=[v4 / "empty"])
    assert "the data folders contain no BFCL V4 dataset" in plan.issues[0].what
    assert plan.run.dataset == str(v4 / "data")


def test_published_runs_are_found(bench: Path, plans: Any) -> None:
    assert len(plans(bench / "bfcl_v1")) == 3
    panel = plans(bench / "bfcl_v1_panel", data=[bench / "bfcl_v1"])
    assert len(panel) == 12
    assert {plan.run.dataset for plan in panel} == {str(bench / "bfcl_v1" / "data")}
    assert {len(plan.scores) for plan in panel} == {4}
    (one,) = plans(bench / "bfcl_v4/result/gpt-4o-mini-2024-07-18-FC")
    assert (len(one.results), len(one.scores)) == (17, 17)


def test_newer_version_is_read_as_v4_with_notice(
    tmp_path: Path, plans: Any, write_lines: Any, result: Any
) -> None:
    write_lines(tmp_path / "m/BFCL_v5_simple_python_result.json", result("simple_python_0"))
    (plan,) = plans(tmp_path)
    assert plan.run.generation == "V5"
    assert "does not know BFCL V5" in plan.issues[0].what


def test_folders_named_after_run_and_role(v4: Path, plans: Any) -> None:
    (v4 / "result" / "m" / "non_live").rename(v4 / "gpt4o_result")
    (v4 / "score" / "m" / "non_live").rename(v4 / "gpt4o_score")
    (plan,) = plans(v4 / "gpt4o_result")
    assert (plan.run.model, len(plan.results), len(plan.scores)) == ("gpt4o_result", 1, 1)


RESULT_NAME, SCORE_NAME = Path(RESULT).name, Path(SCORE).name


def sorted_names(paths: list[Path]) -> list[str]:
    return sorted(path.name for path in paths)


@pytest.mark.parametrize(
    "inside", ["agentic/web_search", "a", "a/b", "non_live/a", "a/non_live", "agentic/memory/kv/a"]
)
def test_v4_files_at_any_depth_belong_to_model(
    v4: Path, plans: Any, items: Any, inside: str
) -> None:
    for kind, name in (("result", RESULT_NAME), ("score", SCORE_NAME)):
        folder = v4 / kind / "glyphh-ada-1.1" / inside
        folder.mkdir(parents=True)
        (v4 / kind / "m/non_live" / name).rename(folder / name)
        shutil.rmtree(v4 / kind / "m")
    for opened in (v4, v4 / "result", v4 / "result/glyphh-ada-1.1", v4 / "score"):
        (plan,) = plans(opened)
        assert (plan.run.model, sorted_names(plan.results), sorted_names(plan.scores)) == (
            "glyphh-ada-1.1",
            [RESULT_NAME],
            [SCORE_NAME],
        )
        assert official_verdicts(items(plan)[0]) == OFFICIAL


def test_folders_of_model_are_one_run(v4: Path, plans: Any, write_lines: Any, result: Any) -> None:
    write_lines(
        v4 / "result/m/agentic/web_search/BFCL_v4_web_search_base_result.json",
        result("web_search_base_0"),
    )
    write_lines(v4 / "result/m/more/BFCL_v4_multiple_result.json", result("multiple_0"))
    (plan,) = plans(v4)
    assert list(plan.importer_data) == [CATEGORY, "multiple", "web_search_base"]
    (plan,) = plans(v4 / "result/m/more")
    assert (plan.run.model, list(plan.importer_data)) == ("m", ["multiple"])


def test_folders_with_same_category_are_several_models(v4: Path, plans: Any) -> None:
    (v4 / "result/day").mkdir()
    (v4 / "result/m").rename(v4 / "result/day/m")
    shutil.copytree(v4 / "result/day/m", v4 / "result/day/n")
    assert [plan.run.model for plan in plans(v4 / "result")] == ["m", "n"]
    for model in "mn":
        (v4 / "result/day" / model / "non_live" / RESULT_NAME).rename(
            v4 / "result/day" / model / RESULT_NAME
        )
    assert [plan.run.model for plan in plans(v4 / "result")] == ["m", "n"]


def test_date_folder_is_not_model(v4: Path, plans: Any) -> None:
    (v4 / "result/2026-01-31").mkdir()
    (v4 / "result/m").rename(v4 / "result/2026-01-31/m")
    (plan,) = plans(v4 / "result")
    assert plan.run.model == "m"


@pytest.mark.parametrize(
    ("results", "scores", "n_scores"),
    [
        ("result-ct2", "score-0TESTS", 0),
        ("result-ct2", "score", 0),
        ("result", "score-ct2", 0),
        ("result-ct2", "score-CT2", 1),
        ("results", "score", 1),
        ("my_results", "my_scores", 1),
        ("result", "two", 1),
        ("one", "score-ct2", 1),
    ],
)
def test_scores_match_results_with_same_suffix(
    v4: Path, plans: Any, results: str, scores: str, n_scores: int
) -> None:
    (v4 / "result").rename(v4 / results)
    (v4 / "score").rename(v4 / scores)
    (plan,) = plans(v4 / results)
    assert len(plan.scores) == n_scores


def test_scores_without_model_folder_need_same_suffix(v4: Path, plans: Any) -> None:
    run = v4 / "runs/gpt4o"
    run.mkdir(parents=True)
    (v4 / "result/m/non_live").rename(run / "result-a")
    (v4 / "score/m/non_live").rename(run / "score-b")
    (plan,) = plans(run / "result-a")
    assert plan.scores == []


KEYS = [
    "REDACTED_RAPID_API_KEY",
    "YOUR-RAPID-API-KEY",
    "RAPID-API-KEY",
    "<YOUR_API_KEY>",
    "REDACTED-API-KEY",
    "[redacted]",
]


@pytest.mark.parametrize("key", KEYS)
def test_api_key_placeholders(key: str) -> None:
    assert API_KEY.sub("KEY", f"Use '{key}' now.") == "Use 'KEY' now."


def with_key(value: Any, key: str) -> Any:
    return json.loads(json.dumps(value).replace("How large", f"With key {key}, how large"))


@pytest.mark.parametrize("key", KEYS)
def test_other_placeholder_is_same_dataset_version(
    v4: Path,
    plans: Any,
    items: Any,
    write_lines: Any,
    question: Any,
    failure: Any,
    header: Any,
    key: str,
) -> None:
    ids = [f"{CATEGORY}_{n}" for n in range(2)]
    write_lines(
        v4 / f"data/BFCL_v4_{CATEGORY}.json", *(with_key(question(item), KEYS[0]) for item in ids)
    )
    write_lines(
        v4 / SCORE,
        header(0, 2),
        *(failure(item, prompt=with_key(question(item), key)) for item in ids),
    )
    shutil.copytree(v4 / "data", v4 / "other")
    write_lines(
        v4 / f"other/BFCL_v4_{CATEGORY}.json", *(with_key(question(item), key) for item in ids)
    )
    (plan,) = plans(v4 / "result", data=[v4 / "data", v4 / "other"])
    assert plan.issues == []
    found, issues = items(plan)
    assert not any(
        "version" in what or "differs from the dataset" in what for what in issue_texts(issues)
    )
    assert [item.rule for item in found] == [True, False]


CALL = [{"f": {"a": 1, "b": [True, "x"], "c": {"d": 2.5}}}]


@pytest.mark.parametrize(
    "quoted",
    [
        [{"f": json.dumps(CALL[0]["f"])}],
        [{"f": str(CALL[0]["f"])}],
        [{"f": {"a": "1", "b": [True, "x"], "c": {"d": "2.5"}}}],
        [{"f": {"a": "1", "b": "[True, 'x']", "c": "{'d': 2.5}"}}],
        [{"f": {"a": 1, "b": ["true", "x"], "c": '{"d": 2.5}'}}],
        str([{"f": {"a": "1", "b": '[true, "x"]', "c": "{'d': 2.5}"}}]),
    ],
)
def test_text_arguments_are_same_reply(quoted: Any) -> None:
    assert is_same_reply(quoted, CALL)


@pytest.mark.parametrize(
    "quoted",
    [
        [{"f": {"a": "2", "b": [True, "x"], "c": {"d": 2.5}}}],
        [{"g": str(CALL[0]["f"])}],
        CALL * 2,
        [],
        "",
        None,
        "[" * 50_000,
        [{"f": "[" * 900 + "]" * 900}],
    ],
)
def test_different_replies_differ(quoted: Any) -> None:
    assert not is_same_reply(quoted, CALL)


def test_deep_texts_do_not_raise() -> None:
    assert not is_same_reply([{"f": "[" * 90 + "1" + "]" * 90}], [{"f": "[" * 90 + "2" + "]" * 90}])
    assert is_same_reply([{"f": "[" * 900 + "]" * 900}], [{"f": "[" * 900 + "]" * 900}])
    assert not is_same_reply([{"f": "[" * 900 + " ]" * 900}], [{"f": "[" * 900 + "1" + "]" * 900}])
