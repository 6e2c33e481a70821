"""Decodes every bomb in one way: python -m tests.faults.hostile.decode_bombs WAY. A line a bomb: seconds and name,
once it is decoded or refused; whoever starts this sees by the last line where it hung or fell."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

from fcreview.importers.acebench import decode as acebench
from fcreview.importers.bfcl.decoders.base import DecoderContext
from fcreview.importers.bfcl.decoders.registry import decode_result, decoder_for_model, early_v1_decoder
from fcreview.importers.common.records import Undecodable
from fcreview.importers.complexfuncbench import log
from fcreview.importers.hammerbench import dialogue as hammerbench
from tests.faults.hostile.bombs import BOMBS

MODELS = [
    "maple", "maple-FC", "hermes-2", "granite-20b-FC", "granite-4", "falcon3", "xlam", "hammer", "glm-4-9b", "raven",
    "gorilla-openfunctions", "meta-llama_Llama-3.1-8B-FC", "llama-3", "gemma", "mistral", "gpt-4", "gemini-FC", "phi",
    "qwen_qwen3-FC",
]  # fmt: skip
FORMATS = ["python", "json", "verbose_xml", "concise_xml"]


def ways() -> dict[str, Callable[[str], Any]]:
    """Whatever makes calls of a reply, by name."""
    made: dict[str, Callable[[str], Any]] = {}
    for version in ("V1", "V4"):
        for model in MODELS:
            decoder, _ = decoder_for_model(model, version)
            for language in ("python", "java", "javascript"):
                if language == "python" or model in ("maple", "hermes-2", "glm-4-9b"):
                    context = DecoderContext(version, language)
                    made[f"bfcl {version} {model} {language}"] = partial(
                        decode_result, decoder=decoder, context=context
                    )
    for form in FORMATS:
        decoder, _ = decoder_for_model("maple", "V4")
        config = f"ret_fmt={form}&tool_call_tag=True"
        made[f"format {form}"] = partial(decode_result, decoder=decoder, context=DecoderContext(), config=config)
    native = [[{"f": "{}"}], [{"name": "f", "arguments": "{}"}]]
    for at, shape in enumerate(native):
        made[f"native {at}"] = partial(_native, shape)
    made["acebench"] = acebench.decode_reply
    made["acebench readable"] = acebench.decode_for_display
    for parser in ("default", "ministral", "xlam", "toolace"):
        made[f"hammerbench {parser}"] = partial(hammerbench.parse_prediction, parser=parser)
    made["complexfuncbench log"] = log.parse_log
    made["complexfuncbench literal"] = log.parse_literal
    return made


def _native(shape: list[dict[str, str]], text: str) -> Any:
    """The text in the place of the arguments."""
    result = [{name: text if value == "{}" else value for name, value in shape[0].items()}]
    decoder, _ = decoder_for_model("maple-FC", "V1")
    return decode_result(result, early_v1_decoder(decoder, "V1"), DecoderContext("V1"))


EXPECTED = (Undecodable, ValueError, SyntaxError, TypeError, KeyError, AttributeError)
"""What a decoder may raise: a reader makes of it that there are no calls."""


def main(only: str) -> None:
    for way, work in ways().items():
        if way.startswith(only):
            signature(work).bind("")  # else a wrong call would count as a refused reply
            for name, text in BOMBS.items():
                print("begins", way, name, flush=True)
                begun = time.process_time()
                with contextlib.suppress(*EXPECTED):
                    work(text)
                print(f"took {time.process_time() - begun:.2f} {way}: {name}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
