"""Fixtures that run `fcreview` commands, and small BFCL runs in the V4 layout."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.commands import Done, environment, run_in_subprocess, run_in_this_process

CATEGORY = "simple_python"
HOSTILE = "\x1b[2J\x1b]52;c;aGk=\x07\x9b31m\u202eevil\u200b [bold red]x[/] \x7f\x85"
"""Sequences that clear the screen and set the clipboard, C1, right-to-left and zero-width
characters, and markup.
"""
RAW = ("\x1b", "\x07", "\x9b", "\u202e", "\u200b", "\x7f", "\x85", "\r")


Cli = Callable[..., Done]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of the annotator `tester` with an empty home folder."""
    (tmp_path / "home").mkdir(exist_ok=True)
    return environment(tmp_path / "home")


@pytest.fixture
def raw() -> tuple[str, ...]:
    """Characters that must never reach a terminal."""
    return RAW


@pytest.fixture
def hostile() -> str:
    return HOSTILE


@pytest.fixture
def cli(tmp_path: Path, environ: dict[str, str]) -> Cli:
    """Run `fcreview` in this process without a terminal. Keywords change the environment."""

    def run(*arguments: str | Path, cwd: Path | None = None, **changes: str) -> Done:
        return run_in_this_process(arguments, cwd or tmp_path, environ | changes)

    return run


@pytest.fixture
def process(tmp_path: Path, environ: dict[str, str]) -> Cli:
    """Run `fcreview` in a separate process without a terminal. Keywords change the environment."""

    def run(*arguments: str | Path, cwd: Path | None = None, **changes: str) -> Done:
        return run_in_subprocess(arguments, cwd or tmp_path, environ | changes)

    return run


@pytest.fixture(scope="module")
def module_cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """`cli` for fixtures of module scope."""
    place = tmp_path_factory.mktemp("module")
    return lambda *arguments: run_in_this_process(arguments, place, environment(place))


def write_lines(path: Path, records: Sequence[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def weather_call(city: str, unit: str = "celsius") -> str:
    return f"[get_weather(city={city!r}, unit={unit!r})]"


RIGHT = weather_call("Oslo")
ANSWERS = [
    RIGHT,
    weather_call("Rome"),
    weather_call("Paris"),
    weather_call("Oslo", "kelvin"),
    "I cannot do that.",
    weather_call(HOSTILE),
]
"""Answers of one model: one right, four with a wrong value (one of them hostile), one without a
call.
"""
ERRORS = {
    1: "value_error:string",
    2: "value_error:string",
    3: "value_error:string",
    4: "ast_decoder:decoder_failed",
    5: "value_error:string",
}


def write_dataset(root: Path, count: int) -> None:
    function = {
        "name": "get_weather",
        "description": "Weather in a city.",
        "parameters": {
            "type": "dict",
            "properties": {
                "city": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "kelvin"]},
            },
            "required": ["city"],
        },
    }
    ids = [f"{CATEGORY}_{at}" for at in range(count)]
    question = [[{"role": "user", "content": "What is the weather in Oslo?"}]]
    write_lines(
        root / "data" / f"BFCL_v4_{CATEGORY}.json",
        [{"id": name, "question": [question[0]], "function": [function]} for name in ids],
    )
    write_lines(
        root / "data" / "possible_answer" / f"BFCL_v4_{CATEGORY}.json",
        [
            {
                "id": name,
                "ground_truth": [{"get_weather": {"city": ["Oslo"], "unit": ["celsius", ""]}}],
            }
            for name in ids
        ],
    )


def write_model(root: Path, model: str, answers: Sequence[str], errors: dict[int, str]) -> None:
    write_lines(
        root / "result" / model / "non_live" / f"BFCL_v4_{CATEGORY}_result.json",
        [{"id": f"{CATEGORY}_{at}", "result": answer} for at, answer in enumerate(answers)],
    )
    right = len(answers) - len(errors)
    header = {"accuracy": right / len(answers), "correct_count": right, "total_count": len(answers)}
    entries = [
        {
            "id": f"{CATEGORY}_{at}",
            "model_name": model,
            "test_category": CATEGORY,
            "valid": False,
            "error": [f"wrong: {answers[at]}"],
            "error_type": error,
        }
        for at, error in errors.items()
    ]
    write_lines(
        root / "score" / model / "non_live" / f"BFCL_v4_{CATEGORY}_score.json", [header, *entries]
    )


def write_one(root: Path) -> None:
    """Write the results, scores and dataset of one model with six items."""
    write_dataset(root, len(ANSWERS))
    write_model(root, "maple", ANSWERS, ERRORS)


def write_two(root: Path) -> None:
    """Write the run of `write_one` and a second model that passes every item."""
    write_one(root)
    write_model(root, "birch", [RIGHT] * len(ANSWERS), {})


def write_hostile(root: Path) -> None:
    """Write a run with a hostile model name, hostile answers and a result line that is not JSON."""
    write_dataset(root, 2)
    model = HOSTILE.replace("/", "")
    write_model(
        root,
        model,
        [weather_call(HOSTILE), HOSTILE],
        {0: f"{HOSTILE}:string", 1: "ast_decoder:decoder_failed"},
    )
    results = root / "result" / model / "non_live" / f"BFCL_v4_{CATEGORY}_result.json"
    results.write_text(results.read_text() + f"not JSON {HOSTILE}\n")


@pytest.fixture
def one_run(tmp_path: Path) -> Path:
    """A folder with the results, scores and dataset of one model with six items."""
    write_one(tmp_path / "runs")
    return tmp_path / "runs"


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    """The run `one_run` and a second model that passes every item."""
    write_two(tmp_path / "runs")
    return tmp_path / "runs"


@pytest.fixture(scope="session")
def imported_templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The imported folders `one`, `two` and `hostile`. Tests copy them."""
    place = tmp_path_factory.mktemp("before")
    for name, write in (("one", write_one), ("two", write_two), ("hostile", write_hostile)):
        write(place / name)
        assert run_in_this_process(["import", name], place, environment(place)).code == 0
    return place


@pytest.fixture
def imported_run(imported_templates: Path, tmp_path: Path) -> Path:
    """A copy of `one_run` after its import."""
    return shutil.copytree(imported_templates / "one", tmp_path / "runs")


@pytest.fixture
def two_imported_runs(imported_templates: Path, tmp_path: Path) -> Path:
    """A copy of `two_runs` after their import."""
    return shutil.copytree(imported_templates / "two", tmp_path / "runs")


@pytest.fixture
def hostile_run(imported_templates: Path, tmp_path: Path) -> Path:
    """An imported run with a hostile model name, hostile answers and a result line that is not
    JSON.
    """
    return shutil.copytree(imported_templates / "hostile", tmp_path / "hostile")
