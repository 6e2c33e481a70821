"""The guide for coding agents names commands and fields that exist."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

from tests.commands import Done

Cli = Callable[..., Done]
FENCED = re.compile(r"```sh\n(.*?)```", re.DOTALL)
SQL_TABLES = ("runs", "items", "calls", "labels")


def test_commands_of_the_guide_print_json(cli: Cli, two_imported_runs: Path) -> None:
    guide = cli("skill")
    assert guide.code == 0 and guide.out.startswith("---\nname: fcreview\n")
    lines = [line for block in FENCED.findall(guide.out) for line in block.splitlines()]
    assert len(lines) == 10
    item = cli("items", two_imported_runs, "--json").objects[0]["id"]
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "fcreview"
        arguments = [
            {"RUNS": str(two_imported_runs), "ITEM": item, "RUN": "maple"}.get(word, word)
            for word in words
        ]
        done = cli(*arguments)
        assert done.code == 0, (line, done.err)
        for output in done.out.splitlines():
            json.loads(output)


def test_fields_and_tables_of_the_guide_exist(cli: Cli, two_imported_runs: Path) -> None:
    ranking = cli("report", two_imported_runs, "--ranking", "--json").objects[0]
    assert {"rank_low", "rank_high", "not_told_apart"} <= ranking.keys()
    items = cli("items", two_imported_runs, "--json").objects[0]
    assert {"official", "rule", "human", "effective"} <= items.keys()
    (check, *_) = cli("check", two_imported_runs, "--json").objects
    assert "incidents" in json.dumps(check)
    assert "where" in cli("triage", two_imported_runs, "--json").objects[0]
    for table in SQL_TABLES:
        done = cli("sql", two_imported_runs, f"SELECT count(*) FROM {table}", "--json")
        assert done.code == 0, done.err
