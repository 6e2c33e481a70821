"""Which decoder reads the replies of a model that the table does not know: what its own files tell.

A failing score entry quotes the reply and says whether the official program could read it; the decoder that does alike
is likely the model's. Without scores it is the one that finds calls in most replies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fcreview.importers.bfcl.decode.decoder import Decoder, How
from fcreview.importers.bfcl.decode.decoders import BY_NAME, DECODERS, asked_for
from fcreview.importers.bfcl.decode.decoding import Undecodable, WrongFormat
from fcreview.importers.bfcl.decode.table import OTHERWISE

Outcome = Literal["calls", "nothing", "failed", "odd"]
ENOUGH = 0.9
"""Of the replies: a first guess that reads so many is not compared with all others."""
BY_ERROR: dict[str, Outcome] = {
    "ast_decoder:decoder_failed": "failed",
    "ast_decoder:decoder_wrong_output_format": "odd",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A decoder, and in how many of the replies it finds calls."""

    decoder: Decoder
    read: int
    of: int


def choose(guess: Decoder, replies: Sequence[Any], scored: Sequence[tuple[Any, str]], how: How) -> Choice:
    """The decoder of a model that nobody knows. `guess` is kept unless another does clearly better; where it is AUTO
    and one decoder does as well, it is that one.

    `replies` are `result`s, `scored` replies with the error types of their score entries.
    """
    native = bool(replies) and type(replies[0]) is list
    usual = [BY_NAME[name] for name in (("FC", "LIST") if native else (OTHERWISE[how.rules],))]
    best = _Measured.of(guess, replies, scored, how)
    if best.read < ENOUGH * len(replies) or best.alike < len(scored):
        named = [asked_for(decoder.name, how.rules) or decoder for decoder in DECODERS]
        for decoder in (*usual, *named):  # of those that do as well, the first
            other = _Measured.of(decoder, replies, scored, how)
            if other.better_than(best, twice=best.decoder is guess):
                best = other
    if best.decoder.name == "AUTO":
        alternatives = [_Measured.of(decoder, replies, scored, how) for decoder in usual]
        best = next((one for one in alternatives if (one.alike, one.read) == (best.alike, best.read)), best)
    decoder = best.decoder
    if guess.names == "either" and decoder.names == "flat":
        decoder = replace(decoder, names="either")
    return Choice(decoder, best.read, len(replies))


@dataclass(frozen=True, slots=True)
class _Measured:
    decoder: Decoder
    alike: int
    """Scored replies of which it makes what the official program made."""
    read: int
    """Replies in which it finds calls."""

    @staticmethod
    def of(decoder: Decoder, replies: Sequence[Any], scored: Sequence[tuple[Any, str]], how: How) -> _Measured:
        alike = sum(_alike(outcome(decoder, reply, how), error) for reply, error in scored)
        return _Measured(decoder, alike, sum(outcome(decoder, reply, how) == "calls" for reply in replies))

    def better_than(self, other: _Measured, *, twice: bool) -> bool:
        return self.alike > other.alike or (
            self.alike == other.alike and self.read > (2 * other.read if twice else other.read)
        )


def _alike(found: Outcome, error: str) -> bool:
    expected = BY_ERROR.get(error)
    return found == expected if expected else found in ("calls", "nothing")


def outcome(decoder: Decoder, reply: Any, how: How) -> Outcome:
    try:
        return "calls" if decoder.read(reply, how) else "nothing"
    except WrongFormat:
        return "odd"
    except (Undecodable, RecursionError, MemoryError):
        return "failed"
