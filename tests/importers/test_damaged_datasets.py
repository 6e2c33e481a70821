"""Empty, truncated, reformatted or contradictory datasets: every lost verdict has an issue with
counts.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.jsonl import JsonRecord, read_records, reread_value
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item

N_ITEMS = 6
PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
FUNCTION = {"name": "f", "description": "", "parameters": PARAMETERS}


@dataclass
class Run:
    questions: Path
    answers: Path
    other_answer: Any
    """A golden answer of no item."""


def write_lines(path: Path, records: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return path


def bfcl(root: Path) -> Run:
    name, ids = "BFCL_v4_simple_python", [f"simple_python_{n}" for n in range(N_ITEMS)]
    function = FUNCTION | {"parameters": PARAMETERS | {"type": "dict"}}
    question = {"question": [[{"role": "user", "content": "How many?"}]], "function": [function]}
    write_lines(
        root / f"result/m/{name}_result.json", [{"id": each, "result": "[f(a=1)]"} for each in ids]
    )
    answers = [{"id": each, "ground_truth": [{"f": {"a": [1]}}]} for each in ids]
    return Run(
        write_lines(root / f"data/{name}.json", [{"id": each} | question for each in ids]),
        write_lines(root / f"data/possible_answer/{name}.json", answers),
        [{"f": {"a": [2]}}],
    )


def confetti(root: Path) -> Run:
    name, ids = "BFCL_v2_conversationsclean", [f"conversationsclean_{n}" for n in range(N_ITEMS)]
    question = {"question": [{"role": "user", "content": "How many?"}], "function": [FUNCTION]}
    write_lines(
        root / f"result/m/{name}_result.json", [{"id": each, "result": "[f(a=1)]"} for each in ids]
    )
    answers = [
        {"id": each, "dialog_id": f"d_{n}", "ground_truth": [{"f": {"a": [1]}}]}
        for n, each in enumerate(ids)
    ]
    return Run(
        write_lines(root / f"data/{name}.json", [{"id": each} | question for each in ids]),
        write_lines(root / f"data/possible_answer/{name}.json", answers),
        [{"f": {"a": [2]}}],
    )


def acebench(root: Path) -> Run:
    category = "normal_atom_number"
    name, ids = f"data_{category}.json", [f"{category}_{n}" for n in range(N_ITEMS)]
    results = root / f"result_all/result_en/m/data_{category}_result.json"
    write_lines(results, [{"id": each, "result": "[f(a=1)]"} for each in ids])
    question = {"question": "user: How many?", "function": [FUNCTION]}
    return Run(
        write_lines(root / f"data_all/data_en/{name}", [{"id": each} | question for each in ids]),
        write_lines(
            root / f"data_all/data_en/possible_answer/{name}",
            [{"id": each, "ground_truth": {"f": {"a": 1}}} for each in ids],
        ),
        {"f": {"a": 2}},
    )


BENCHMARKS = [bfcl, confetti, acebench]
each_benchmark = pytest.mark.parametrize(
    "make_run", BENCHMARKS, ids=lambda make_run: make_run.__name__
)


def split_lines(content: bytes) -> list[bytes]:
    return content.splitlines()


UNREADABLE: dict[str, Callable[[bytes], bytes]] = {
    "utf-16 without mark": lambda content: content.decode().encode("utf-16-le"),
    "gzip": gzip.compress,
    "a Git LFS pointer": lambda _: (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"
    ),
}
OTHER_FORMS: dict[str, Callable[[bytes], bytes]] = {
    "utf-16": lambda content: content.decode().encode("utf-16"),
    "cr": lambda content: content.replace(b"\n", b"\r"),
    "array": lambda content: b"[" + b",".join(split_lines(content)) + b"]",
    "pretty array": lambda content: json.dumps(
        [json.loads(line) for line in split_lines(content)], indent=1
    ).encode(),
    "pretty": lambda content: b"\n".join(
        json.dumps(json.loads(line), indent=2).encode() for line in split_lines(content)
    ),
}
"""Forms of the same records that are read with a notice."""


def read(root: Path) -> tuple[list[Item], list[ImportIssue]]:
    (plan,) = discover([root]).plans
    found = list(read_items(plan))
    items = [each for each in found if isinstance(each, Item)]
    issues = plan.issues + [each for each in found if isinstance(each, ImportIssue)]
    return items, issues + [issue for item in items for issue in item.issues]


@each_benchmark
def test_undamaged_dataset_has_no_issue(make_run: Callable[[Path], Run], tmp_path: Path) -> None:
    make_run(tmp_path)
    items, issues = read(tmp_path)
    assert [item.rule for item in items] == [True] * N_ITEMS
    assert [issue for issue in issues if issue.severity != "notice"] == []


@each_benchmark
@pytest.mark.parametrize("side", ["questions", "answers"])
@pytest.mark.parametrize("n_left", [0, 2])
def test_lost_records_are_counted(
    make_run: Callable[[Path], Run], side: str, n_left: int, tmp_path: Path
) -> None:
    path: Path = getattr(make_run(tmp_path), side)
    path.write_bytes(b"\n".join(split_lines(path.read_bytes())[:n_left]))
    items, issues = read(tmp_path)
    assert [item.rule for item in items] == [True] * n_left + [None] * (N_ITEMS - n_left)
    what = "question" if side == "questions" else "golden answer"
    (issue,) = [issue for issue in issues if "results have no" in issue.what]
    assert (issue.file, issue.what) == (
        str(path),
        f"{N_ITEMS - n_left} of {N_ITEMS} results have no {what} in this file",
    )
    assert issue.severity == ("warning" if n_left else "error")


@each_benchmark
@pytest.mark.parametrize("side", ["questions", "answers"])
@pytest.mark.parametrize("damage", UNREADABLE)
def test_unreadable_file_is_not_missing_dataset(
    make_run: Callable[[Path], Run], side: str, damage: str, tmp_path: Path
) -> None:
    path: Path = getattr(make_run(tmp_path), side)
    path.write_bytes(UNREADABLE[damage](path.read_bytes()))
    items, issues = read(tmp_path)
    assert [item.rule for item in items] == [None] * N_ITEMS
    (issue,) = [issue for issue in issues if issue.what.startswith("the file is ")]
    assert (issue.file, issue.severity) == (str(path), "error")
    assert not any("no BFCL" in issue.what or "found" in issue.what for issue in issues)


@each_benchmark
@pytest.mark.parametrize("side", ["questions", "answers"])
@pytest.mark.parametrize("form", OTHER_FORMS)
def test_dataset_of_another_form_is_read_with_a_notice(
    make_run: Callable[[Path], Run], side: str, form: str, tmp_path: Path
) -> None:
    path: Path = getattr(make_run(tmp_path), side)
    path.write_bytes(OTHER_FORMS[form](path.read_bytes()))
    items, issues = read(tmp_path)
    assert [item.rule for item in items] == [True] * N_ITEMS
    assert {issue.severity for issue in issues if issue.file == str(path)} == {"notice"}


@each_benchmark
def test_different_golden_answers_of_one_id_are_reported(
    make_run: Callable[[Path], Run], tmp_path: Path
) -> None:
    run = make_run(tmp_path)
    answers = [json.loads(line) for line in split_lines(run.answers.read_bytes())]
    write_lines(run.answers, [*answers, answers[1]])
    assert [issue for issue in read(tmp_path)[1] if issue.severity != "notice"] == []
    write_lines(run.answers, [*answers, answers[1] | {"ground_truth": run.other_answer}])
    items, issues = read(tmp_path)
    assert [item.rule for item in items] == [True] * N_ITEMS
    (issue,) = [issue for issue in issues if issue.severity != "notice"]
    assert (issue.file, issue.line, issue.item) == (str(run.answers), N_ITEMS + 1, answers[1]["id"])
    assert "different content" in issue.what


def test_readable_dataset_replaces_unreadable_one(tmp_path: Path) -> None:
    good, bad = bfcl(tmp_path / "good"), bfcl(tmp_path / "bad")
    bad.questions.write_bytes(gzip.compress(bad.questions.read_bytes()))
    (plan,) = discover([tmp_path / "good/result"], data=[tmp_path / "bad", tmp_path / "good"]).plans
    assert plan.run.dataset == str(good.questions.parent)
    items = [each for each in read_items(plan) if isinstance(each, Item)]
    assert [item.rule for item in items] == [True] * N_ITEMS


def test_empty_complexfuncbench_dataset_is_counted(tmp_path: Path) -> None:
    record = {"id": "Hotels-0", "gen_convs": [], "message": "Success.", "count_dict": {}}
    write_lines(tmp_path / "result/m/full.jsonl", [record])
    dataset = tmp_path / "data/ComplexFuncBench.jsonl"
    for content, what in (
        (b"", "1 of 1 results have no sample in this file"),
        (gzip.compress(b"{}"), "the file is compressed (gzip)"),
    ):
        dataset.parent.mkdir(exist_ok=True)
        dataset.write_bytes(content)
        _, issues = read(tmp_path)
        assert any(issue.what.startswith(what) and issue.severity == "error" for issue in issues)
        assert not any(
            "not found" in issue.what and "data" in issue.what.lower() for issue in issues
        )


LONG = "7" * 6000


def test_number_with_6000_digits_loses_only_its_value(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(
        f'{{"id": "a", "n": {LONG}, "m": [1, -{LONG}]}}\n{{"id": "b", "n": {"8" * 4300}}}\n'
    )
    first, second, record, other = read_records(path)
    assert (
        isinstance(first, ImportIssue)
        and isinstance(second, ImportIssue)
        and isinstance(record, JsonRecord)
    )
    assert (first.line, first.what) == (
        1,
        f"a number is too long and was replaced by text: {LONG[:20]}… (a number of 6,000 digits)",
    )
    assert record.value == {
        "id": "a",
        "n": f"{LONG[:20]}… (a number of 6,000 digits)",
        "m": [1, second.what.partition(": ")[2]],
    }
    assert isinstance(other, JsonRecord) and other.value["n"] == int("8" * 4300)
    assert reread_value(path, record) == record.value
    issues: list[ImportIssue] = []
    path.write_text(f'[{{"id": "a", "n": {LONG}}}, {{"id": "b"}}]')
    found = read_json(path, issues, list)
    assert found is not None and [each["id"] for each in found] == ["a", "b"]
    assert len(issues) == 1


@each_benchmark
def test_result_with_long_number_is_item(make_run: Callable[[Path], Run], tmp_path: Path) -> None:
    make_run(tmp_path)
    (path,) = discover([tmp_path]).plans[0].results
    records = split_lines(path.read_bytes())
    records[2] = records[2].rstrip(b"}") + b', "latency": ' + LONG.encode() + b"}"
    path.write_bytes(b"\n".join(records))
    items, issues = read(tmp_path)
    assert [item.rule for item in items] == [True] * N_ITEMS
    assert [issue.line for issue in issues if "a number of 6,000 digits" in issue.what] == [3]
