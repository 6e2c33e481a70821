"""`fcreview schema --command` describes the lines that the commands print with `--json`."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.commands import COMMANDS, load_command
from fcreview.cli.json_schemas.commands import LINES_BY_COMMAND
from fcreview.cli.json_schemas.declaration import DIALECT, Field, build_schema
from fcreview.cli.output import format_json_line
from fcreview.model.review import ItemKey
from fcreview.stats.agreement import compute_self_agreement
from fcreview.stats.agreement_ratings import RepeatedRating
from tests.cli.conftest import Cli
from tests.cli.json_lines import (
    RECORD,
    describe_commands,
    list_problems,
    list_version_problems,
)
from tests.commands import environment, run_in_this_process
from tests.sibling_runs import write_sibling_runs

JUDGE = """
import json, sys
for line in sys.stdin:
    name = json.loads(line)["id"]
    passes = sys.argv[1] == "oak" or sum(map(ord, name)) % 3
    print(json.dumps({"id": name, "verdict": "pass" if passes else "fail"}), flush=True)
"""
FIRST_COMMANDS = """
import . --json
queue create . --name pilot --size 8 --seed 3 --annotators alice,bob --overlap 3 --json
queue list . --json
queue show . pilot --json
label . live_simple_3-3-0 --run 1 --verdict fail --annotator alice --json
label . live_simple_3-3-0 --run 1 --verdict pass --annotator bob --json
label . live_simple_2-2-0 --run 1 --verdict fail --annotator bob --json
items . --not-run --json
runs . --group model --json
show . live_simple_3-3-0 --run 1 --annotator alice --json
triage . --json
triage . --by value --json
triage . --by category --json
triage . --by decisive --json
check . --json
report . --json
report . --conventions --json
report bfcl --ranking --json
report bfcl --group model --json
compare . --json
compare . 1 2 --json
compare . 1 2 --source effective --json
suspects . --json
audit . live_simple_3-3-0 --run 1 --json
adjudicate . --json
agreement . --json
estimate tau --json
doctor . --json
rules preview . 'accept 30 for 50 in minutes' --json
rules add . 'accept 30 for 50 in minutes'
rules list . --json
errata create . -o errata.jsonl
errata check errata.jsonl --json
sql . "SELECT run, id, official FROM items LIMIT 3" --json
map check ../mapping/fcreview-map.toml --json
export . -o labels.jsonl
import-labels . labels.jsonl --said-by bob --annotator carl --json
label . --undo --annotator bob --json
queue create . --name second --run 1 --size 20 --seed 3 --annotators tester --allow-overlap --json
queue show . second --json
"""
COMMANDS_ON_REVIEWED_RUN = """
judge . --run 1 --command 'PYTHON judge.py oak' --name oak --dry-run --json
judge . --run 1 --command 'PYTHON judge.py oak' --name oak --yes --json
judge . --run 1 --command 'PYTHON judge.py elm' --name elm --yes --json
judge . --list --json
label . --run 1 --from reviews.jsonl --json
estimate bfcl/result/maple-8b --plan --json
calibrate . --json
items . --run 1 --json
queue extend . --name second --target overall --half-width 1 --json
suspects ../siblings --siblings --json
"""
MAY_FAIL = ("check", "doctor", "map")
"""Commands whose exit code says whether the runs have a problem."""


Lines = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def printed(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """Command -> the JSON lines that it prints on sample runs with reviews."""
    place = tmp_path_factory.mktemp("schema")
    root = place / "work"
    copy_runs(samples, root)
    copy_mapping(samples, place / "mapping")
    lines: Lines = defaultdict(list)
    run_commands(FIRST_COMMANDS, root, lines)

    write_reviews(lines["items"], lines["queue show"], root / "reviews.jsonl")
    write_sibling_runs(place / "siblings")
    run_commands(COMMANDS_ON_REVIEWED_RUN, root, lines)
    copy_workspace(root, place / "copy")
    run_commands("merge . ../copy --yes --json", root, lines)
    return lines


def copy_runs(samples: Path, root: Path) -> None:
    """Copy sample runs, one of them with a line that is not JSON."""
    for name in ("bfcl", "tau"):
        shutil.copytree(samples / name, root / name)
    results = root / "bfcl" / "result" / "maple-8b-FC"
    first_file = min(results.rglob("*_result.json"))
    with first_file.open("a") as file:
        file.write("{broken\n")
    (root / "judge.py").write_text(JUDGE)


def copy_mapping(samples: Path, target: Path) -> None:
    """Copy a mapped run, one of its lines without JSON."""
    shutil.copytree(samples / "mapping", target)
    with (target / "orders.jsonl").open("a") as file:
        file.write("{broken\n")


def copy_workspace(root: Path, target: Path) -> None:
    """Copy the workspace, and add errata."""
    shutil.copytree(root / ".fcreview", target / ".fcreview")
    shutil.copy(root / "errata.jsonl", target / ".fcreview" / "errata.jsonl")


def run_commands(commands: str, root: Path, lines: Lines) -> None:
    """Run the commands, and add what they print as JSON to `lines`."""
    for text in commands.strip().splitlines():
        words = shlex.split(text.replace("PYTHON", sys.executable))
        done = run_in_this_process(words, root, environment(root))
        assert not done.code or words[0] in MAY_FAIL, f"{text}: {done.err}"
        if "--json" in words:
            lines[find_command(words)] += done.objects


def write_reviews(
    items: list[dict[str, Any]], queued_items: list[dict[str, Any]], file: Path
) -> None:
    """Write a review of each queued item of run 1. Every third one overrides the official verdict."""
    ids = {each["id"] for each in queued_items if "tester" in each.get("annotators", ())}
    reviews = []
    for position, item in enumerate(items):
        if item["run"] == 1 and item["id"] in ids and item.get("official") is not None:
            verdict = item["official"] is (position % 3 != 0)
            reviews.append(json.dumps({"id": item["id"], "value": verdict}))
    file.write_text("\n".join(reviews))


def find_command(words: list[str]) -> str:
    two_words = " ".join(words[:2])
    return two_words if two_words in list_commands_with_json() else words[0]


def list_commands_with_json() -> set[str]:
    """Return the commands and subcommands with the option `--json`."""
    commands = set()
    for name in COMMANDS:
        _, found = load_command(name)
        functions = {name: found}
        if isinstance(found, dict):
            functions = {f"{name} {subcommand}": each for subcommand, each in found.items()}
        for command, function in functions.items():
            if "as_json" in signature(function).parameters:
                commands.add(command)
    return commands


def test_every_command_with_json_has_schema() -> None:
    assert list_commands_with_json() == set(LINES_BY_COMMAND)


NOT_IN_SAMPLES = {
    "Agreement of annotators with themselves (hidden duplicates).",
    "The pull request.",
    "The team project of the workspace.",
    "Result of --to-team.",
    "A mistake in the mapping file.",
}
"""Titles of lines that need reviews which only the app records, a checkout of a benchmark, a team
server, or a wrong mapping. Other tests check them.
"""


def test_printed_lines_and_schemas_agree(printed: Lines) -> None:
    """One test, so that only one process runs the commands."""
    problems = set()
    for command, declared in LINES_BY_COMMAND.items():
        schema = build_schema(command, declared)
        for line in printed[command]:
            problems.update(f"{command}: {each}" for each in list_problems(line, schema))
        problems.update(f"{command}: {each}" for each in list_unprinted(command, printed[command]))
    assert not problems, "\n".join(sorted(problems))


def list_unprinted(command: str, objects: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the declared lines that a command did not print, and fields that none of them has."""
    declared = LINES_BY_COMMAND[command]
    for line in declared.lines:
        if line.title in NOT_IN_SAMPLES:
            continue
        schema = build_schema(command, replace(declared, lines=[line]))
        matching = [each for each in objects if not list(list_problems(each, schema))]
        if not matching:
            yield f"not printed: {line.title}"
            continue
        yield from list_missing(matching, line.all_fields, place=line.title)


