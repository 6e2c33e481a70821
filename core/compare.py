"""Golden against predicted calls: the one place from which other packages import the comparison."""

from __future__ import annotations

from fcreview.align import align, align_turns
from fcreview.argument_rows import ArgumentRow, argument_rows
from fcreview.diff import diff_call
from fcreview.first_difference import first_difference
from fcreview.rules import EXACT, Rules, accepts, same

__all__ = [
    "EXACT",
    "ArgumentRow",
    "Rules",
    "accepts",
    "align",
    "align_turns",
    "argument_rows",
    "diff_call",
    "first_difference",
    "same",
]
