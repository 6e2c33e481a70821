"""Damaged label files: imported completely or not at all. Imported labels break no command."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
from pathlib import Path

import pytest

from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.workspace import find_workspace
from tests.commands import run_in_this_process
from tests.faults.damaged_files.damage import damages
from tests.faults.hostile.exercise import find_harmful
from tests.faults.hostile.limits import time_limit
from tests.faults.processes import times

ITEMS = ["normal_single_turn_single_function_2", "normal_atom_list_0", "special_incomplete_1"]
WRITTEN = {
    "value": "fail",
    "fault": "model",
    "tags": ["unit"],
    "note": "why",
    "target": "item",
    "criterion": "correct",
}
WAYS = {
    "jsonl": ["import-labels", "PLACE", "FILE", "--annotator", "carol", "--said-by", "alice"],
    "labelstudio": [
        "import-labels",
        "PLACE",
        "FILE",
        "--format",
        "labelstudio",
        "--annotator",
        "carol",
        "--said-by",
        "alice",
    ],
    "from": ["label", "PLACE", "--from", "FILE", "--run", "1", "--annotator", "carol"],
    "adjudicated": [
        "label",
        "PLACE",
        "--from",
        "FILE",
        "--run",
        "1",
        "--annotator",
        "carol",
        "--adjudicate",
    ],
}
AFTER = [
    ["items", "PLACE", "--json"],
    ["show", "PLACE", ITEMS[0], "--run", "1"],
    ["audit", "PLACE", ITEMS[0], "--run", "1"],
    ["agreement", "PLACE"],
    ["adjudicate", "PLACE"],
    ["calibrate", "PLACE"],
    ["export", "PLACE"],
    ["report", "PLACE"],
    ["export", "PLACE", "--format", "csv", "-o", os.devnull],
    ["doctor", "PLACE"],
]


def _restore(before: Path, reviews: Path) -> None:
    shutil.rmtree(reviews)
    shutil.copytree(before, reviews)


@pytest.mark.sweep
@pytest.mark.parametrize("way", WAYS)
def test_damaged_label_file_is_imported_whole_or_refused(
    sample: Path, tmp_path: Path, environ: dict[str, str], way: str
) -> None:
    kind = "labelstudio" if way == "labelstudio" else "jsonl"
    template, file = tmp_path / f"template.{kind}", tmp_path / f"labels.{kind}"

    def run(*words: str | Path, codes: tuple[int, ...] = (0,)) -> int:
        with time_limit(60):
            done = run_in_this_process(
                [{"PLACE": sample, "FILE": file}.get(str(each), each) for each in words],
                tmp_path,
                environ,
            )
        assert done.code in codes, (words, done.err)
        assert "internal error" not in done.err, (words, done.err)
        assert not find_harmful(done.err), (words, done.err)
        assert not [
            char for char in find_harmful(done.out) if words[0] != "export" or len(char) == 1
        ], words
        return done.code

    for item in ITEMS:
        review = [
            "--verdict",
            "fail",
            "--fault",
            "model",
            "--tag",
            "unit",
            "--note",
            "why",
            "--annotator",
            "alice",
        ]
        run("label", sample, item, "--run", "1", *review)
    if kind == way:
        run("export", sample, "--format", kind, "-o", template)
    else:
        template.write_text("".join(json.dumps({"id": item, **WRITTEN}) + "\n" for item in ITEMS))
    reviews = sample / ".fcreview" / "reviews"
    shutil.copytree(reviews, tmp_path / "reviews")
    before = {each.name: each.read_bytes() for each in reviews.glob("*.jsonl")}
    chance = random.Random(seed := random.randrange(1 << 30))
    shutil.copyfile(template, file)
    run(*WAYS[way])
    _restore(tmp_path / "reviews", reviews)
    n_imported = 0
    ways = [
        each
        for each in itertools.islice(damages(template, chance), times(2, 150))
        if "pipe" not in each[0]
    ]
    for name, damage in ways:  # a pipe is allowed: `<(jq ... labels.jsonl)`
        print(f"{way}: {seed} {name}", flush=True)
        shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink(
            missing_ok=True
        )
        shutil.copyfile(template, file)
        damage(file)
        if run(*WAYS[way], codes=(0, 1, 2)):
            assert {each.name: each.read_bytes() for each in reviews.glob("*.jsonl")} == before, (
                "all or nothing"
            )
            continue
        n_imported += 1
        assert read_events_and_warnings(find_workspace(sample, create=False))[1] == []
        for words in chance.sample(AFTER, 3):
            run(*words)
        _restore(tmp_path / "reviews", reviews)
    print(f"{way}: {len(ways)} files, {n_imported} imported")


@pytest.mark.sweep
@pytest.mark.parametrize(
    "words",
    [["import-labels", "PLACE", "FILE", "--annotator", "a"], ["label", "PLACE", "--from", "FILE"]],
)
def test_too_large_label_file_is_reported(
    sample: Path, tmp_path: Path, environ: dict[str, str], words: list[str]
) -> None:
    """An endless device, and a sparse file of one terabyte."""
    with (tmp_path / "holed").open("wb") as file:
        file.truncate(1 << 40)
    for name in ("/dev/zero", tmp_path / "holed"):
        with time_limit(60):
            done = run_in_this_process(
                [{"PLACE": sample, "FILE": name}.get(each, each) for each in words],
                tmp_path,
                environ,
            )
        assert done.code == 1
        assert "more than 1,073,741,824 bytes" in done.err
