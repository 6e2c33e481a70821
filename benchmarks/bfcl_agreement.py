"""BFCL: official verdicts against recomputed ones, by family of models and by cause, as docs/bfcl.md has them.

Usage: python benchmarks/bfcl_agreement.py PATH... [--data DIR ...] [--differences]
Reads every BFCL run below the paths. Prints a Markdown table, a line a model (items that have both verdicts; those with
the same verdict; those with the same error type, too), then what differs, by cause, with --differences item by item.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.importers.bfcl.items import DECODER_FIELD
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item, Run


@dataclass(slots=True)
class Agreement:
    """Of one run."""

    run: Run
    decoder: str = ""
    items: int = 0
    verdict: int = 0
    whole: int = 0
    """Verdict and error type are the same."""
    differing: list[Item] = field(default_factory=list)

    @property
    def line(self) -> str:
        share = f"{100 * self.whole / self.items:.2f} %" if self.items else "·"
        told = [self.run.generation, self.run.model, self.decoder, self.items, self.verdict, self.whole, share]
        return "| " + " | ".join(map(str, told)) + " |"


def agreements(paths: list[Path], data: list[Path]) -> Iterator[Agreement]:
    """Of each run that has both verdicts on some item."""
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
            if (item.official, item.error_type) == (item.rule, item.rule_error_type):
                found.whole += 1
            else:
                found.differing.append(item)
        if found.items:
            yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--data", action="append", default=[], type=Path)
    parser.add_argument("--differences", action="store_true")
    given = parser.parse_args()
    print("| | model | decoder | items | verdict equal | error type, too | |\n|---|---|---|---|---|---|---|")
    every = []
    for found in agreements(given.paths, given.data):
        every.append(found)
        print(found.line, flush=True)
    items, whole = sum(found.items for found in every), sum(found.whole for found in every)
    verdict = sum(found.verdict for found in every)
    print(f"| | all | | {items} | {verdict} | {whole} | {100 * whole / max(items, 1):.3f} % |\n")
    causes: Counter[str] = Counter()
    for found in every:
        for item in found.differing:
            official, rule = item.error_type or "pass", item.rule_error_type or "pass"
            causes[f"{found.run.generation} {found.run.model}: official {official}, rule {rule}"] += 1
            if given.differences:
                print(f"{found.run.model} {item.id}: official {official}, rule {rule}")
    for cause, count in causes.most_common():
        print(f"{count:6} {cause}")


if __name__ == "__main__":
    main()
