"""Keys that stand in a run's files are not carried on: not into the store, nor to what is shown or exported of it."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fcreview.model.redact import redact_credentials, redact_keys_in_text
from tests.commands import run_in_this_process
from tests.faults.hostile import data as hostile_data
from tests.faults.hostile.data import BENCHMARKS

LETTERS = (string.ascii_letters + string.digits) * 2
KEYS = {
    "OpenAI": "sk-proj-" + LETTERS[20:68],
    "Anthropic": "sk-ant-api03-" + LETTERS[30:70],
    "Hugging Face": "hf_" + LETTERS[9:43],
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "Google": "AIza" + LETTERS[3:38],
    "GitHub": "ghp_" + LETTERS[11:47],
    "Slack": "xoxb-123456789012-" + LETTERS[5:25],
    "bearer": "eyJhbGciOi.J9" + LETTERS[1:40],
}
"""None of them is anybody's: the alphabet, or an example of the maker's own documents."""
PLANTED = " ".join(f"{'Authorization: Bearer ' if name == 'bearer' else ''}{key}" for name, key in KEYS.items())


def planted(path: tuple[str, ...], value: Any) -> Any:
    """In every text of every record."""
    named = path[-1:] in [
        (each,)
        for each in ("role", "id", "name", "fcreview", "model", "benchmark", "generation", "language", "category")
    ]
    return f"{value} {PLANTED}" if isinstance(value, str) and not named else value


def carried(text: str) -> list[str]:
    return [name for name, key in KEYS.items() if key in text]


@pytest.mark.hunt
@pytest.mark.sweep
@pytest.mark.parametrize("benchmark", dict.fromkeys([*BENCHMARKS, "tau"]))
def test_keys_are_carried_nowhere(tmp_path: Path, environ: dict[str, str], benchmark: str) -> None:
    place = hostile_data.made(benchmark, tmp_path / "runs", planted)
    done = [run_in_this_process(["import", place, "--json"], tmp_path, environ)]
    rows = run_in_this_process(["items", place, "--json"], tmp_path, environ).objects
    assert rows
    store = place / ".fcreview" / "store.duckdb"
    with duckdb.connect(str(store), read_only=True) as connection:
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            assert carried(str(connection.execute(f'FROM "{table}"').fetchall())) == [], table
    first = [rows[0]["id"], "--run", str(rows[0]["run"])]
    done.append(run_in_this_process(["label", place, *first, "--verdict", "pass"], tmp_path, environ))
    for words in (
        ["show", *first, "--full"],
        ["show", *first, "--json"],
        ["report"],
        ["export"],
        ["triage"],
        ["audit", *first],
    ):
        done.append(run_in_this_process([words[0], place, *words[1:]], tmp_path, environ))
    assert [carried(each.out + each.err) for each in done] == [[]] * len(done)
    assert any("[redacted]" in each.out for each in done)
    for file in (place / ".fcreview").rglob("*.json*"):
        assert carried(file.read_text()) == [], file


def test_the_keys_are_such_that_they_would_be_found() -> None:
    assert carried(PLANTED) == list(KEYS)


@pytest.mark.parametrize(
    "text",
    [
        "task-oriented-dialogue-benchmark-2", "sk-learn is a library", "hf_hub",
        "risk-management-of-the-portfolio-2024",
        "Bearer of bad news and other stories", "token=abc123", "AKIAXYZ", "api_key", "bearer bonds",
    ],
)  # fmt: skip
def test_what_is_no_key_stays(text: str) -> None:
    assert redact_keys_in_text(text) == text


def test_settings_named_like_credentials_are_left_out_and_others_stay() -> None:
    settings = {"api_key": "abc", "OPENAI_API_KEY": "x", "headers": {"Authorization": "Basic YTpi"}, "max_tokens": 5}
    settings |= {"key": "value", "token": "<eos>", "temperature": "0"}
    assert redact_credentials(settings) == settings | {
        "api_key": "[redacted]", "OPENAI_API_KEY": "[redacted]", "headers": {"Authorization": "[redacted]"},
    }  # fmt: skip
