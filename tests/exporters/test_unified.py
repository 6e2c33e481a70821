"""Unified diffs that `git` and `patch` apply give the new file, for any bytes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fcreview.exporters.golden_patch import format_unified_diff
from tests.examples import examples

LINES = st.lists(
    st.sampled_from([b"", b"a", b"b", b"}", b"\xff\r", "é\u2028".encode(), b"--- a", b"+++ b"]),
    max_size=30,
)
FILES = st.tuples(LINES, st.booleans()).map(
    lambda each: b"\n".join(each[0]) + (b"\n" if each[1] and each[0] else b"")
)
APPLY = {"git": ["git", "apply", "-"], "patch": ["patch", "-p1", "--binary"]}


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("program", APPLY)
@examples(0.4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=FILES, new=FILES)
def test_applied_diff_gives_the_new_file(
    tmp_path: Path, program: str, old: bytes, new: bytes
) -> None:
    # Created and emptied files need other headers, and dataset files are neither.
    if not old or not new:
        return
    file = tmp_path / "a dir" / "file.json"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(old)
    diff = format_unified_diff("a dir/file.json", old, new)
    assert bool(diff) is (old != new)
    if diff:
        done = subprocess.run(
            APPLY[program], cwd=tmp_path, input=diff, capture_output=True, check=False
        )
        assert done.returncode == 0, (done.stderr, diff)
        assert file.read_bytes() == new


def test_unchanged_lines_are_context_only() -> None:
    old = b"".join(b"line %d\n" % number for number in range(100))
    new = old.replace(b"line 50\n", b"line fifty\n")
    diff = format_unified_diff("x.json", old, new).split(b"\n")
    assert diff[3] == b"@@ -48,7 +48,7 @@"
    assert [line for line in diff[4:] if line[:1] in (b"-", b"+")] == [b"-line 50", b"+line fifty"]


@pytest.mark.process
@pytest.mark.parametrize("name", ['say "no" twice.json', "tab\tand \\.json", "plain name.json"])
def test_diff_of_file_with_odd_name_applies(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(b"old\n")
    diff = format_unified_diff(name, b"old\n", b"new\n")
    assert (b"\\040" in diff, b'"a/' in diff) == (False, name != "plain name.json")
    done = subprocess.run(APPLY["git"], cwd=tmp_path, input=diff, capture_output=True, check=False)
    assert done.returncode == 0, (done.stderr, diff)
    assert file.read_bytes() == b"new\n"
