"""A raw `result` to calls, by the decoder of its model."""

from __future__ import annotations

from typing import Any

from fcreview.importers.bfcl.decode.decoder import Decoder, How
from fcreview.importers.bfcl.decode.decoding import Calls
from fcreview.importers.bfcl.decode.families.native import as_text


def decode(result: Any, decoder: Decoder, how: How, config: str | None = None) -> Calls:
    """The calls of a record's `result`. `config` is that of a format-sensitivity item. Raises Undecodable and
    WrongFormat."""
    if config is not None and type(result) is str:
        from fcreview.importers.bfcl.decode.format_sensitivity import decode_configured

        return decode_configured(result, config)
    calls = decoder.read(result, how)
    return as_text(calls) if decoder.as_text and how.language != "python" else calls
