"""What a rule would change: every run is read with it and without, as rescoring reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fcreview.cli.common import Place, discovered, set_reading, workspace_of
from fcreview.cli.config import load_config
from fcreview.cli.errors import CommandError
from fcreview.cli.finding.errata import equates
from fcreview.cli.output import aligned, emit, emit_json, text_of
from fcreview.text.words import count_of

if TYPE_CHECKING:
    from fcreview.errata.rules import Rule
    from fcreview.model import Item, Run
    from fcreview.plan import RunPlan

WORDS = {True: "fail -> pass", False: "pass -> fail"}


@dataclass(frozen=True, slots=True)
class Flip:
    run: Run
    category: str
    id: str
    passes: bool
    """With the rule."""
    difference: str
    """The first, as the failing side reads."""

    def as_json(self) -> dict[str, Any]:
        """`{"benchmark", "generation", "language", "model", "category", "id", "flip": "fail -> pass", "difference"}`"""
        key = {name: getattr(self.run, name) for name in ("benchmark", "generation", "language", "model")}
        return key | {
            "category": self.category,
            "id": self.id,
            "flip": WORDS[self.passes],
            "difference": self.difference,
        }


def flips(place: Place, rule: Rule) -> Iterator[Flip]:
    """Over all runs at the place whose benchmark's rules can be mended, with the workspace's errata before and after.
    CommandError if there is no such run."""
    plans = list(_plans(place, rule))
    if not plans:
        raise CommandError(f"no run here whose verdicts a rule could change ({rule.benchmark or 'BFCL'})")
    for plan in plans:
        yield from _of_run(plan, rule)


def _plans(place: Place, rule: Rule) -> Iterator[RunPlan]:
    config, workspace = load_config(), workspace_of(place, create=False)
    found = discovered(place, config).plans
    set_reading(found, replace(place, decoder=None, errata=None), config, workspace)
    for plan in found:
        if equates(plan.importer) and rule.benchmark in ("", plan.run.benchmark):
            yield plan


def _of_run(plan: RunPlan, rule: Rule) -> Iterator[Flip]:
    from fcreview.errata.file import Errata

    before = {item.id: item for item in _items(plan)}
    for item in _items(replace(plan, errata=(plan.errata or Errata()).with_rules(rule))):
        was = before.get(item.id)
        if was is not None and was.rule is not None and item.rule is not None and was.rule is not item.rule:
            failing = was if item.rule else item
            yield Flip(plan.run, item.category, item.id, item.rule, failing.first_difference or "")


def _items(plan: RunPlan) -> Iterator[Item]:
    from fcreview.importers.registry import read_plan
    from fcreview.model import ImportIssue

    return (one for one in read_plan(plan) if not isinstance(one, ImportIssue))


def show_flips(found: Sequence[Flip], *, as_json: bool) -> None:
    """Those that turn to fail first: a rule seldom means to do that."""
    ordered = sorted(found, key=lambda flip: flip.passes)
    if as_json:
        for flip in ordered:
            emit_json(flip.as_json())
        return
    if not found:
        emit("no verdict by rule would change; where the dataset is missing there is none: fcreview doctor says so")
        return
    gained = sum(flip.passes for flip in found)
    items, runs = len({(flip.category, flip.id) for flip in found}), len({id(flip.run) for flip in found})
    emit(
        f"{count_of(len(found), 'verdict')} would change, of {count_of(items, 'item')} in {count_of(runs, 'run')}:"
        f" {gained:,} fail -> pass, {len(found) - gained:,} pass -> fail"
    )
    cells = [
        [WORDS[flip.passes], text_of(flip.run.model), text_of(flip.id), text_of(flip.difference)] for flip in ordered
    ]
    if cells:
        emit()
        for line in aligned(["flip", "model", "item", "first difference"], cells):
            emit(line.rstrip())
