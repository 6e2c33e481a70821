"""The script is run by a real shell."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.cli.conftest import Cli


def completed(script: str, *words: str) -> list[str]:
    quoted = " ".join(f"'{word}'" for word in words)
    ask = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _fcreview; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_commands_and_their_options(cli: Cli) -> None:
    script = cli("completion", "bash").out
    assert completed(script, "fcreview", "tri") == ["triage"]
    assert completed(script, "fcreview", "export", "--ann") == ["--annotator"]
    assert completed(script, "fcreview", "queue", "cre") == ["create"]
    assert "--overlap" in completed(script, "fcreview", "queue", "create", "--")


def test_other_shells(cli: Cli) -> None:
    assert cli("completion", "zsh").out.startswith("autoload")
    assert "-a triage -d 'Group failures by cause.'" in cli("completion", "fish").out
    assert cli("completion", "tcsh").code == 2
