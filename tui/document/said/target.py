"""What was said of one part of an item, to stand at that part: official, rule, judge with its reason, and people."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.criteria import PASSING
from fcreview.model import Verdict
from fcreview.review import Opinion
from fcreview.sanitise import visible
from fcreview.text.words import word
from fcreview.tui.document.blocks import Block
from fcreview.tui.document.scene import Scene
from fcreview.tui.document.verdicts import marked_value, paragraph, reason_of, value_words
from fcreview.tui.text.lines import Line
from fcreview.tui.text.theme import symbols

REASON_ROWS = 4
SPOKEN = ("official", "rule", "judge")
FLAGS = ("hallucinated",)
"""Criteria of arguments that are told at their call: names only."""


def said_block(of: Scene, address: str, parent: str | None, spoken: Sequence[str] = SPOKEN) -> list[Block]:
    """A block of its own below the part, so that the part's lines stay what they are; nothing if nothing was said.

    `spoken`: the sources that are told here. What official says of a turn stands above the trajectory already.
    """
    verdicts = [] if of.hidden else [v for v in verdicts_on(of, address) if v.source in spoken]
    opinions = opinions_on(of, address)
    if not verdicts and not opinions:
        return []

    def lines(cells: int) -> list[Line]:
        made: list[Line] = []
        for verdict in verdicts:
            made += _verdict(verdict, cells)
        for opinion in opinions:
            made += _opinion(opinion, of.annotator, cells)
        return made

    return [Block(f"{address}/said", lines, target=address, parent=parent, title="verdicts on it")]


def own_block(of: Scene, address: str, parent: str | None) -> list[Block]:
    """What people said of it, where judges have a block of their own."""
    opinions = opinions_on(of, address)
    if not opinions:
        return []

    def lines(cells: int) -> list[Line]:
        return [each for opinion in opinions for each in _opinion(opinion, of.annotator, cells)]

    return [Block(f"{address}/said", lines, target=address, parent=parent, title="verdicts on it")]


def verdicts_on(of: Scene, address: str) -> list[Verdict]:
    """Those that tell something: on the part itself, and flags raised on its arguments."""
    own = [v for v in of.verdicts.get(address, ()) if v.source != "human"]
    flags = [v for v in of.flags.get(address, ()) if v.criterion in FLAGS and v.value is True]
    told = [v for v in own if v.source != "judge" or v.rationale or v.value is False]
    return told + flags


def opinions_on(of: Scene, address: str) -> list[Opinion]:
    return of.said.get(address, [])


def refused(of: Scene, address: str) -> bool:
    """Whether anybody said of the part that it is wrong, or the reader said anything at all."""
    if opinions_on(of, address):
        return True
    return not of.hidden and any(v.value is False or v.source == "judge" for v in verdicts_on(of, address))


def mark_of(of: Scene, address: str) -> str:
    """` · you ✗` behind a part that is shown on one line."""
    shown = [opinion for opinion in opinions_on(of, address) if opinion.verdict is not None]
    marks = [(_who(o, of.annotator), symbols().verdict(marked_value(o.verdict, o.criterion))) for o in shown]
    return "".join(f" · {who} {mark}" for who, mark in marks)


def _verdict(verdict: Verdict, cells: int) -> list[Line]:
    argument = verdict.target.partition("/arg:")[2]
    by = verdict.by or ""
    who = f"judge {by}".rstrip() if verdict.source == "judge" else verdict.source
    if argument:
        return paragraph(f"{visible(who)}  ", f"{verdict.criterion}: {argument}", cells, "warn")
    head = f"{visible(who)} {value_words(verdict.value, verdict.criterion)} {visible(verdict.criterion)}"
    if verdict.source != "judge" and by:
        head += f" · {visible(by)}"
    said = reason_of(verdict, None)
    passes = verdict.value is not False or verdict.criterion not in PASSING
    style = "dim" if passes and verdict.source != "judge" else ""
    return paragraph("", f"{head}: {said}" if said else head, cells, style, REASON_ROWS)


def _opinion(opinion: Opinion, annotator: str, cells: int) -> list[Line]:
    parts = [word(opinion.verdict, opinion.criterion)] if opinion.verdict is not None else []
    parts += [visible(opinion.criterion)] if opinion.criterion != "correct" else []
    parts += [f"wrong: {opinion.fault}"] if opinion.fault else []
    parts += [f"overrules: {visible(opinion.reason)}"] if opinion.reason else []
    parts += ["tags " + visible(", ".join(opinion.tags))] if opinion.tags else []
    parts += [visible(opinion.note)] if opinion.note else []
    mark = symbols().verdict(marked_value(opinion.verdict, opinion.criterion))
    return paragraph(f"{_who(opinion, annotator)} {mark}  ", " · ".join(parts), cells, "strong", REASON_ROWS)


def _who(opinion: Opinion, annotator: str) -> str:
    return "you" if opinion.annotator == annotator else visible(opinion.annotator)
