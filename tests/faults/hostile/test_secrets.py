"""API keys in the files of a run do not get into the store, the output or the exports."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fcreview.model.sanitize import redact_api_keys_in_text, redact_credentials
from tests.commands import run_in_this_process
from tests.faults.hostile import data as hostile_data
from tests.faults.hostile.data import BENCHMARKS

LETTERS = (string.ascii_letters + string.digits) * 2
KEYS = {
    "OpenAI": "sk-proj-" + LETTERS[20:68],
    "Anthropic": "sk-ant-api03-" + LETTERS[30:70],
    "quoted by an error message": "sk-proj-****************3Q4A",
    "Hugging Face": "hf_" + LETTERS[9:43],
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "Google": "AIza" + LETTERS[3:38],
    "GitHub": "ghp_" + LETTERS[11:47],
    "Slack": "xoxb-123456789012-" + LETTERS[5:25],
    "bearer": "eyJhbGciOi.J9" + LETTERS[1:40],
}
"""Made-up keys, or examples from the documentation of the vendor."""
ALL_KEYS = " ".join(
    f"{'Authorization: Bearer ' if name == 'bearer' else ''}{key}" for name, key in KEYS.items()
)


def add_keys(path: tuple[str, ...], value: Any) -> Any:
    """Append the keys to every text of a record."""
    named = path[-1:] in [
        (each,)
        for each in (
            "role",
            "id",
            "name",
            "fcreview",
            "model",
            "benchmark",
            "generation",
            "language",
            "category",
        )
    ]
    return f"{value} {ALL_KEYS}" if isinstance(value, str) and not named else value


def find_keys(text: str) -> list[str]:
    return [name for name, key in KEYS.items() if key in text]


@pytest.mark.fuzz
@pytest.mark.sweep
@pytest.mark.parametrize("benchmark", dict.fromkeys([*BENCHMARKS, "tau"]))
def test_api_keys_are_redacted_everywhere(
    tmp_path: Path, environ: dict[str, str], benchmark: str
) -> None:
    place = hostile_data.make_run(benchmark, tmp_path / "runs", add_keys)
    done = [run_in_this_process(["import", place, "--json"], tmp_path, environ)]
    rows = run_in_this_process(["items", place, "--json"], tmp_path, environ).objects
    assert rows
    store = place / ".fcreview" / "store.duckdb"
    with duckdb.connect(str(store), read_only=True) as connection:
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            assert find_keys(str(connection.execute(f'FROM "{table}"').fetchall())) == [], table
    first = [rows[0]["id"], "--run", str(rows[0]["run"])]
    done.append(
        run_in_this_process(["label", place, *first, "--verdict", "pass"], tmp_path, environ)
    )
    for words in (
        ["show", *first, "--full"],
        ["show", *first, "--json"],
        ["report"],
        ["export"],
        ["triage"],
        ["audit", *first],
    ):
        done.append(run_in_this_process([words[0], place, *words[1:]], tmp_path, environ))
    assert [find_keys(each.out + each.err) for each in done] == [[]] * len(done)
    assert any("[redacted]" in each.out for each in done)
    for file in (place / ".fcreview").rglob("*.json*"):
        assert find_keys(file.read_text()) == [], file


def test_find_keys_finds_all_keys() -> None:
    assert find_keys(ALL_KEYS) == list(KEYS)


@pytest.mark.parametrize(
    "text",
    [
        "task-oriented-dialogue-benchmark-2",
        "sk-learn is a library",
        "hf_hub",
        "a risk-**very high**",
        "risk-management-of-the-portfolio-2024",
        "Bearer of bad news and other stories",
        "token=abc123",
        "AKIAXYZ",
        "api_key",
        "bearer bonds",
    ],
)
def test_similar_text_is_not_redacted(text: str) -> None:
    assert redact_api_keys_in_text(text) == text


def test_only_settings_named_like_credentials_are_redacted() -> None:
    settings = {
        "api_key": "abc",
        "OPENAI_API_KEY": "x",
        "headers": {"Authorization": "Basic YTpi"},
        "max_tokens": 5,
    }
    settings |= {"key": "value", "token": "<eos>", "temperature": "0"}
    assert redact_credentials(settings) == settings | {
        "api_key": "[redacted]",
        "OPENAI_API_KEY": "[redacted]",
        "headers": {"Authorization": "[redacted]"},
    }
