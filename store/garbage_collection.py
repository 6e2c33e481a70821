"""Pause garbage collection during code that creates many objects."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


def has_frozen_objects() -> bool:
    return gc.get_freeze_count() > 0


@contextlib.contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Disable garbage collection while the caller creates many objects without reference cycles. Collections would add
    25 % to the time and find nothing. At the end, the objects move to the oldest generation, which the next collection
    skips."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not has_frozen_objects():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
