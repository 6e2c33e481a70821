"""Run most commands on a hostile run: none fails with an internal error, and no output has control
characters or foreign markup.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from fcreview.store.filters.tokens import quote_or_hash
from tests.commands import Done, run_in_this_process
from tests.exporters.page_reader import read_page
from tests.faults.hostile.data import SUFFIX
from tests.faults.hostile.limits import time_limit
from tests.faults.processes import times

_SUSPECT = re.compile(r"[^ -~\n]")
READING = [
    ["import"],
    ["runs"],
    ["runs", "--json"],
    ["items"],
    ["items", "--json"],
    ["triage"],
    ["triage", "--json"],
    ["report"],
    ["report", "--json"],
    ["agreement"],
    ["agreement", "--json"],
    ["adjudicate"],
    ["adjudicate", "--json"],
    ["doctor"],
    ["export"],
    ["export", "--format", "jsonl"],
    ["sql", "FROM items"],
    ["sql", "FROM calls"],
    ["sql", "FROM runs"],
    ["sql", "FROM import_issues", "--json"],
]
SESSION = [
    [
        "queue",
        "create",
        "--name",
        "pilot",
        "--annotators",
        "alice,bob",
        "--stratify",
        "category",
        "--overlap",
        "1",
    ],
    ["queue", "list"],
    ["queue", "show", "pilot"],
    ["queue", "show", "pilot", "--json"],
    ["queue", "extend", "--name", "pilot"],
    ["suspects"],
    ["suspects", "--json"],
    ["calibrate"],
    ["calibrate", "--by", "category", "--json"],
    ["estimate"],
    ["estimate", "--json"],
    ["compare"],
    ["compare", "--json"],
    ["compare", "1", "1", "--source", "official", "--against", "rule"],
    ["compare", "1", "1", "--source", "official", "--against", "rule", "--json"],
    ["rules", "try", "ignore-case"],
    ["rules", "try", "accept 1 for 2", "--json"],
    ["rules", "add", "ignore-case"],
    ["rules", "list"],
    ["rules", "list", "--json"],
    ["report", "--markdown"],
    ["report", "--html", "OUT/report.html", "--force"],
]
FORMATS = ["jsonl", "csv", "parquet", "labelstudio", "hf", "native", "golden-patch"]
FIXES = [
    json.dumps({"ground_truth": [{SUFFIX: {SUFFIX: [SUFFIX]}}]}),
    json.dumps({"ground_truth": {SUFFIX: {SUFFIX: SUFFIX}}}),
    json.dumps({"golden": [{"name": SUFFIX, "arguments": {SUFFIX: SUFFIX}}]}),
    json.dumps({SUFFIX: SUFFIX}),
]
"""Golden answers in the forms of several benchmarks. The other benchmarks refuse them."""
MARKUP = {"html_inline", "html_block", "link_open", "image"}


def find_harmful(text: str) -> list[str]:
    """Return control characters, characters that hide or reorder others, and long runs of
    combining marks.
    """
    found = [
        char
        for char in set(_SUSPECT.findall(text))
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]
    return found + (["\u0301" * 9] if "\u0301" * 9 in text else [])


def check(words: list[str], done: Done) -> None:
    details = (words, done.code, done.err[-400:])
    assert done.code in (0, 1), details
    assert "Traceback" not in done.err, details
    assert "internal error" not in done.err, details
    raw = "export" in words or "--json" in words
    assert not [char for char in find_harmful(done.out) if not raw or len(char) == 1], details
    assert not find_harmful(done.err), details
    if done.code:
        assert len(done.err.splitlines()) <= 5, details


def check_page(page: str) -> None:
    """Check that the page has only our own elements, no external links and no scripts or
    requests.
    """
    assert read_page(page).faults == []
    # fcreview itself puts a word joiner after a dash
    assert not find_harmful(page.replace("–\u2060", "–"))


def check_markdown(text: str) -> None:
    """Check that the text has no link, image or HTML."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = {each.type for block in tokens for each in [block, *(block.children or ())]}
    assert not kinds & MARKUP, kinds & MARKUP


