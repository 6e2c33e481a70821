"""`export`: one way to write, whoever reads it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.errors import UsageError
from fcreview.cli.output import create_stdout_writer

Cli = Callable[..., Any]


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def at_terminal(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """What a person would see of standard output from here on."""
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(shown, encoding="utf-8"))
    return shown


def test_standard_output_and_a_file_hold_the_same(cli: Cli, hostile_run: Path, tmp_path: Path) -> None:
    for name in ("jsonl", "csv"):
        told = cli("export", hostile_run, "--format", name, "-o", tmp_path / name)
        assert (told.code, told.out) == (0, "")
        assert f"2 labels in {tmp_path / name}" in told.err
    printed_lines = cli("export", hostile_run)
    assert printed_lines.objects == [json.loads(line) for line in (tmp_path / "jsonl").read_text().split("\n") if line]
    assert "\x9b" not in printed_lines.out
    assert cli("export", hostile_run, "--format", "csv").out.encode() == (tmp_path / "csv").read_bytes()


def test_an_unknown_format_is_wrong_usage(cli: Cli, one_run: Path, tmp_path: Path) -> None:
    for out in ("-", tmp_path / "labels"):
        told = cli("export", one_run, "--format", "nonsense", "-o", out)
        assert (told.code, told.out) == (2, "")
        assert "atif, csv, golden-patch, hf, inspect, jsonl" in told.err


def test_help_says_what_each_format_is(cli: Cli) -> None:
    told = cli("export", "--help").out
    assert "jsonl         JSON Lines" in told
    assert "csv           " in told


def test_what_a_terminal_would_obey_is_made_visible(
    monkeypatch: pytest.MonkeyPatch, hostile: str, raw: tuple[str, ...]
) -> None:
    shown = at_terminal(monkeypatch)
    create_stdout_writer("text").write(f"{hostile}\r\n".encode())
    create_stdout_writer("json").write(json.dumps(hostile, ensure_ascii=False).encode() + b"\n")
    assert shown.getvalue().count(b"evil") == 2
    assert not [char for char in raw if char in shown.getvalue().decode()]


def test_bytes_are_nothing_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    at_terminal(monkeypatch)
    with pytest.raises(UsageError, match="-o"):
        create_stdout_writer("binary")
