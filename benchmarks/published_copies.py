"""Write a million BFCL items in hundreds of runs that vary like the runs of a public archive.

Usage: python benchmarks/published_copies.py BENCH FOLDER [--items 1000000] BENCH contains
`bfcl_families`, `bfcl_v1_panel` and `bfcl_v1`. Each published run is written several times, under
model names with the same decoder. In a copy, a fraction `VARIED` of the replies has different
spaces, and a fraction `WRONG` of the passing replies has a different value or name of an argument
and an entry in the score file. Then: fcreview import FOLDER/v1 FOLDER/v3 --data FOLDER/data/v1
--data FOLDER/data/v3 --workspace FOLDER
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from fcreview.importers.bfcl.decoders.models import find_model_decoder

SOURCES = (("V1", "bfcl_families/v1"), ("V1", "bfcl_v1_panel"), ("V3", "bfcl_families/v3"))
DATA = {"V1": "bfcl_v1/data", "V3": "bfcl_families/v3_data"}
PREFIXES = {"V1": "gorilla_openfunctions_v1_test_", "V3": "BFCL_v3_"}
VARIED = 0.5
WRONG = 0.04
ERROR_TYPES = ("value_error:string", "type_error:simple")
"""Error types of the changed replies."""
ALWAYS_RIGHT = ("relevance", "multi_turn")
"""Parts of the names of categories where a changed argument does not make a reply wrong."""
_VALUE = re.compile(r"""(?<=[=:])(\s*)("[^"\\]+"|'[^'\\]+'|-?\d+(?:\.\d+)?)(?=\s*[,)}\]])""")
_NAME = re.compile(r"""(?<=[(,])(\s*)([a-z_]+)(?==)|(?<=[{,])(\s*["'])([a-z_]+)(?=["']\s*:)""")
Record = dict[str, Any]


def read_lines(path: Path) -> list[Record]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip()]


def write_lines(path: Path, rows: list[Record]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)) + b"\n")


def copy_name(model: str, version: str, number: int) -> str | None:
    """Return another name whose decoder is the same, or None if there is no such name."""
    word = f"c{number:02d}"
    places = [model.find("-") + 1, model.find("_") + 1, model.rfind("-") + 1, len(model)]
    for at in places:
        name = f"{model[:at]}-{word}" if at == len(model) else f"{model[:at]}{word}-{model[at:]}"
        if (
            at
            and find_model_decoder(name, version).decoder
            == find_model_decoder(model, version).decoder
        ):
            return name
    return None