def list_missing(
    objects: list[dict[str, Any]], fields: Mapping[str, Field], place: str
) -> Iterator[str]:
    """Yield the fields that no object has, unless they are optional."""
    for name, declared in fields.items():
        values = [each[name] for each in objects if name in each]
        if not values and not declared.is_optional:
            yield f"not printed: {place}: {name}"


def test_agreement_with_themselves_matches_schema() -> None:
    key = ItemKey("bfcl", "V4", "en", "maple", "simple", "simple_1")
    ratings = []
    for annotator in ("alice", "bob"):
        ratings.append(
            RepeatedRating(
                1,
                key=key,
                target="item",
                criterion="correct",
                annotator=annotator,
                first=True,
                second=True,
            )
        )
    schema = build_schema("agreement", LINES_BY_COMMAND["agreement"])
    lines = [json.loads(format_json_line(each)) for each in compute_self_agreement(ratings)]
    assert [line["annotator"] for line in lines] == ["alice", "bob", None]
    assert not [problem for line in lines for problem in list_problems(line, schema)]


def test_unknown_command_lists_those_with_schema(cli: Cli) -> None:
    done = cli("schema", "--command", "exports")
    assert done.code == 2
    assert "choose one of adjudicate, agreement, audit" in done.err


def test_removed_or_changed_fields_need_another_version() -> None:
    recorded = json.loads(RECORD.read_text())
    current = describe_commands()
    assert not list(list_version_problems(recorded, current))
    message = "run python -m tests.cli.json_lines, unless a field has another meaning: then raise"
    assert recorded == current, f"{message} the version of its command"


def test_version_problems_name_removed_and_changed_fields() -> None:
    fields = {"run.id": "string 12", "run.n": "integer 34"}
    recorded = {"runs": {"version": 1, "fields": fields}}
    changed = {"runs": {"version": 1, "fields": {"run.n": "string 34", "run.new": "string 56"}}}
    assert list(list_version_problems(recorded, changed)) == [
        "runs: run.id was string, and is removed: raise the version",
        "runs: run.n was integer, and is string: raise the version",
    ]
    assert not list(list_version_problems(recorded, {"runs": {"version": 2, "fields": {}}}))
    more = {"runs": {"version": 1, "fields": {**fields, "run.new": "string 56"}}}
    assert not list(list_version_problems(recorded, more))


def test_schema_of_subcommand_has_version_and_descriptions(cli: Cli) -> None:
    done = cli("schema", "--command", "queue list")
    assert done.code == 0, done.err
    schema = json.loads(done.out)
    assert schema["$schema"] == DIALECT
    assert schema["$id"] == "urn:fcreview:json:queue-list:1"
    assert schema["version"] == 1
    assert all(each["description"] for each in schema["properties"].values())


def test_commands_with_schema_are_listed(cli: Cli) -> None:
    done = cli("schema", "--commands")
    assert done.out.splitlines() == sorted(LINES_BY_COMMAND)
