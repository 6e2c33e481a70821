"""The examples in the help work on the sample runs."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fcreview.cli.commands import COMMANDS, START_HERE, load_command, split_help_and_example
from tests.cli.conftest import Cli

NEEDS = {
    "extend": "the queue has no reviewed items",
    "issue": "contains no corrected golden answer",
    "patch": "no resolved golden fix of bfcl",
    "serve": "users.toml: No such file",
    "map": "results.jsonl does not exist",
    "propose": "results.jsonl does not exist",
    "check": "fcreview-map.toml does not exist",
}
"""Errors of examples that need reviews or a file of the user."""
TEAM_ERRORS = ("belongs to no team", "failed to resolve host")
"""Errors of the `team` examples, which need a PostgreSQL server. tests/team runs these commands
with one.
"""
SMALLER = {"200": "20", "50": "2", "10": "2"}
"""Sample sizes that fit the sample runs."""


def list_examples() -> Iterator[tuple[str, str]]:
    """Yield (command, its example)."""
    for name in COMMANDS:
        module, found = load_command(name)
        functions = {name: module, **found} if isinstance(found, dict) else {name: found}
        for each, function in functions.items():
            example = split_help_and_example(function.__doc__)[1].partition("Example:")[2].strip()
            assert example.startswith("fcreview "), f"{each} has no example"
            yield each, example
    yield from (("program", example) for example in START_HERE)


EVERY = [(name, text.strip()) for name, text in list_examples()]
FIRST = ("import", "label", "add", "create", "check", "issue", "export")


@pytest.fixture(scope="module")
def place(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The BFCL sample runs under the names used in the examples."""
    root = tmp_path_factory.mktemp("examples")
    shutil.copytree(samples / "bfcl", root / "bfcl")
    (root / "runs").symlink_to(root / "bfcl" / "result")
    (root / "runs" / "gpt4o").symlink_to(root / "bfcl" / "result" / "maple-8b")
    (root / "result").symlink_to(root / "bfcl" / "result")
    (root / "bfcl" / "score" / "gpt4o").symlink_to(root / "bfcl" / "score" / "maple-8b")
    return root


def example_arguments(example: str, home: Path) -> list[str]:
    command, _, _ = example.strip().partition(" > ")
    words = [
        word.replace("~", str(home)).replace("COMMAND", "items")
        for word in shlex.split(command)[1:]
    ]
    return [SMALLER.get(word, word) for word in words]


def test_every_command_has_example() -> None:
    assert len(EVERY) >= len(COMMANDS)


@pytest.mark.sweep
def test_examples_work_as_printed(place: Path, cli: Cli) -> None:
    ordered = sorted(
        EVERY, key=lambda each: FIRST.index(each[0]) if each[0] in FIRST else len(FIRST)
    )
    faults = []
    for name, example in ordered:
        if name == "merge":
            shutil.copytree(
                place / "runs" / "gpt4o",
                place / "home" / "from-alice" / "gpt4o",
                dirs_exist_ok=True,
            )
        if name == "errata":
            (place / "errata.jsonl").unlink()  # written by the example of `errata create`
        if name == "import-labels":
            cli(
                "label",
                "runs/gpt4o",
                "live_simple_3-3-0",
                "--verdict",
                "pass",
                "--annotator",
                "alice",
                cwd=place,
            )
            cli("export", "runs/gpt4o", "-o", "labels.jsonl", cwd=place)
        done = cli(*example_arguments(example, place / "home"), cwd=place, TMPDIR=str(place))
        if name in NEEDS and NEEDS[name] in done.err:
            continue
        if example.startswith("fcreview team ") and any(error in done.err for error in TEAM_ERRORS):
            continue
        if example.startswith("fcreview check ") and done.code == 1 and done.out:
            continue  # the sample runs have problems
        if done.code or not (done.out + done.err).strip():
            faults.append(f"{name}: {example}\n   {done.code} {done.err}")
    assert not faults, "\n".join(faults)


def test_empty_result_is_explained(place: Path, cli: Cli) -> None:
    cli("label", "runs/gpt4o", "live_simple_2-2-0", "--verdict", "fail", cwd=place)
    for command in ("export", "items", "triage"):
        done = cli(command, "runs/gpt4o", "--where", "reviewed", "--annotator", "nobody", cwd=place)
        assert done.code == 0
        assert (
            "no item matches reviewed. nobody has no reviews in this workspace. Choose --annotator "
            in done.err
        ), command
        own = cli(command, "runs/gpt4o", "--where", "reviewed", cwd=place)
        assert "no item matches" not in own.err
        assert "live_simple_2-2-0" in own.out


@pytest.mark.parametrize("command", ["runs", "report", "show"])
def test_annotator_is_checked(place: Path, cli: Cli, command: str) -> None:
    item = ["live_simple_3-3-0"] if command == "show" else []
    done = cli(command, "runs/gpt4o", *item, "--annotator", "somebody", cwd=place)
    assert done.code == 0, done.err
    assert cli(command, "runs/gpt4o", *item, "--annotator", "a/b", cwd=place).code != 0
