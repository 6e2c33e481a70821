"""The users file is checked, and login attempts are limited."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fcreview.cli.serve_users import AttemptLimiter, PasswordHash, ScryptCost, UsersFile
from fcreview.errors import CommandError
from tests.cli.serve.conftest import PASSWORD


def test_password_is_stored_as_hash_for_owner(users_file: UsersFile) -> None:
    text = users_file.path.read_text()
    assert PASSWORD not in text and text.startswith('"alice" = "scrypt$')
    assert users_file.path.stat().st_mode & 0o777 == 0o600
    assert users_file.is_right_password("alice", PASSWORD) and users_file.is_right_password(
        "bob", PASSWORD
    )
    assert not users_file.is_right_password(
        "alice", PASSWORD + "x"
    ) and not users_file.is_right_password("carol", PASSWORD)


def test_changed_password_keeps_other_lines(users_file: UsersFile) -> None:
    users_file.path.write_text("# our team\n" + users_file.path.read_text())
    before = users_file.path.read_text().splitlines()
    users_file.set_password("alice", "another password")
    after = users_file.path.read_text().splitlines()
    assert [*after[:-1]] == [before[0], before[2]] and after[-1].startswith('"alice"')
    assert users_file.is_right_password(
        "alice", "another password"
    ) and not users_file.is_right_password("alice", PASSWORD)


@pytest.mark.parametrize(
    "text",
    [
        'alice = "plain"',
        'alice = "scrypt$40$8$1$AAAA$AAAA"',
        "alice.b = 1",
        '"../x" = ""',
        "=",
        '"a b" = "x"',
    ],
)
def test_invalid_line_is_refused(users_file: UsersFile, text: str) -> None:
    users_file.path.write_text(text)
    with pytest.raises(CommandError):
        users_file.load_password_hashes()


def test_file_readable_by_others_is_refused(users_file: UsersFile) -> None:
    users_file.path.chmod(0o640)
    with pytest.raises(CommandError, match="chmod 600"):
        users_file.load_password_hashes()
    assert not UsersFile(users_file.path).is_right_password("alice", PASSWORD)


TYPING_ERRORS = ("alice = ", "", 'bob = "scrypt"', "# all removed\n", "\xff")


def test_last_valid_version_stays_in_force_while_the_file_is_invalid(
    users_file: UsersFile, capsys: pytest.CaptureFixture[str]
) -> None:
    valid = users_file.path.read_bytes()
    for number, text in enumerate(TYPING_ERRORS, 1):
        users_file.path.write_bytes(text.encode("latin-1"))
        for _ in range(3):
            assert users_file.is_right_password("alice", PASSWORD)
        message = capsys.readouterr().err
        assert message.count("The last valid version stays in force") == 1, (number, message)

    users_file.path.unlink()
    assert users_file.is_right_password("alice", PASSWORD)
    assert "No such file" in capsys.readouterr().err

    alice, _ = valid.splitlines()
    users_file.path.write_bytes(alice + b"\n")
    users_file.path.chmod(0o600)
    assert users_file.is_right_password("alice", PASSWORD)
    assert not users_file.is_right_password("bob", PASSWORD)
    assert capsys.readouterr().err.count("is valid again") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_file_of_other_user_is_refused(users_file: UsersFile) -> None:
    os.chown(users_file.path, 65534, 65534)
    with pytest.raises(CommandError, match="another user"):
        users_file.load_password_hashes()


def test_deeply_nested_values_are_refused(users_file: UsersFile) -> None:
    users_file.path.write_text("alice = " + "[" * 20_000 + "]" * 20_000)
    with pytest.raises(CommandError):
        users_file.load_password_hashes()


def test_short_password_and_similar_name_are_refused(users_file: UsersFile) -> None:
    for name, password in (("carol", "short"), ("Alice", PASSWORD)):
        with pytest.raises(CommandError):
            users_file.set_password(name, password)
    assert list(users_file.load_password_hashes()) == ["alice", "bob"]


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="absent"):
        UsersFile(tmp_path / "absent.toml").load_password_hashes()


def test_hash_of_full_cost_round_trips() -> None:
    made = PasswordHash.create(PASSWORD)
    assert made.cost == ScryptCost(log_n=15, r=8, p=1)
    assert PasswordHash.parse(str(made)) == made
    assert made.matches(PASSWORD)


def test_attempts_are_limited_temporarily() -> None:
    now = [0.0]
    limiter = AttemptLimiter(2, seconds=10, clock=lambda: now[0], max_keys=2)
    assert [limiter.register_if_allowed("a") for _ in range(3)] == [True, True, False]
    assert limiter.register_if_allowed("b")
    now[0] = 11
    assert limiter.register_if_allowed("a")
    for key in "cde":
        limiter.register_if_allowed(key)
    assert len(limiter._attempts) == 2
