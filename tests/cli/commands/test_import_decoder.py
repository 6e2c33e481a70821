"""`--decoder` and the configuration choose the decoder of a BFCL run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
NAME = "BFCL_v4_simple_python"
CALL = '[{"name": "area", "arguments": {"base": 10}}]'


def write_lines(path: Path, *values: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(value) for value in values), "utf-8")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of a model with Python prompts and JSON answers."""
    schema = {"type": "dict", "properties": {"base": {"type": "integer"}}, "required": ["base"]}
    document = {"name": "area", "parameters": schema}
    question = [[{"role": "user", "content": "How large?"}]]
    ids = [f"simple_python_{n}" for n in range(2)]
    write_lines(
        tmp_path / f"data/{NAME}.json",
        *({"id": i, "question": question, "function": [document]} for i in ids),
    )
    golden = [{"area": {"base": [10]}}]
    write_lines(
        tmp_path / f"data/possible_answer/{NAME}.json",
        *({"id": item, "ground_truth": golden} for item in ids),
    )
    results = tmp_path / f"result/gpt-4o-2024-11-20/non_live/{NAME}_result.json"
    write_lines(results, *({"id": item, "result": CALL} for item in ids))
    return tmp_path


def rule_verdicts(cli: Cli, run: Path, command: str = "items", *more: str) -> list[bool]:
    return [item["rule"] for item in cli(command, run, "--json", *more).objects]


@pytest.mark.sweep
def test_decoder_is_remembered_for_later_commands(cli: Cli, run: Path) -> None:
    assert cli("import", run, "--decoder", "prompt").code == 0
    assert rule_verdicts(cli, run) == [False, False]
    assert cli("import", run, "--decoder", "json").code == 0
    assert rule_verdicts(cli, run) == [True, True]
    shown = cli("show", run, "simple_python_0", "--json").objects[0]
    assert '"decoder": "JSON"' in json.dumps(shown)
    assert cli("import", run, "--json").objects[0]["status"] == "unchanged"
    cli("import", run, "--decoder", "model")
    (shown,) = cli("runs", run, "--json").objects
    assert shown["decoder_reason"].startswith("a guess: no scores; finds calls in 2 of 2 replies")


@pytest.mark.sweep
def test_open_takes_decoder_option(cli: Cli, run: Path) -> None:
    assert cli("open", run, "--decoder", "JSON").code == 0
    assert rule_verdicts(cli, run) == [True, True]


def test_unknown_decoder_is_refused_with_known_ones(cli: Cli, run: Path) -> None:
    done = cli("import", run, "--decoder", "nonsense")
    assert done.code == 2
    assert "HERMES" in done.err


def test_configuration_sets_decoder_by_model(cli: Cli, run: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[decoders]\n"gpt-4o-*" = "JSON"\n')
    assert [
        item["rule"] for item in cli("items", run, "--json", FCREVIEW_CONFIG=str(config)).objects
    ] == [True, True]
    config.write_text('[decoders]\n"gpt-4o-*" = "nonsense"\n')
    done = cli("items", run, FCREVIEW_CONFIG=str(config))
    assert done.code != 0
    assert "no decoder 'nonsense'" in done.err


@pytest.mark.sweep
def test_rate_without_results_is_that_of_header(cli: Cli, tmp_path: Path) -> None:
    head = {"accuracy": 0.86, "correct_count": 6, "total_count": 7}
    failing = {
        "id": "simple_python_3",
        "valid": False,
        "error": ["no"],
        "error_type": "value_error:others",
    }
    write_lines(tmp_path / f"score/gpt-4o-2024-11-20/non_live/{NAME}_score.json", head, failing)
    done = cli("import", tmp_path)
    assert "0.0 %" not in done.out
    assert "85.7 % stated" in done.out
    runs = cli("runs", tmp_path, "--json").objects[0]
    assert (runs["official_pass"], runs["official_known"]) == (0, 0)
    assert (runs["stated_pass"], runs["stated_of"]) == (6, 7)
    assert "85.71 % (6 of 7)" in cli("report", tmp_path).out
