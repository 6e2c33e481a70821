"""Items of ACEBench with corrected golden answers, as errata have them: calls, pairs and the rule verdict anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fcreview.extra import Automatic
from fcreview.importers.acebench import normal
from fcreview.importers.acebench.writing.golden import FIELD, problem
from fcreview.importers.common.corrections import Corrections
from fcreview.model import Item

WITH_ERRATA = "ACEBench rules with errata"
AGENT = "golden answers of agent items are not exchanged"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it was asked."""

    record: dict[str, Any]
    question: dict[str, Any] | None
    judged: bool
    """See `normal.fill`."""


def fill(item: Item, reply: Reply, golden: Any, corrections: Corrections | None) -> None:
    """An item of the normal and special categories, by the dataset's golden answer or the one that errata have. Its
    golden hash stays that of the dataset's own answer, so that reviews of it are no more stale than before."""
    new = golden if corrections is None else _corrected(item, reply, golden, corrections)
    _fill(item, reply, new)
    if new is golden:
        return
    own = Item(item.id, item.category, functions=item.functions)
    _fill(own, reply, golden)
    if (own.rule, own.rule_error_type) != (item.rule, item.rule_error_type):
        item.extra.without_errata = Automatic(own.rule, own.rule_error_type)
        item.verdicts[-1].by = WITH_ERRATA


def refused(item: Item, name: str, corrections: Corrections | None) -> None:
    """An agent item: an entry does not say which of its golden fields (end state, milestones) it corrects."""
    entry = corrections.entries.get(name) if corrections else None
    if corrections is not None and entry is not None:
        item.extra.erratum = corrections.refused(entry, AGENT).erratum


def _corrected(item: Item, reply: Reply, golden: Any, corrections: Corrections) -> Any:
    """The golden answer that holds; sets what the item is shown with."""
    found = corrections.of(str(reply.record["id"]), golden, normal.asked(reply.question))
    if found.entry is not None:
        wrong = problem(corrections.run, item, {FIELD: found.entry.new})
        if wrong is not None:
            found = corrections.refused(found.entry, f"the new golden answer has another form: {wrong}")
    item.extra.erratum = found.erratum
    return golden if found.entry is None else found.entry.new


def _fill(item: Item, reply: Reply, golden: Any) -> None:
    normal.fill(item, reply.record, reply.question, golden, item.category, judged=reply.judged)
