"""Unreadable files and formats that fcreview does not import: one sentence says what they are
and what to do.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
RECORDS = [
    {
        "id": f"simple_python_{number}",
        "result": [{"math_factorial": '{"number": 6}'}],
        "latency": 0.5,
    }
    for number in range(3)
]
LINES = "".join(json.dumps(record) + "\n" for record in RECORDS)
RESULT_FILE = "result/gpt-4o-2024-11-20-FC/non_live/BFCL_v4_simple_python_result.json"
LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"

READABLE_FORMS = {
    "array": json.dumps(RECORDS).encode(),
    "pretty array": json.dumps(RECORDS, indent=2).encode(),
    "pretty objects": "\n".join(json.dumps(record, indent=2) for record in RECORDS).encode(),
    "UTF-16": LINES.encode("utf-16"),
    "UTF-16 of an array": json.dumps(RECORDS).encode("utf-16-be").join([b"\xfe\xff", b""]),
    "CR": LINES.replace("\n", "\r").encode(),
    "CR and LF": LINES.replace("\n", "\r\n").encode(),
    "byte order mark": b"\xef\xbb\xbf" + LINES.encode(),
}
NOTICES = {
    "array": "JSON array",
    "pretty array": "JSON array",
    "pretty objects": "span several lines",
    "UTF-16": "UTF-16",
    "UTF-16 of an array": "UTF-16",
    "CR": "CR instead of LF",
}
REFUSED_FORMS = {
    "Git LFS pointer": (LFS_POINTER.encode(), "Git LFS pointer", "git lfs pull"),
    "gzip": (gzip.compress(LINES.encode()), "compressed (gzip)", "Unpack it"),
    "UTF-16 without a mark": (LINES.encode("utf-16-le"), "UTF-16", "iconv"),
    "UTF-32": (LINES.encode("utf-32"), "UTF-32", "iconv"),
    "object by id": (
        json.dumps({r["id"]: r["result"] for r in RECORDS}).encode(),
        "entry for each id",
        "on each line",
    ),
    "pretty object by id": (
        json.dumps({r["id"]: r["result"] for r in RECORDS}, indent=1).encode(),
        "entry for each id",
        "on each line",
    ),
}


def write(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.mark.parametrize("form", READABLE_FORMS)
def test_other_forms_of_records_are_read(tmp_path: Path, cli: Cli, form: str) -> None:
    folder = write(tmp_path / "runs", RESULT_FILE, READABLE_FORMS[form])
    done = cli("import", folder, "--json")
    assert done.code == 0
    (row,) = [line for line in done.objects if line["kind"] == "run"]
    assert (row["items"], row["status"]) == (3, "imported")
    notices = [
        line["what"]
        for line in done.objects
        if line["kind"] == "issue" and line["file"].endswith(".json")
    ]
    assert [NOTICES[form] in notice for notice in notices] == [True] * (form in NOTICES)
    assert [item["n_predicted"] for item in cli("items", folder, "--json").objects] == [1, 1, 1]


@pytest.mark.parametrize("form", [form for form in READABLE_FORMS if not form.startswith("UTF-16")])
def test_raw_records_of_other_forms_are_shown(tmp_path: Path, cli: Cli, form: str) -> None:
    from fcreview.importers.registry import discover, read_items
    from fcreview.model.item import Item

    folder = write(tmp_path / "runs", RESULT_FILE, READABLE_FORMS[form])
    raw = (folder / RESULT_FILE).read_bytes()
    (plan,) = discover([folder]).plans
    items = [record for record in read_items(plan) if isinstance(record, Item)]
    read_back = [
        json.loads(raw[item.offset : item.offset + item.length].decode("utf-8-sig"))
        for item in items
    ]
    assert read_back == RECORDS


@pytest.mark.parametrize("form", REFUSED_FORMS)
def test_run_without_readable_records_fails_with_one_sentence(
    tmp_path: Path, cli: Cli, form: str
) -> None:
    content, reason, advice = REFUSED_FORMS[form]
    folder = write(tmp_path / "runs", RESULT_FILE, content)
    done = cli("import", folder, "--json")
    assert done.code == 1
    (row,) = [line for line in done.objects if line["kind"] == "run"]
    assert (row["items"], row["status"]) == (0, "failed")
    errors = [
        line["what"]
        for line in done.objects
        if line["kind"] == "issue" and line["severity"] == "error"
    ]
    assert [reason in what and advice in what for what in errors] == [True]
    opened = cli("items", folder)
    assert opened.code == 1 and reason in opened.err


def test_earlier_items_are_kept_if_the_file_becomes_unreadable(tmp_path: Path, cli: Cli) -> None:
    folder = write(tmp_path / "runs", RESULT_FILE, LINES)
    cli("import", folder)
    write(folder, RESULT_FILE, LFS_POINTER)
    done = cli("import", folder, "--json")
    (row,) = [line for line in done.objects if line["kind"] == "run"]
    assert (done.code, row["status"], row["items"]) == (1, "failed", 3)


def make_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(RESULT_FILE, LINES)
    return buffer.getvalue()


def make_tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo(RESULT_FILE)
        info.size = len(LINES)
        archive.addfile(info, io.BytesIO(LINES.encode()))
    return buffer.getvalue()


ARCHIVES = {
    "run.zip": make_zip(),
    "run.tar": make_tar(),
    "run.tgz": gzip.compress(make_tar()),
    "run.json.gz": gzip.compress(LINES.encode()),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_archive_alone_is_named_with_advice(tmp_path: Path, cli: Cli, name: str) -> None:
    done = cli("import", write(tmp_path / "runs", name, ARCHIVES[name]))
    assert done.code == 1
    assert name in done.err and "Unpack it" in done.err
    assert len(done.err.splitlines()) <= 6


def test_archive_beside_a_run_is_a_notice(tmp_path: Path, cli: Cli) -> None:
    folder = write(tmp_path / "runs", RESULT_FILE, LINES)
    write(folder, "more.zip", ARCHIVES["run.zip"])
    done = cli("import", folder, "--json")
    assert done.code == 0
    assert any("archives skipped: 1 (more.zip)" in line.get("what", "") for line in done.objects)


@pytest.mark.parametrize("name", ["scores.csv", "scores.TSV", "scores.parquet"])
def test_table_beside_a_run_is_a_notice(tmp_path: Path, cli: Cli, name: str) -> None:
    folder = write(tmp_path / "runs", RESULT_FILE, LINES)
    write(folder, name, "id,ok\n1,true\n")
    done = cli("import", folder, "--json")
    assert done.code == 0
    (notice,) = [line for line in done.objects if "tables skipped" in line.get("what", "")]
    assert f"recognizes them: 1 ({name})" in notice["what"]
    assert "--map FILE" in notice["what"]


def test_git_lfs_pointer_of_any_name_is_named(tmp_path: Path, cli: Cli) -> None:
    done = cli("import", write(tmp_path / "runs", "trajectory.json", LFS_POINTER))
    assert done.code == 1
    assert "git lfs pull" in done.err


MESSAGE = {"role": "user", "content": "hi"}
OTHER_FORMATS = {
    "an AgentDojo run": {
        "suite_name": "workspace",
        "user_task_id": "user_task_0",
        "messages": [MESSAGE],
    },
    "a Gemini log": {"session": {"contents": [{"role": "user", "parts": [{"text": "weather"}]}]}},
    "a Langfuse export": [
        {"id": "t1", "observations": [], "scores": [{"name": "correct", "value": 1}]}
    ],
    "a LangSmith export": {"id": "r1", "run_type": "chain", "inputs": {}},
    "a mini-SWE-agent trajectory": {"info": {"mini_version": "2.0.0"}, "messages": [MESSAGE]},
    "an OpenAI Responses log": {
        "custom_id": "a",
        "body": {"input": []},
        "response": {"body": {"output": []}},
    },
    "an OpenHands output": {"instance_id": "d-1", "history": [], "test_result": {}},
    "a promptfoo result": {"evalId": "e", "results": {"results": []}},
    "a SWE-agent trajectory": {"trajectory": [{"action": "ls", "observation": "a"}]},
    "NeMo Skills output": {"id": "simple_0", "generation": [], "num_generated_tokens": 3},
    "a list of tau2 results": [{"info": {}, "tasks": [], "simulations": []}],
}


@pytest.mark.parametrize("title", OTHER_FORMATS)
def test_other_format_is_named_in_few_lines(tmp_path: Path, cli: Cli, title: str) -> None:
    indent = 1 if title.startswith(("an AgentDojo", "a mini", "a prompt", "a Langfuse")) else None
    folder = write(tmp_path / "runs", "log.json", json.dumps(OTHER_FORMATS[title], indent=indent))
    done = cli("import", folder)
    assert done.code == 1 and done.out == ""
    assert f"log.json looks like {title}" in done.err
    assert "1 file, 1 of them JSON" in done.err
    assert len(done.err.splitlines()) <= 6
    assert max(map(len, done.err.splitlines())) < 200


def test_doctor_lists_the_formats_if_there_is_no_run(tmp_path: Path, cli: Cli) -> None:
    folder = write(tmp_path / "runs", "notes.txt", "nothing")
    assert "fcreview doctor" in cli("import", folder).err
    assert "data_CATEGORY_result.json" in cli("doctor", folder).out


def test_array_of_complexfuncbench_records_opens(tmp_path: Path, cli: Cli) -> None:
    record = {
        "id": "Hotels-0",
        "gen_convs": [{"role": "user", "content": "x" * 200_000}],
        "message": "Success.",
    }
    record["count_dict"] = {
        "success_turn_num": 1,
        "total_turn_num": 1,
        "correct_call_num": 1,
        "total_call_num": 1,
    }
    folder = write(
        tmp_path / "runs", "ace/gpt-mini/cfb_gpt-mini.json", json.dumps([record], indent=2)
    )
    (row,) = [line for line in cli("import", folder, "--json").objects if line["kind"] == "run"]
    assert (row["benchmark"], row["model"], row["items"]) == ("complexfuncbench", "gpt-mini", 1)


def test_array_of_generic_records_opens(tmp_path: Path, cli: Cli) -> None:
    record = {"id": "a", "messages": [MESSAGE], "golden": [], "predicted": []}
    folder = write(
        tmp_path / "runs", "records.json", json.dumps([record, record | {"id": "b"}], indent=2)
    )
    assert [item["id"] for item in cli("items", folder, "--json").objects] == ["a", "b"]