def exercise(
    place: Path, cwd: Path, environ: dict[str, str], *, whole: bool = True, looks: int = 0
) -> int:
    """Run all commands, or some if not `whole`, and show `looks` more items.

    Returns the number of items.
    """
    out = cwd / "written"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()

    def command(*words: str) -> Done:
        where = words[:2] if words[0] in ("queue", "rules", "errata") else words[:1]
        more = [
            word.replace("OUT", str(out)) if word.startswith("OUT") else word
            for word in words[len(where) :]
        ]
        here = [] if words[:2] in (("errata", "check"), ("errata", "issue")) else [place]
        with time_limit(120):
            done = run_in_this_process([*where, *here, *more], cwd, environ)
        check(list(words), done)
        return done

    rows = command("items", "--json").objects
    often = Counter((row["run"], row["id"]) for row in rows)
    some = random.sample(rows, min(times(1, 2), len(rows)))
    for row in some:
        for annotator, verdict in (("alice", "pass"), ("bob", "fail")):
            command(
                "label",
                "--run",
                str(row["run"]),
                "--annotator",
                annotator,
                "--verdict",
                verdict,
                "--note",
                SUFFIX,
                "--tag",
                SUFFIX,
                "--",
                row["id"],
            )
    for words in READING if whole else random.sample(READING, 8):
        command(*words)
    for row in some:
        which = ("--run", str(row["run"]), "--", row["id"])  # an id may begin with a dash
        for words in (
            ["show"],
            ["show", "--full"],
            ["show", "--json"],
            ["audit"],
            ["audit", "--json"],
        ):
            command(*words, *which)
        shown = command("show", "--html", "OUT/item.html", "--force", *which)
        if often[row["run"], row["id"]] == 1:
            assert shown.code == 0, shown.err
            check_page((out / "item.html").read_text("utf-8"))
        else:
            assert "repeat an id" in shown.err
        found = command("items", "--json", "--where", f"id:{quote_or_hash(row['id'])}").objects
        assert row["id"] in [each["id"] for each in found]
    for row in random.sample(rows, min(looks, len(rows))):
        command("show", "--full", "--run", str(row["run"]), "--", row["id"])
    if rows:
        for words in SESSION if whole else [SESSION[0], *random.sample(SESSION[1:], 4)]:
            done = command(*words)
            if "--markdown" in words:
                check_markdown(done.out)
            if "--html" in words:
                check_page((out / "report.html").read_text("utf-8"))
        if whole or random.random() < 0.2:
            _export_and_import(command, place, some[0], out)
    return len(rows)


def _export_and_import(
    command: Callable[..., Done], place: Path, row: dict[str, Any], out: Path
) -> None:
    """Export labels and golden fixes in every format, and import them again as another
    annotator.
    """
    for fix in FIXES:
        said = ("--adjudicate", "--verdict", "pass", "--golden-fix", fix)
        command("label", "--run", str(row["run"]), *said, "--", row["id"])
    for name in FORMATS:
        words = [] if name in ("native", "golden-patch") else ["--with", "content"]
        command("export", "--format", name, *words, "--force", "-o", f"OUT/{name}")
    for name in ("jsonl", "labelstudio"):
        command(
            "import-labels",
            f"OUT/{name}",
            "--format",
            name,
            "--annotator",
            "carol",
            "--said-by",
            "alice",
        )
    command("errata", "create", "--force", "-o", "OUT/errata.jsonl")
    if (out / "errata.jsonl").exists():
        command("errata", "check", "OUT/errata.jsonl")
        check_markdown(command("errata", "issue", "OUT/errata.jsonl").out)
        command("errata", "patch", "--upstream", "bfcl", "--commit", "6ea5797", "-o", "OUT/pull")
        pull_request = out / "pull" / "pull_request.md"
        if pull_request.exists():
            check_markdown(pull_request.read_text("utf-8"))
        command("report", "--errata", "OUT/errata.jsonl")
    shutil.copytree(place / ".fcreview", out / "copy" / ".fcreview")
    for journal in (out / "copy" / ".fcreview" / "reviews").glob("*.jsonl"):
        journal.rename(journal.with_stem(f"{journal.stem}2"))
    command("merge", "OUT/copy", "--yes")
    command("review", "--plain", "--queue", "dataset")
    if (out / "native").is_dir():
        with time_limit(120):
            check(["import"], run_in_this_process(["import", out / "native"], out, os.environ))
