"""Model folders contain the files of one run, and score folders are matched with result folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.joining import API_KEY, is_same_reply
from tests.importers.bfcl.small_run import CATEGORY, OFFICIAL, RESULT, SCORE, issue_texts, official_verdicts

RESULT_NAME, SCORE_NAME = Path(RESULT).name, Path(SCORE).name


def names(paths: list[Path]) -> list[str]:
    return sorted(path.name for path in paths)


@pytest.mark.parametrize(
    "inside", ["agentic/web_search", "a", "a/b", "non_live/a", "a/non_live", "agentic/memory/kv/a"]
)
def test_v4_files_at_any_depth_belong_to_model(v4: Path, plans: Any, items: Any, inside: str) -> None:
    for kind, name in (("result", RESULT_NAME), ("score", SCORE_NAME)):
        folder = v4 / kind / "glyphh-ada-1.1" / inside
        folder.mkdir(parents=True)
        (v4 / kind / "m/non_live" / name).rename(folder / name)
        shutil.rmtree(v4 / kind / "m")
    for opened in (v4, v4 / "result", v4 / "result/glyphh-ada-1.1", v4 / "score"):
        (plan,) = plans(opened)
        assert (plan.run.model, names(plan.results), names(plan.scores)) == (
            "glyphh-ada-1.1",
            [RESULT_NAME],
            [SCORE_NAME],
        )
        assert official_verdicts(items(plan)[0]) == OFFICIAL


def test_folders_of_model_are_one_run(v4: Path, plans: Any, write_lines: Any, result: Any) -> None:
    write_lines(v4 / "result/m/agentic/web_search/BFCL_v4_web_search_base_result.json", result("web_search_base_0"))
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
        (v4 / "result/day" / model / "non_live" / RESULT_NAME).rename(v4 / "result/day" / model / RESULT_NAME)
    assert [plan.run.model for plan in plans(v4 / "result")] == ["m", "n"]


def test_date_folder_is_not_model(v4: Path, plans: Any) -> None:
    (v4 / "result/2026-01-31").mkdir()
    (v4 / "result/m").rename(v4 / "result/2026-01-31/m")
    (plan,) = plans(v4 / "result")
    assert plan.run.model == "m"


@pytest.mark.parametrize(
    ("results", "scores", "n_scores"),
    [
        ("result-ct2", "score-0TESTS", 0), ("result-ct2", "score", 0), ("result", "score-ct2", 0),
        ("result-ct2", "score-CT2", 1), ("results", "score", 1), ("my_results", "my_scores", 1), ("result", "two", 1),
        ("one", "score-ct2", 1),
    ],
)  # fmt: skip
def test_scores_match_results_with_same_suffix(v4: Path, plans: Any, results: str, scores: str, n_scores: int) -> None:
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
    "REDACTED_RAPID_API_KEY", "YOUR-RAPID-API-KEY", "RAPID-API-KEY", "<YOUR_API_KEY>", "REDACTED-API-KEY", "[redacted]",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_api_key_placeholders(key: str) -> None:
    assert API_KEY.sub("KEY", f"Use '{key}' now.") == "Use 'KEY' now."


def with_key(value: Any, key: str) -> Any:
    return json.loads(json.dumps(value).replace("How large", f"With key {key}, how large"))


@pytest.mark.parametrize("key", KEYS)
def test_other_placeholder_is_same_dataset_version(
    v4: Path, plans: Any, items: Any, write_lines: Any, question: Any, failure: Any, header: Any, key: str
) -> None:
    ids = [f"{CATEGORY}_{n}" for n in range(2)]
    write_lines(v4 / f"data/BFCL_v4_{CATEGORY}.json", *(with_key(question(item), KEYS[0]) for item in ids))
    write_lines(v4 / SCORE, header(0, 2), *(failure(item, prompt=with_key(question(item), key)) for item in ids))
    shutil.copytree(v4 / "data", v4 / "other")
    write_lines(v4 / f"other/BFCL_v4_{CATEGORY}.json", *(with_key(question(item), key) for item in ids))
    (plan,) = plans(v4 / "result", data=[v4 / "data", v4 / "other"])
    assert plan.issues == []
    found, issues = items(plan)
    assert not any("version" in what or "differs from the dataset" in what for what in issue_texts(issues))
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
        str([{"f": {"a": "1", "b": "[true, \"x\"]", "c": "{'d': 2.5}"}}]),
    ],
)  # fmt: skip
def test_text_arguments_are_same_reply(quoted: Any) -> None:
    assert is_same_reply(quoted, CALL)


@pytest.mark.parametrize(
    "quoted",
    [
        [{"f": {"a": "2", "b": [True, "x"], "c": {"d": 2.5}}}], [{"g": str(CALL[0]["f"])}], CALL * 2, [], "", None,
        "[" * 50_000, [{"f": "[" * 900 + "]" * 900}],
    ],
)  # fmt: skip
def test_different_replies_differ(quoted: Any) -> None:
    assert not is_same_reply(quoted, CALL)


def test_deep_texts_do_not_raise() -> None:
    assert not is_same_reply([{"f": "[" * 90 + "1" + "]" * 90}], [{"f": "[" * 90 + "2" + "]" * 90}])
    assert is_same_reply([{"f": "[" * 900 + "]" * 900}], [{"f": "[" * 900 + "]" * 900}])
    assert not is_same_reply([{"f": "[" * 900 + " ]" * 900}], [{"f": "[" * 900 + "1" + "]" * 900}])
