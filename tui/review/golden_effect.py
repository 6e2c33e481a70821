"""Describe what a golden fix changes: the verdict on the item of each run, and the ranking of the
runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from fcreview.model.golden_fix import GoldenStatus
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import format_count
from fcreview.store.golden_fix_effect import (
    RunAnswer,
    RunEffect,
    collect_changed_verdicts,
    fetch_run_answers,
    measure_run_effect,
)
from fcreview.store.rows import ItemDetail, strip_duplicate_mark
from fcreview.tui.text.lines import BLANK_LINE, Line, LineBuilder, make_line, truncate_middle
from fcreview.tui.text.run_names import use_own_separator
from fcreview.tui.text.styles import get_verdict_style, symbols

if TYPE_CHECKING:
    from fcreview.model.review import Annotation
    from fcreview.tui.session import GoldenSupport, Session

MAX_RUN_NAME_CELLS = 40
MIN_RUN_NAME_CELLS = 12
RANK_CELLS = 6
RATE_CELLS = 17
VERDICT_CELLS = 11
GAP = "  "
EXECUTION_ADVICE = "verdicts change with fcreview errata rescore --execute"
"""What to do for multi-turn answers. The app executes no calls of models."""


@dataclass(frozen=True, slots=True)
class GoldenCorrection:
    """Corrected golden answer, and what the annotator decided about it."""

    golden_fix: dict[str, Any]
    """The golden answer in the benchmark's format."""
    reason: str | None
    """New reason for the correction. None if the reason did not change."""
    verdict_key: str
    """Name of the verdict key for the prediction of this run."""
    status: GoldenStatus
    golden_verdicts: dict[str, dict[str, bool | None]]
    """Changed verdicts of all runs, see `Annotation.golden_verdicts`."""
    summary: str
    """What the correction changes. Empty if it is hidden."""
    sibling_fixes: Sequence[tuple[int, Annotation]] = ()
    """(item, golden fix) of the siblings that are corrected in the same act."""
    n_siblings_left: int = 0
    """Number of siblings that could be corrected too, and keep their golden answer."""


@dataclass(frozen=True, slots=True)
class GoldenFixEffects:
    """Changes of the verdicts by a corrected golden answer, in each run that has the question."""

    effects: Sequence[RunEffect]
    rescores: bool
    """Whether accepted golden fixes change verdicts of this benchmark."""
    n_left: int = 0
    """Number of runs whose verdicts have not been recomputed yet."""
    needs_execution: bool = False
    """Whether verdicts need the execution of calls, which the app does not do."""

    @property
    def n_passing_before(self) -> int:
        return sum(effect.before is True for effect in self.effects)

    @property
    def n_passing_after(self) -> int:
        return sum(effect.after is True for effect in self.effects)

    @property
    def changed_verdicts(self) -> dict[str, dict[str, bool | None]]:
        """Changed verdicts in the form of `Annotation.golden_verdicts`."""
        return collect_changed_verdicts(self.effects)

    @property
    def this_verdict(self) -> bool | None:
        """Recomputed verdict on the prediction of this run. None if it cannot be recomputed."""
        return self.effects[0].rescored.verdict if self.effects else None

    @property
    def summary(self) -> str:
        """Summary such as `8 of 12 runs would pass (3 now)`."""
        if self.needs_execution:
            return EXECUTION_ADVICE
        n_runs = format_count(len(self.effects), "run")
        text = f"{self.n_passing_after} of {n_runs} would pass ({self.n_passing_before} now)"
        if self.rescores:
            return text
        return f"{text}; fcreview recomputes no figures of this benchmark"

    def describe(self) -> str:
        """Format the effect: `valid · this prediction would pass · changes 3 of 12 runs: 2 to pass,
        1 to fail`.
        """
        parts = ["valid", self._describe_this_verdict()]
        n_rescored = sum(effect.rescored.verdict is not None for effect in self.effects)
        if n_rescored:
            changes = self._describe_changes(n_rescored)
            parts.append(f"{changes}, {self.n_left} left" if self.n_left else changes)
        return " · ".join(parts)

    def _describe_this_verdict(self) -> str:
        if self.this_verdict is None and self.needs_execution:
            return EXECUTION_ADVICE
        if self.this_verdict is None:
            return "this prediction's verdict cannot be recomputed"
        return "this prediction would pass" if self.this_verdict else "this prediction would fail"

    def _describe_changes(self, n_rescored: int) -> str:
        """Return `changes 2 of 5 runs: 1 to pass, 1 to fail`."""
        runs = format_count(n_rescored, "run")
        changed = [effect for effect in self.effects if _is_changed(effect)]
        if not changed:
            return f"changes no verdict in {runs}"
        n_to_pass = sum(effect.after is True for effect in changed)
        n_to_fail = len(changed) - n_to_pass
        details = []
        if n_to_pass:
            details.append(f"{n_to_pass} to pass")
        if n_to_fail:
            details.append(f"{n_to_fail} to fail")
        return f"changes {len(changed)} of {runs}: {', '.join(details)}"

    @property
    def ranking(self) -> str:
        """Text that names the runs with a better rank than before, such as `ranking: gpt-4o rises
        from 3 to 2`.
        """
        moves = []
        for effect, move in zip(self.effects, self.list_ranks(), strict=True):
            if move.after < move.before:
                name = use_own_separator(effect.run_name)
                moves.append(f"{name} rises from {move.before} to {move.after}")
        if not moves:
            return "ranking: unchanged"
        return f"ranking: {', '.join(moves)}"

    def list_ranks(self) -> list[RankMove]:
        """Return the rank of each run by its share of passing items, before and with the fix."""
        before = _rank([effect.rate_before for effect in self.effects])
        after = _rank([effect.rate_after for effect in self.effects])
        return [RankMove(old, new) for old, new in zip(before, after, strict=True)]


