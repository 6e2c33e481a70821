"""Damaged score files that list only failures: no failure becomes a pass, and each damage is an
error.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover, read_items, rewrite_scores
from fcreview.model.item import ImportIssue, Item
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT

N_ITEMS = 8
FAILING = (1, 3, 4, 6)
Verdicts = dict[str, bool | None]


def write_lines(path: Path, records: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def header(n_failing: int, total: int = N_ITEMS) -> dict[str, Any]:
    return {
        "accuracy": 1 - n_failing / total,
        "correct_count": total - n_failing,
        "total_count": total,
    }


def failure(item_id: Any, **more: Any) -> dict[str, Any]:
    return {"id": item_id, "valid": False, "error": ["wrong"], "error_type": "value_error", **more}


def bfcl(root: Path) -> Path:
    name = "BFCL_v4_simple_python"
    write_lines(
        root / f"result/m/{name}_result.json",
        [{"id": f"simple_python_{n}", "result": "f()"} for n in range(N_ITEMS)],
    )
    entries = [failure(f"simple_python_{n}", model_result_raw="f()") for n in FAILING]
    return write_lines(root / f"score/m/{name}_score.json", [header(len(FAILING)), *entries])


def bfcl_v1(root: Path) -> Path:
    name = "gorilla_openfunctions_v1_test_simple"
    write_lines(
        root / f"result/m/{name}_result.json", [{"idx": n, "result": "f()"} for n in range(N_ITEMS)]
    )
    return write_lines(
        root / "score/m/simple_score.json",
        [header(len(FAILING)), *(failure(n + 1) for n in FAILING)],
    )


def confetti(root: Path) -> Path:
    name = "BFCL_v2_conversationsclean"
    results = [{"id": f"conversationsclean_{n}", "result": "[f()]"} for n in range(N_ITEMS)]
    write_lines(root / f"result/m/{name}_result.json", results)
    entries = [failure(n + 1, prompt={"id": f"conversationsclean_{n}"}) for n in FAILING]
    return write_lines(root / f"score/m/{name}_score.json", [header(len(FAILING)), *entries])


def acebench(root: Path) -> Path:
    category = "normal_atom_bool"
    results = [{"id": f"{category}_{n}", "result": "[f()]"} for n in range(N_ITEMS)]
    write_lines(root / f"result_all/result_en/m/data_{category}_result.json", results)
    entries = [failure(f"{category}_{n}") for n in FAILING]
    return write_lines(
        root / f"score_all/score_en/m/data_{category}_score.json", [header(len(FAILING)), *entries]
    )


def acebench_agent(root: Path) -> Path:
    category = "agent_multi_step"
    results = [{"id": f"{category}_{n}", "result": [], "process": []} for n in range(N_ITEMS)]
    write_lines(root / f"result_all/result_en/m/data_{category}_result.json", results)
    entries = [failure(n) for n in FAILING]
    first = header(len(FAILING)) | {"process_accuracy": 0.875}
    folder = root / "score_all/score_en/m"
    process = [
        {f"{category}_{n}": {"process_accuracy": 0.5, "call_process": ["[f()]", "[g()]"]}}
        for n in (1, 3)
    ]
    write_lines(folder / f"data_{category}_process.json", process)
    return write_lines(folder / f"data_{category}_score.json", [first, *entries])


BENCHMARKS = [bfcl, bfcl_v1, confetti, acebench, acebench_agent]
each_benchmark = pytest.mark.parametrize(
    "make_run", BENCHMARKS, ids=lambda make_run: make_run.__name__
)


def split_lines(content: bytes) -> list[bytes]:
    return content.split(b"\n")


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "header alone": lambda content: split_lines(content)[0],
    "no header": lambda content: b"\n".join(split_lines(content)[1:]),
    "cut": lambda content: content[: len(content) // 2],
    "utf-16 without mark": lambda content: content.decode().encode("utf-16-le"),
    "gzip": gzip.compress,
    "a Git LFS pointer": lambda _: (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"
    ),
    "entry lost": lambda content: b"\n".join(
        [*split_lines(content)[:2], *split_lines(content)[3:]]
    ),
    "entry lost, another doubled": lambda content: b"\n".join(
        [*split_lines(content)[:2], *split_lines(content)[3:], split_lines(content)[3]]
    ),
    "entry of another item": lambda content: (
        content.replace(b"_3", b"_99")
        .replace(b'"id": 4,', b'"id": 100,')
        .replace(b'"id": 3,', b'"id": 99,')
    ),
    "entry says valid": lambda content: content.replace(b'"valid": false', b'"valid": true', 1),
    "zeros": lambda content: bytes(len(content)),
}


OTHER_FORMS: dict[str, Callable[[bytes], bytes]] = {
    "utf-16": lambda content: content.decode().encode("utf-16"),
    "cr": lambda content: content.replace(b"\n", b"\r"),
    "pretty": lambda content: b"\n".join(
        json.dumps(json.loads(line), indent=2).encode() for line in split_lines(content)
    ),
    "array": lambda content: b"[" + b",\n".join(split_lines(content)) + b"]",
}
"""Forms of the same records that are read with a notice."""


def read(root: Path) -> tuple[Verdicts, list[ImportIssue]]:
    (plan,) = discover([root]).plans
    found = list(read_items(plan))
    items = [each for each in found if isinstance(each, Item)]
    issues = [each for each in found if isinstance(each, ImportIssue)]
    return {item.id: item.official for item in items}, issues + [
        issue for item in items for issue in item.issues
    ]


@each_benchmark
def test_undamaged_file_gives_every_verdict(
    make_run: Callable[[Path], Path], tmp_path: Path
) -> None:
    make_run(tmp_path)
    verdicts, issues = read(tmp_path)
    assert [n for n, verdict in enumerate(verdicts.values()) if verdict is False] == list(FAILING)
    assert set(verdicts.values()) == {True, False}
    assert [issue for issue in issues if issue.severity == "error"] == []


@each_benchmark
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_score_file_gives_no_pass(
    make_run: Callable[[Path], Path], damage: str, tmp_path: Path
) -> None:
    path = make_run(tmp_path)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    verdicts, issues = read(tmp_path)
    assert len(verdicts) == N_ITEMS + (
        damage == "entry of another item" and make_run in (bfcl, bfcl_v1)
    )
    assert True not in verdicts.values()
    errors = [issue for issue in issues if issue.severity == "error" and issue.file == str(path)]
    assert any("unknown" in issue.what for issue in errors)
    assert len(errors) <= 2


@each_benchmark
@pytest.mark.parametrize("form", OTHER_FORMS)
def test_score_file_of_another_form_gives_every_verdict(
    make_run: Callable[[Path], Path], form: str, tmp_path: Path
) -> None:
    path = make_run(tmp_path)
    verdicts, _ = read(tmp_path)
    path.write_bytes(OTHER_FORMS[form](path.read_bytes()))
    found, issues = read(tmp_path)
    assert found == verdicts
    assert [
        issue.severity for issue in issues if issue.file == str(path) and issue.item is None
    ] == ["notice"]


@each_benchmark
def test_header_without_failures_is_complete(
    make_run: Callable[[Path], Path], tmp_path: Path
) -> None:
    write_lines(make_run(tmp_path), [header(0)])
    verdicts, issues = read(tmp_path)
    assert list(verdicts.values()) == [True] * N_ITEMS
    assert [
        issue
        for issue in issues
        if issue.severity == "error" and "score" in issue.file.rpartition("/")[2]
    ] == []


@each_benchmark
@pytest.mark.parametrize("damage", ["empty", "entry lost", "entry lost, another doubled"])
def test_damaged_score_file_is_not_rewritten(
    make_run: Callable[[Path], Path], damage: str, tmp_path: Path
) -> None:
    path = make_run(tmp_path)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    (plan,) = discover([tmp_path]).plans
    items = [each for each in read_items(plan) if isinstance(each, Item)]
    row = ScoredItem(items[0].id, items[0].category, None, False, overrides={ITEM_CORRECT: False})
    (problem,) = rewrite_scores(plan, [row])
    assert "score file is damaged" in problem.description  # type: ignore[union-attr]


def test_incomplete_process_file_is_reported(tmp_path: Path) -> None:
    path = acebench_agent(tmp_path).with_name("data_agent_multi_step_process.json")

    def read_accuracies() -> list[Any]:
        (plan,) = discover([tmp_path]).plans
        items = [each for each in read_items(plan) if isinstance(each, Item)]
        return [
            v.value
            for item in items
            for v in item.verdicts
            if (v.source, v.criterion) == ("official", "process_accuracy")
        ]

    assert read_accuracies() == [1.0, 0.5, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0]
    for content in (
        b"",
        split_lines(path.read_bytes())[0],
        path.read_bytes()[:-30],
        gzip.compress(path.read_bytes()),
    ):
        path.write_bytes(content)
        assert read_accuracies() == []
        _, issues = read(tmp_path)
        assert any(
            issue.severity == "error" and "process accuracies are unknown" in issue.what
            for issue in issues
        )


def test_item_passing_other_golden_answer_counts_as_passed(tmp_path: Path) -> None:
    """The evaluator lists an item that fails the first golden answer, but counts it as correct
    if it passes another.
    """
    scores = acebench(tmp_path)
    name, item_id = "data_normal_atom_bool.json", "normal_atom_bool_3"
    function = {
        "name": "f",
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}, "required": []},
    }
    ids = [f"normal_atom_bool_{n}" for n in range(N_ITEMS)]
    write_lines(
        tmp_path / f"data_all/data_en/{name}",
        [{"id": each, "question": "user: q", "function": [function]} for each in ids],
    )
    golden = [{"id": each, "ground_truth": [{"f": {"a": "x"}}, {"f": {"a": "y"}}]} for each in ids]
    write_lines(tmp_path / f"data_all/data_en/possible_answer/{name}", golden)
    results = [
        {"id": each, "result": "[f(a='y')]" if each == item_id else "[f(a='z')]"} for each in ids
    ]
    write_lines(tmp_path / "result_all/result_en/m/data_normal_atom_bool_result.json", results)
    lines = [json.loads(line) for line in split_lines(scores.read_bytes())]
    write_lines(scores, [header(len(FAILING) - 1), *lines[1:]])
    verdicts, issues = read(tmp_path)
    assert [each for each, verdict in verdicts.items() if verdict is False] == [
        f"normal_atom_bool_{n}" for n in (1, 4, 6)
    ]
    assert verdicts[item_id] is True
    assert any(issue.item == item_id and "later golden answer" in issue.what for issue in issues)
