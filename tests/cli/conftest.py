"""The program as people run it, on small BFCL runs written here in the V4 layout."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.commands import Done, environment, run_in_subprocess, run_in_this_process

CATEGORY = "simple_python"
HOSTILE = "\x1b[2J\x1b]52;c;aGk=\x07\x9b31m\u202eevil\u200b [bold red]x[/] \x7f\x85"
"""Clears the screen, sets the clipboard, C1, right-to-left, zero-width, markup."""
RAW = ("\x1b", "\x07", "\x9b", "\u202e", "\u200b", "\x7f", "\x85", "\r")


Cli = Callable[..., Done]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Of a person with an empty home folder, called tester."""
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
    """Runs `fcreview` with these arguments, without a terminal; keywords change the environment."""

    def run(*arguments: str | Path, cwd: Path | None = None, **changes: str) -> Done:
        return run_in_this_process(arguments, cwd or tmp_path, environ | changes)

    return run


@pytest.fixture
def process(tmp_path: Path, environ: dict[str, str]) -> Cli:
    """The same in a process of its own."""

    def run(*arguments: str | Path, cwd: Path | None = None, **changes: str) -> Done:
        return run_in_subprocess(arguments, cwd or tmp_path, environ | changes)

    return run


@pytest.fixture(scope="module")
def module_cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """As `cli`, for what a module makes once."""
    place = tmp_path_factory.mktemp("module")
    return lambda *arguments: run_in_this_process(arguments, place, environment(place))


def lines(path: Path, records: Sequence[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def weather(city: str, unit: str = "celsius") -> str:
    return f"[get_weather(city={city!r}, unit={unit!r})]"


RIGHT = weather("Oslo")
ANSWERS = [RIGHT, weather("Rome"), weather("Paris"), weather("Oslo", "kelvin"), "I cannot do that.", weather(HOSTILE)]
"""Of one model: one right, four with a wrong value (one of them hostile), one without a call."""
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
            "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "kelvin"]}},
            "required": ["city"],
        },
    }
    ids = [f"{CATEGORY}_{at}" for at in range(count)]
    asked = [[{"role": "user", "content": "What is the weather in Oslo?"}]]
    lines(
        root / "data" / f"BFCL_v4_{CATEGORY}.json",
        [{"id": name, "question": [asked[0]], "function": [function]} for name in ids],
    )
    lines(
        root / "data" / "possible_answer" / f"BFCL_v4_{CATEGORY}.json",
        [{"id": name, "ground_truth": [{"get_weather": {"city": ["Oslo"], "unit": ["celsius", ""]}}]} for name in ids],
    )


def write_model(root: Path, model: str, answers: Sequence[str], errors: dict[int, str]) -> None:
    lines(
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
    lines(root / "score" / model / "non_live" / f"BFCL_v4_{CATEGORY}_score.json", [header, *entries])


def write_one(root: Path) -> None:
    """The results, scores and dataset of one model, six items."""
    write_dataset(root, len(ANSWERS))
    write_model(root, "maple", ANSWERS, ERRORS)


def write_two(root: Path) -> None:
    """The same with a second model that gets everything right."""
    write_one(root)
    write_model(root, "birch", [RIGHT] * len(ANSWERS), {})


def write_hostile(root: Path) -> None:
    """A model with a hostile name and hostile answers, and a line in its results that is not JSON."""
    write_dataset(root, 2)
    model = HOSTILE.replace("/", "")
    write_model(root, model, [weather(HOSTILE), HOSTILE], {0: f"{HOSTILE}:string", 1: "ast_decoder:decoder_failed"})
    results = root / "result" / model / "non_live" / f"BFCL_v4_{CATEGORY}_result.json"
    results.write_text(results.read_text() + f"not JSON {HOSTILE}\n")


@pytest.fixture
def one_run(tmp_path: Path) -> Path:
    """A folder with the results, scores and dataset of one model, six items."""
    write_one(tmp_path / "runs")
    return tmp_path / "runs"


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    """The same with a second model that gets everything right."""
    write_two(tmp_path / "runs")
    return tmp_path / "runs"


@pytest.fixture(scope="session")
def imported_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders that were imported once, to be copied: `one`, `two` and `hostile`."""
    place = tmp_path_factory.mktemp("before")
    for name, write in (("one", write_one), ("two", write_two), ("hostile", write_hostile)):
        write(place / name)
        assert run_in_this_process(["import", name], place, environment(place)).code == 0
    return place


@pytest.fixture
def known_run(imported_before: Path, tmp_path: Path) -> Path:
    """`one_run` that was imported already."""
    return shutil.copytree(imported_before / "one", tmp_path / "runs")


@pytest.fixture
def two_known_runs(imported_before: Path, tmp_path: Path) -> Path:
    """`two_runs` that were imported already."""
    return shutil.copytree(imported_before / "two", tmp_path / "runs")


@pytest.fixture
def hostile_run(imported_before: Path, tmp_path: Path) -> Path:
    """A run whose model's name and answers are hostile, and a result file with a line that is not JSON; imported."""
    return shutil.copytree(imported_before / "hostile", tmp_path / "hostile")
