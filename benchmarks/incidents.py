"""Count incidents in published runs, and compare them with the truth of a folder where there is
one.

    python benchmarks/incidents.py BENCH [FOLDER...]

`BENCH` is a folder with one folder for each origin. Without `FOLDER`, all of them are read. For
each folder, the program prints the number of items and of incidents by kind and certainty. Of a
folder without truth, it lists the texts of the incidents that figures leave out, so that false
alarms can be seen. It exits with 1 if an incident is missing or wrong.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.importers.registry import discover, read_items
from fcreview.model.incident import is_counted_incident
from fcreview.model.item import Item

UNKNOWN_KIND = "?"
"""Kind of an expected incident whose truth names no kind. Every kind is right."""
MAX_LISTED = 12
MAX_TEXT = 90
EVALSCOPE_FOLDERS = (
    "bfcl_v4",
    "bfcl_v4_api_errors",
    "general_fc_repeats2",
    "acebench",
    "acebench_repeats2",
    "viz",
)


@dataclass(frozen=True)
class Truth:
    """The incidents that a folder has."""

    kinds: dict[str, str]
    """Name of an item, from `get_name`, to the kind of its incident."""
    get_name: Callable[[Item, Path], str | None]
    """Returns the name of an item in the truth, or None if the truth says nothing about the
    item.
    """


def main() -> int:
    """Report on the runs of each folder. The exit code is 1 if incidents are missing or wrong."""
    bench = Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or sorted(path.name for path in bench.iterdir() if path.is_dir())
    n_problems = 0
    for name in names:
        n_problems += report_folder(bench / name)
    print(f"\n{n_problems} incidents are missing or wrong")
    return 1 if n_problems else 0


def report_folder(folder: Path) -> int:
    """Print the incidents of a folder, and return the number of incidents that are missing or
    wrong.
    """
    items = list(read_folder(folder))
    counts = Counter(
        (item.incident, item.incident_certainty) for item in items if item.incident is not None
    )
    n_failed_judges = sum("judge_failed" in item.flags for item in items)
    print(
        f"\n{folder.name}: {len(items):,} items, {counts.total():,} incidents, {n_failed_judges}"
        " failed judges"
    )
    for (kind, certainty), number in sorted(counts.items(), key=str):
        print(f"  {number:7,}  {kind} ({certainty})")

    counted = [item for item in items if is_counted(item)]
    truth = load_truth(folder)
    if truth is None:
        list_texts(counted)
        return 0
    return compare_with_truth(folder, items, truth)


def read_folder(folder: Path) -> Iterator[Item]:
    for plan in discover([folder]).plans:
        for record in read_items(plan):
            if isinstance(record, Item):
                yield record


def is_counted(item: Item) -> bool:
    return is_counted_incident(item.incident, item.incident_certainty)


def list_texts(counted: list[Item]) -> None:
    texts = Counter((item.incident, shorten(item.incident_text or "")) for item in counted)
    for (kind, text), number in texts.most_common(MAX_LISTED):
        print(f"           {number:,} x {kind}: {text}")
    if len(texts) > MAX_LISTED:
        print(f"           and {len(texts) - MAX_LISTED} more texts")


def shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 1] + "…"


def compare_with_truth(folder: Path, items: list[Item], truth: Truth) -> int:
    """Print which incidents are missing, wrong or of the wrong kind, and return their number."""
    found: dict[str, str] = {}
    for item in items:
        name = truth.get_name(item, folder)
        if name is not None and is_counted(item):
            found[name] = str(item.incident)

    missing = truth.kinds.keys() - found.keys()
    false_alarms = found.keys() - truth.kinds.keys()
    wrong_kinds = [
        name
        for name in found.keys() & truth.kinds.keys()
        if truth.kinds[name] not in (found[name], UNKNOWN_KIND)
    ]
    print(
        f"  truth: {len(truth.kinds)} incidents; found {len(truth.kinds) - len(missing)}, ", end=""
    )
    print(
        f"{len(missing)} missing, {len(false_alarms)} false alarms, {len(wrong_kinds)} of another"
        " kind"
    )
    for name in sorted([*missing, *false_alarms, *wrong_kinds])[:MAX_LISTED]:
        print(f"           {name}: expected {truth.kinds.get(name)}, found {found.get(name)}")
    return len(missing) + len(false_alarms) + len(wrong_kinds)


def load_truth(folder: Path) -> Truth | None:
    loaders = {
        "bfcl_api_errors": load_bfcl_truth,
        "api_errors_other": load_other_truth,
        "evalscope": load_evalscope_truth,
    }
    loader = loaders.get(folder.name)
    return loader(json.loads((folder / "truth.json").read_text())) if loader else None


def load_bfcl_truth(truth: dict[str, Any]) -> Truth:
    kinds: dict[str, str] = {}
    for number, entry in truth["v1_made"]["items"].items():
        if entry["infrastructure_error"]:
            kinds[f"v1_made relevance_{number}"] = entry["class"]
    for of_category in truth["v4_made"].values():
        for item_id, entry in of_category["items"].items():
            if entry["infrastructure_error"]:
                kinds[f"v4_made {item_id}"] = entry["class"]
    for of_category in truth["v3_ministral"].values():
        # The only text is the bare key 'arguments', for which the README of the folder has no
        # class.
        for item_id in of_category["error_ids"]:
            kinds[f"v3_ministral {item_id}"] = "unparsable"
    return Truth(kinds=kinds, get_name=name_by_part)


def name_by_part(item: Item, folder: Path) -> str:
    part = Path(item.file).relative_to(folder).parts[0]
    return f"{part} {item.id}"


def load_other_truth(truth: dict[str, Any]) -> Truth:
    simulations = truth["tau2_made"]["infrastructure_errors"]
    kinds = {f"tau2_made {name}": UNKNOWN_KIND for name in simulations}
    for task, trial, kind in truth["tau_v1_made"]["infrastructure_errors"]:
        kinds[f"tau_v1_made {task}_trial_{trial}"] = kind
    for sample, text in truth["inspect_made"]["infrastructure_errors"].items():
        kinds[f"inspect_made {sample}"] = text.split(" ")[0]
    return Truth(kinds=kinds, get_name=name_by_part_and_simulation)


def name_by_part_and_simulation(item: Item, folder: Path) -> str:
    part = Path(item.file).relative_to(folder).parts[0]
    return f"{part} {item.extra.metadata.get('simulation') or item.id}"


def load_evalscope_truth(truth: dict[str, Any]) -> Truth:
    """The truth names a sample by its index, which is a field of its line."""
    kinds: dict[str, str] = {}
    for name in EVALSCOPE_FOLDERS:
        for category, rows in truth[name]["items"].items():
            for row in rows:
                if row.get("infrastructure_error"):
                    kinds[f"{name} {category} {row['index']}"] = UNKNOWN_KIND
    return Truth(kinds=kinds, get_name=name_by_index)


def name_by_index(item: Item, folder: Path) -> str | None:
    """Return the name of a prediction. Reviews repeat the replies, but not why they ended."""
    path = Path(item.file).relative_to(folder)
    if "predictions" not in path.parts:
        return None
    with (folder / path).open("rb") as file:
        file.seek(item.offset)
        line = json.loads(file.read(item.length))
    return f"{path.parts[0]} {path.stem} {line['index']}"


if __name__ == "__main__":
    sys.exit(main())
