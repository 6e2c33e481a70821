"""Steps as people count them: 1, 2, 3 in each turn, without the numbers at which nothing happened. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from fcreview.model import Item

Steps = Mapping[tuple[int, int], int]
"""A step's number by (turn, step), both of which count from 0, as `Message` and `Call` have them."""


def step_numbers(item: Item) -> dict[tuple[int, int], int]:
    """Of every step in which something was said or a call was made. How benchmarks store a dialogue leaves gaps between
    their own numbers; what opens a turn is none of its steps."""
    happened = {(message.turn, message.step) for message in item.messages if message.step >= 0}
    happened |= {(call.turn, call.step) for call in item.predicted}
    numbers: dict[tuple[int, int], int] = {}
    for _, places in groupby(sorted(happened), key=lambda place: place[0]):
        numbers |= {place: number for number, place in enumerate(places, 1)}
    return numbers
