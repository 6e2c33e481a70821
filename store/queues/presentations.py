"""An item that comes to an annotator a second time has a number of its own, so that every list, screen and review can
tell the two apart. Here that number is made and read, and nowhere else."""

from __future__ import annotations

_AGAIN = 1 << 62
"""Far above all numbers of items (run * 2^32 + seq)."""


def presented(item: int, presentation: int) -> int:
    """The number of an item that is shown for the first (1) or second (2) time."""
    return item | _AGAIN if presentation > 1 else item


def item_of(number: int) -> int:
    """The item itself, `items.item`."""
    return number & ~_AGAIN


def presentation_of(number: int) -> int:
    return 2 if number & _AGAIN else 1