class Copier:
    """Writes copies of the runs of one BFCL version."""

    def __init__(self, bench: Path, folder: Path, version: str) -> None:
        self.bench, self.folder, self.version = bench, folder, version
        self._records: dict[str, list[Record]] = {}

    def write(self, source: Path, model: str, number: int) -> int:
        """Write copy `number` of a run, or the run itself for number 0.

        Returns the number of its items.
        """
        name = copy_name(model, self.version, number) if number else model
        if name is None:
            return 0
        items = 0
        rng = random.Random(f"{model} {number}")
        for path in sorted((source / "result" / model).glob("*_result.json")):
            scores = next((source / "score" / model).glob(self._score_pattern(path)))
            results, entries = read_lines(path), read_lines(scores)
            if number:
                entries = self._change(rng, self._category(path), results, entries)
            target = self.folder / self.version.lower()
            write_lines(target / "result" / name / path.name, results)
            write_lines(target / "score" / name / scores.name, entries)
            items += len(results)
        return items

    def _category(self, path: Path) -> str:
        return path.name.removeprefix(PREFIXES[self.version]).removesuffix("_result.json")

    def _score_pattern(self, path: Path) -> str:
        return f"{'BFCL_v3_' if self.version == 'V3' else ''}{self._category(path)}_score.json"

    def _questions(self, category: str) -> list[Record]:
        if category not in self._records:
            path = self.bench / DATA[self.version] / f"{PREFIXES[self.version]}{category}.json"
            self._records[category] = read_lines(path)
        return self._records[category]

    def _change(
        self, rng: random.Random, category: str, results: list[Record], entries: list[Record]
    ) -> list[Record]:
        """Change replies in place, and return the score entries of the changed replies."""
        header, *failing = entries
        questions = self._questions(category)
        positions = {question["id"]: at for at, question in enumerate(questions)}
        by_item: dict[str, list[Record]] = {}
        for entry in failing:
            stated = entry["id"]  # V1 states the position in the dataset, from 1.
            item = questions[stated - 1]["id"] if isinstance(stated, int) else stated
            by_item.setdefault(item, []).append(entry)
        can_fail = not any(part in category for part in ALWAYS_RIGHT)
        wrong = []
        for record in results:
            scored = by_item.get(record["id"], [])
            is_quoted = all(entry.get("model_result_raw") == record["result"] for entry in scored)
            if is_quoted and rng.random() < VARIED:
                record["result"] = change_last_text(
                    record["result"], lambda text: add_spaces(text, rng)
                )
                for entry in scored:
                    entry["model_result_raw"] = record["result"]
            if can_fail and not scored and rng.random() < WRONG:
                changed = change_last_text(
                    record["result"], lambda text: change_argument(text, rng)
                )
                if changed != record["result"]:
                    record["result"] = changed
                    at = positions[record["id"]]
                    wrong.append(
                        {
                            "id": at + 1 if self.version == "V1" else record["id"],
                            "test_category": category,
                            "valid": False,
                            "error": ["Invalid value for one parameter."],
                            "error_type": rng.choice(ERROR_TYPES),
                            "prompt": questions[at],
                            "model_result_raw": changed,
                        }
                    )
        header["correct_count"] -= len(wrong)
        header["accuracy"] = header["correct_count"] / header["total_count"]
        return [header, *failing, *wrong]


def change_last_text(reply: Any, change: Callable[[str], str]) -> Any:
    """Return a reply with a changed text: the reply itself, or the arguments of its last call
    `{name: JSON text}`.
    """
    if isinstance(reply, str):
        return change(reply)
    calls = reply if isinstance(reply, list) else []
    if (
        calls
        and isinstance(calls[-1], dict)
        and all(isinstance(text, str) for text in calls[-1].values())
    ):
        return [*calls[:-1], {name: change(text) for name, text in calls[-1].items()}]
    return reply


def add_spaces(text: str, rng: random.Random) -> str:
    """Return the text with spaces after its first parenthesis or brace, where all decoders
    ignore spaces.
    """
    at = max(text.find("("), text.find("{") if "(" not in text else -1) + 1
    return text[:at] + " " * rng.randint(1, 20) + text[at:] if at else text


def change_argument(text: str, rng: random.Random) -> str:
    """Return the text with another value or another name of one argument, or unchanged if no
    argument is found.
    """
    matches = [*_VALUE.finditer(text), *_NAME.finditer(text)]
    if not matches:
        return text
    match = rng.choice(matches)
    old, more = match[0], rng.randint(2, 99)
    if match.re is _NAME:
        new = f"{old}_{more}"
    else:
        new = f"{old[:-1]} {more}{old[-1]}" if old[-1] in "'\"" else f"{old}{more}"
    return text[: match.start()] + new + text[match.end() :]


def write_copies(bench: Path, folder: Path, items: int) -> int:
    """Write runs until there are at least `items` items. Returns the number of items."""
    for version, data in DATA.items():
        for path in (bench / data).rglob("*.json"):
            target = folder / "data" / version.lower() / path.relative_to(bench / data)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    copiers = {version: Copier(bench, folder, version) for version in DATA}
    written = number = 0
    while written < items:
        for version, source in SOURCES:
            for model in sorted(path.name for path in (bench / source / "result").iterdir()):
                if written < items:
                    written += copiers[version].write(bench / source, model, number)
        number += 1
    return written


def main() -> None:
    """Write the copies, and print how many items they have."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bench", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--items", type=int, default=1_000_000)
    arguments = parser.parse_args()
    print(f"{write_copies(arguments.bench, arguments.folder, arguments.items):,} items")


if __name__ == "__main__":
    main()
