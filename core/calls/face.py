"""Golden against predicted calls: the one place from which other packages import the comparison."""

from __future__ import annotations

from fcreview.calls.align import align, align_turns
from fcreview.calls.diff import diff_call
from fcreview.calls.first_difference import first_difference
from fcreview.calls.rules import EXACT, Rules, accepts, same
from fcreview.calls.table import ArgumentRow, argument_rows

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
