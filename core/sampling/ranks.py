"""Chance that can be had again: the rank of a thing depends on the seed, on what it is drawn for, and on its own
content, never on the order in which things come. blake2b, so that every Python draws the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


def rank(seed: int, purpose: str, content: str) -> bytes:
    return blake2b(f"{seed}\0{purpose}\0{content}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def shuffled(things: Iterable[T], content: Callable[[T], str], seed: int, purpose: str) -> list[T]:
    """In an order that each of all orders is as likely to be as any other."""
    return sorted(things, key=lambda thing: (rank(seed, purpose, content(thing)), content(thing)))
