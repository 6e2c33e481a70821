"""`fcreview export` writes the same to files and standard output, and safe text to a terminal."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.output import create_stdout_writer
from fcreview.cli.wiring import build_form_fields
from fcreview.errors import UsageError
from fcreview.exporters.base import EXPORTERS, FORMATS, find_formats_with_option

Cli = Callable[..., Any]


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def replace_stdout(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """Replace standard output with a terminal and return the bytes written to it."""
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(shown, encoding="utf-8"))
    return shown


def test_standard_output_and_file_are_equal(cli: Cli, hostile_run: Path, tmp_path: Path) -> None:
    for name in ("jsonl", "csv"):
        done = cli("export", hostile_run, "--format", name, "-o", tmp_path / name)
        assert (done.code, done.out) == (0, "")
        assert f"wrote 2 labels to {tmp_path / name}" in done.err
    printed_lines = cli("export", hostile_run)
    assert printed_lines.objects == [
        json.loads(line) for line in (tmp_path / "jsonl").read_text().split("\n") if line
    ]
    assert "\x9b" not in printed_lines.out
    assert (
        cli("export", hostile_run, "--format", "csv").out.encode()
        == (tmp_path / "csv").read_bytes()
    )


def test_unknown_format_is_wrong_usage(cli: Cli, one_run: Path, tmp_path: Path) -> None:
    for out in ("-", tmp_path / "labels"):
        done = cli("export", one_run, "--format", "nonsense", "-o", out)
        assert (done.code, done.out) == (2, "")
        assert "atif, csv, eee, generic, golden-patch, hf, inspect, jsonl" in done.err


def test_help_describes_formats(cli: Cli) -> None:
    text = cli("export", "--help").out
    assert "jsonl         JSON Lines" in text
    assert "csv           " in text
    words = " ".join(text.split())
    assert "For sft, preference, kto and rewards: number of annotators who must agree." in words
    assert "For preference: maximum number of pairs" in words


@pytest.mark.parametrize(
    ("format_name", "option", "message"),
    [
        ("sft", "--max-pairs=4", "--max-pairs needs --format preference"),
        ("csv", "--trust-rule", "--trust-rule needs --format sft, preference or kto"),
        ("atif", "--only=all", "--only needs --format jsonl, csv, parquet, labelstudio or hf"),
        ("native", "--check", "--check needs --format inspect"),
        ("inspect", "--queue=judged", "--format inspect writes whole runs. Omit --queue"),
    ],
)
def test_option_of_another_format_is_refused(
    cli: Cli, one_run: Path, format_name: str, option: str, message: str
) -> None:
    done = cli("export", one_run, "--format", format_name, "-o", "out", option)
    assert (done.code, done.out) == (2, "") and message in done.err


def test_every_declared_option_is_one_of_the_command() -> None:
    options = {field.name for field in build_form_fields("export")}
    # A form has no field for any number of files.
    declared = {option for each in FORMATS for option in each.options} - {"decontaminate"}
    assert declared <= options
    assert find_formats_with_option("force") == frozenset(EXPORTERS), "an option of all formats"


def test_control_characters_are_made_visible_on_terminal(
    monkeypatch: pytest.MonkeyPatch, hostile: str, raw: tuple[str, ...]
) -> None:
    shown = replace_stdout(monkeypatch)
    create_stdout_writer("text").write(f"{hostile}\r\n".encode())
    create_stdout_writer("json").write(json.dumps(hostile, ensure_ascii=False).encode() + b"\n")
    assert shown.getvalue().count(b"evil") == 2
    assert not [char for char in raw if char in shown.getvalue().decode()]


def test_binary_format_is_not_written_to_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_stdout(monkeypatch)
    with pytest.raises(UsageError, match="-o"):
        create_stdout_writer("binary")
