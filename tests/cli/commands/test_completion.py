"""The completion scripts work in a real shell."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.cli.conftest import Cli


def complete(script: str, *words: str) -> list[str]:
    quoted = " ".join(f"'{word}'" for word in words)
    ask = (
        f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _fcreview; printf '%s\\n'"
        f' "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_and_options(cli: Cli) -> None:
    script = cli("completion", "bash").out
    assert complete(script, "fcreview", "tri") == ["triage"]
    assert complete(script, "fcreview", "export", "--ann") == ["--annotator"]
    assert complete(script, "fcreview", "queue", "cre") == ["create"]
    assert "--overlap" in complete(script, "fcreview", "queue", "create", "--")


def test_other_shells(cli: Cli) -> None:
    assert cli("completion", "zsh").out.startswith("autoload")
    assert "-a triage -d 'Group failures by cause.'" in cli("completion", "fish").out
    assert cli("completion", "tcsh").code == 2