async def measure_effects(
    session: Session, golden: GoldenSupport, detail: ItemDetail, golden_fix: dict[str, Any]
) -> AsyncIterator[GoldenFixEffects]:
    """Recompute the verdict on an item with a corrected golden answer, in each run that has the
    item.

    Yield the effects so far after each run, because this takes time. Keys and other queries can
    come between two runs.
    """
    item = strip_duplicate_mark(detail.row.item)
    rescores = golden.rescores(detail.run)
    needs_execution = golden.needs_execution(detail.run.benchmark, detail.item.category)
    answers = await session.read(lambda store: fetch_run_answers(store, item))
    effects: list[RunEffect] = []
    for answer in answers:
        measure = partial(_measure_effect, answer, golden, golden_fix)
        effects.append(await session.read(measure))
        n_left = len(answers) - len(effects)
        yield GoldenFixEffects(
            tuple(effects), rescores=rescores, n_left=n_left, needs_execution=needs_execution
        )


def _measure_effect(
    answer: RunAnswer, golden: GoldenSupport, golden_fix: dict[str, Any], store: Any
) -> RunEffect:
    return measure_run_effect(store, answer, golden_fix, golden.rescore)


@dataclass(frozen=True, slots=True)
class RankMove:
    """Rank of a run, from 1, before and with a golden fix."""

    before: int
    after: int


def _rank(rates: Sequence[float | None]) -> list[int]:
    """Return the rank of each rate, from 1 for the highest. Equal rates have equal ranks."""
    known = [-1.0 if rate is None else rate for rate in rates]
    return [1 + sum(other > rate for other in known) for rate in known]


def golden_effect_lines(effects: GoldenFixEffects, cells: int) -> list[Line]:
    """Return what a corrected golden answer changes: a summary, the ranking, and a row for each
    run.
    """
    name_cells = _choose_name_cells(effects.effects, cells)
    changed_lines = []
    unchanged_lines = []
    for effect, move in zip(effects.effects, effects.list_ranks(), strict=True):
        line = _run_line(effect, move, name_cells)
        if _is_changed(effect):
            changed_lines.append(line)
        else:
            unchanged_lines.append(line)

    return [
        make_line(sanitize(effects.summary), "strong"),
        make_line(sanitize(effects.ranking)),
        BLANK_LINE,
        _heading_line(name_cells),
        # Runs that change come first, because a screen may show only a part of many runs.
        *changed_lines,
        *unchanged_lines,
    ]


def _is_changed(effect: RunEffect) -> bool:
    return effect.before is not effect.after


def _is_unchanged(effect: RunEffect) -> bool:
    return not _is_changed(effect)


def _choose_name_cells(effects: Sequence[RunEffect], cells: int) -> int:
    longest = max((display_width(sanitize(effect.run_name)) for effect in effects), default=0)
    room = cells - VERDICT_CELLS - RATE_CELLS - RANK_CELLS - 3 * len(GAP)
    return max(min(longest, room, MAX_RUN_NAME_CELLS), MIN_RUN_NAME_CELLS)


def _heading_line(name_cells: int) -> Line:
    """Return the heading of the table of runs."""
    line = LineBuilder()
    line.add_padded("run", name_cells, "dim")
    line.add(GAP)
    line.add_padded("this item", VERDICT_CELLS, "dim")
    line.add(GAP)
    line.add_padded("corrected", RATE_CELLS, "dim")
    line.add(GAP)
    line.add("rank", "dim")
    return line.build()


def _run_line(effect: RunEffect, move: RankMove, name_cells: int) -> Line:
    """Return the row of a run: name, verdict before and after, pass rate, and rank before and
    after.

    A run that does not change is dim.
    """
    name = truncate_middle(sanitize(use_own_separator(effect.run_name)), name_cells)
    is_changed = _is_changed(effect)
    line = LineBuilder()
    line.add_padded(name, name_cells, "" if is_changed else "dim")
    line.add(GAP)
    line.add_line(_verdict_change(effect))
    line.add(GAP)
    line.add_padded(_format_rates(effect), RATE_CELLS, "" if is_changed else "dim")
    line.add(GAP)
    rank = str(move.before)
    if move.after != move.before:
        rank = f"{move.before} {symbols().arrow} {move.after}"
    line.add(rank)
    return line.build()


def _verdict_change(effect: RunEffect) -> Line:
    """Return the verdict now and with the fix, in `VERDICT_CELLS` cells."""
    line = LineBuilder()
    now = symbols().verdict_symbol(effect.before)
    line.add(now, get_verdict_style(effect.before))
    if _is_unchanged(effect):
        line.add_padded(" unchanged", VERDICT_CELLS - display_width(now), "dim")
        return line.build()
    arrow = f" {symbols().arrow} "
    line.add(arrow)
    after = symbols().verdict_symbol(effect.after)
    used = display_width(now) + display_width(arrow)
    line.add_padded(after, VERDICT_CELLS - used, get_verdict_style(effect.after))
    return line.build()


def _format_rates(effect: RunEffect) -> str:
    """Format the share of passing items: `60.9 → 61.0 %`."""
    before = _format_rate(effect.rate_before)
    after = _format_rate(effect.rate_after)
    if _is_unchanged(effect):
        return f"{before} %"
    return f"{before} {symbols().arrow} {after} %"


def _format_rate(rate: float | None) -> str:
    return "–" if rate is None else f"{100 * rate:.2f}"
