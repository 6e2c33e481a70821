"""Compare official with recomputed BFCL verdicts, by model and by cause. docs/bfcl.md contains the
results.

Usage: python benchmarks/bfcl_agreement.py PATH... [--data DIR ...] [--differences] Reads every BFCL
run below the paths. Prints a Markdown table with one line for each model: the number of items with
both verdicts, with equal verdicts, and with equal verdicts and error types. The differences follow
by cause, and with --differences also by item.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.importers.bfcl.items import DECODER_FIELD
from fcreview.importers.registry import discover, read_items
from fcreview.model.incident import is_counted_incident
from fcreview.model.item import Item, Run


@dataclass(slots=True)
class Agreement:
    """Agreement of official and recomputed verdicts in one run."""

    run: Run
    decoder: str = ""
    items: int = 0
    verdict: int = 0
    error_type: int = 0
    """Number of items with the same verdict and error type."""
    differing: list[Item] = field(default_factory=list)

    @property
    def line(self) -> str:
        """The run as a row of the table in docs/bfcl.md."""
        share = f"{100 * self.error_type / self.items:.2f} %" if self.items else "–"
        cells = [
            self.run.generation,
            self.run.model,
            self.decoder,
            self.items,
            self.verdict,
            self.error_type,
            share,
        ]
        return "| " + " | ".join(map(str, cells)) + " |"


def measure_agreement(paths: list[Path], data: list[Path]) -> Iterator[Agreement]:
    """Yield the agreement in each run that has an item with both verdicts."""
    for plan in discover(paths, data=data).plans:
        if plan.run.benchmark != "bfcl":
            continue
        found = Agreement(plan.run)
        for item in read_items(plan):
            if not isinstance(item, Item) or item.official is None or item.rule is None:
                continue
            found.items += 1
            found.decoder = str(item.extra.metadata.get(DECODER_FIELD, ""))
            found.verdict += item.official == item.rule
            # A failed request has no recomputed error type, because the model made no error.
            is_failed_request = is_counted_incident(item.incident, item.incident_certainty)
            recomputed_type = item.error_type if is_failed_request else item.rule_error_type
            if (item.official, item.error_type) == (item.rule, recomputed_type):
                found.error_type += 1
            else:
                found.differing.append(item)
        if found.items:
            yield found


def main() -> None:
    """Print a table of the runs with a row for all of them, then the causes of differences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--data", action="append", default=[], type=Path)
    parser.add_argument("--differences", action="store_true")
    arguments = parser.parse_args()
    print(
        "| | model | decoder | items | equal verdict | and error type |"
        " |\n|---|---|---|---|---|---|---|"
    )
    agreements = []
    for found in measure_agreement(arguments.paths, arguments.data):
        agreements.append(found)
        print(found.line, flush=True)
    items, error_type = (
        sum(found.items for found in agreements),
        sum(found.error_type for found in agreements),
    )
    verdict = sum(found.verdict for found in agreements)
    print(
        f"| | all | | {items} | {verdict} | {error_type} | {100 * error_type / max(items, 1):.3f} %"
        " |\n"
    )
    causes: Counter[str] = Counter()
    for found in agreements:
        for item in found.differing:
            official, rule = item.error_type or "pass", item.rule_error_type or "pass"
            causes[
                f"{found.run.generation} {found.run.model}: official {official}, rule {rule}"
            ] += 1
            if arguments.differences:
                print(f"{found.run.model} {item.id}: official {official}, rule {rule}")
    for cause, count in causes.most_common():
        print(f"{count:6} {cause}")


if __name__ == "__main__":
    main()
