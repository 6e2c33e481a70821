"""Decode every bomb with some decoders: python -m tests.faults.hostile.decode_bombs NAME.

Prints one line before and one after each bomb, so the last line shows where the decoder hung or
crashed.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

from fcreview.importers.acebench import decoding as acebench
from fcreview.importers.bfcl.decoders.base import DecoderContext
from fcreview.importers.bfcl.decoders.models import find_model_decoder
from fcreview.importers.bfcl.decoders.registry import decode_result, to_early_v1_decoder
from fcreview.importers.common.records import Undecodable
from fcreview.importers.complexfuncbench import log
from fcreview.importers.hammerbench import checker as hammerbench
from tests.faults.hostile.bombs import BOMBS

MODELS = [
    "maple",
    "maple-FC",
    "hermes-2",
    "granite-20b-FC",
    "granite-4",
    "falcon3",
    "xlam",
    "hammer",
    "glm-4-9b",
    "raven",
    "gorilla-openfunctions",
    "meta-llama_Llama-3.1-8B-FC",
    "llama-3",
    "gemma",
    "mistral",
    "gpt-4",
    "gemini-FC",
    "phi",
    "qwen_qwen3-FC",
]
FORMATS = ["python", "json", "verbose_xml", "concise_xml"]


def decoders() -> dict[str, Callable[[str], Any]]:
    """Return all functions that decode replies, by name."""
    found: dict[str, Callable[[str], Any]] = {}
    for version in ("V1", "V4"):
        for model in MODELS:
            decoder = find_model_decoder(model, version).decoder
            for language in ("python", "java", "javascript"):
                if language == "python" or model in ("maple", "hermes-2", "glm-4-9b"):
                    context = DecoderContext(version, language)
                    found[f"bfcl {version} {model} {language}"] = partial(
                        decode_result, decoder=decoder, context=context
                    )
    for form in FORMATS:
        decoder = find_model_decoder("maple", "V4").decoder
        config = f"ret_fmt={form}&tool_call_tag=True"
        found[f"format {form}"] = partial(
            decode_result, decoder=decoder, context=DecoderContext(), config=config
        )
    native = [[{"f": "{}"}], [{"name": "f", "arguments": "{}"}]]
    for at, shape in enumerate(native):
        found[f"native {at}"] = partial(_native, shape)
    for rule_set in acebench.RULE_SETS:
        found[f"acebench {rule_set}"] = partial(
            acebench.decode_reply, category="normal_atom_bool", rule_set=rule_set
        )
    found["acebench readable"] = acebench.decode_with_whitespace
    for parser in ("default", "ministral", "xlam", "toolace"):
        found[f"hammerbench {parser}"] = partial(hammerbench.parse_prediction, parser_name=parser)
    found["complexfuncbench log"] = log.parse_log
    found["complexfuncbench literal"] = log.parse_python_literal
    return found


def _native(shape: list[dict[str, str]], text: str) -> Any:
    """Decode a native call with the text as its arguments."""
    result = [{name: text if value == "{}" else value for name, value in shape[0].items()}]
    decoder = find_model_decoder("maple-FC", "V1").decoder
    return decode_result(result, to_early_v1_decoder(decoder, "V1"), DecoderContext("V1"))


EXPECTED = (Undecodable, ValueError, SyntaxError, TypeError, KeyError, AttributeError)
"""Exceptions that a decoder may raise. The importer then records a decode error."""


def main(prefix: str) -> None:
    for name, decode in decoders().items():
        if name.startswith(prefix):
            # otherwise a wrong signature would look like a refused reply
            signature(decode).bind("")
            for bomb, text in BOMBS.items():
                print("begins", name, bomb, flush=True)
                start = time.process_time()
                with contextlib.suppress(*EXPECTED):
                    decode(text)
                print(f"took {time.process_time() - start:.2f} {name}: {bomb}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
