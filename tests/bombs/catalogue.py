"""All bombs, by importer and kind."""

from __future__ import annotations

from tests.bombs import (
    atif_bombs,
    conversation_bombs,
    evalscope_bombs,
    generic_bombs,
    inspect_bombs,
    mapping_bombs,
    mcp_atlas_bombs,
    nemo_gym_bombs,
    session_bombs,
    tau_bombs,
    verifiers_bombs,
)
from tests.bombs.bomb import Bomb
from tests.bombs.python_text_bombs import ACEBENCH, BFCL, CONFETTI

BOMBS_BY_IMPORTER: dict[str, dict[str, Bomb]] = {
    "acebench": ACEBENCH.make_bombs() | conversation_bombs.ACEBENCH_BOMBS,
    "atif": atif_bombs.BOMBS,
    "bfcl": BFCL.make_bombs() | conversation_bombs.BFCL_BOMBS,
    "complexfuncbench": conversation_bombs.COMPLEXFUNCBENCH_BOMBS,
    "confetti": CONFETTI.make_bombs(),
    "evalscope": evalscope_bombs.BOMBS,
    "generic": generic_bombs.BOMBS,
    "hammerbench": conversation_bombs.HAMMERBENCH_BOMBS,
    "inspect": inspect_bombs.BOMBS,
    "mapping": mapping_bombs.BOMBS,
    "mcp_atlas": mcp_atlas_bombs.BOMBS,
    "nemo_gym": nemo_gym_bombs.BOMBS,
    "sessions": session_bombs.BOMBS,
    "tau": tau_bombs.BOMBS,
    "verifiers": verifiers_bombs.BOMBS,
}
BOMBS = {
    f"{importer}: {kind}": bomb
    for importer, bombs in BOMBS_BY_IMPORTER.items()
    for kind, bomb in bombs.items()
}
SMALL_BOMBS = {name: bomb for name, bomb in BOMBS.items() if bomb.small_size}
CUT_WORDS = (
    "omitted",
    "not replaced",
    "placeholder",
    "not followed",
    "nested too deeply",
    "nested deeper",
    "too deep",
    "cut after",
    "skipped",
    "more than",
)
"""Words of the sentences that say that something was left out."""
