"""Read and write the users file of `fcreview serve`, a TOML file with a line `"alice" =
"scrypt$15$8$1$SALT$KEY"` for each annotator.

The numbers are the scrypt parameters log2(N), r and p. SALT and KEY are base64.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import stat
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from fcreview.cli.output import print_message
from fcreview.errors import CommandError
from fcreview.store.workspace import AnnotatorError, check_annotator, is_same_filename

MIN_PASSWORD, MAX_PASSWORD = 8, 1_000  # shortest and longest password, in characters
MAX_FILE_BYTES = 1_000_000
_KEY_BYTES = 32
_SALT_BYTES = 16
_MIN_SALT_BYTES = 8  # a users file may come from another program


@dataclass(frozen=True, slots=True)
class ScryptCost:
    """Parameters of scrypt (RFC 7914), which decide how long a check takes."""

    log_n: int
    r: int
    p: int

    def is_allowed(self) -> bool:
        """Whether a check with these parameters takes bounded time and memory."""
        return (
            1 <= self.log_n <= _MAX_COST.log_n
            and 1 <= self.r <= _MAX_COST.r
            and 1 <= self.p <= _MAX_COST.p
        )


_COST = ScryptCost(log_n=15, r=8, p=1)
"""Cost of new passwords. A check takes 32 MB and 0.1 s."""
_MAX_COST = ScryptCost(log_n=20, r=32, p=16)


@dataclass(frozen=True, slots=True)
class PasswordHash:
    cost: ScryptCost
    salt: bytes
    key: bytes

    @classmethod
    def create(cls, password: str) -> PasswordHash:
        salt = secrets.token_bytes(_SALT_BYTES)
        return cls(_COST, salt, _derive_key(password, salt, _COST))

    @classmethod
    def parse(cls, text: str) -> PasswordHash:
        """Parse a password hash as written in the users file. Raises: ValueError."""
        algorithm, log_n, r, p, salt_text, key_text = text.split("$")
        cost = ScryptCost(int(log_n), int(r), int(p))
        salt = base64.b64decode(salt_text, validate=True)
        key = base64.b64decode(key_text, validate=True)

        if algorithm != "scrypt" or not cost.is_allowed():
            raise ValueError(text)
        if len(salt) < _MIN_SALT_BYTES or len(key) != _KEY_BYTES:
            raise ValueError(text)
        return cls(cost, salt, key)

    def __str__(self) -> str:
        """Format the hash as in the users file: `scrypt$15$8$1$SALT$KEY`."""
        salt = base64.b64encode(self.salt).decode()
        key = base64.b64encode(self.key).decode()
        return f"scrypt${self.cost.log_n}${self.cost.r}${self.cost.p}${salt}${key}"

    def matches(self, password: str) -> bool:
        """Whether this is the hash of the password. The comparison takes constant time."""
        return hmac.compare_digest(_derive_key(password, self.salt, self.cost), self.key)


def _derive_key(password: str, salt: bytes, cost: ScryptCost) -> bytes:
    """Return the scrypt key of a password."""
    n = 1 << cost.log_n
    # scrypt needs 128 bytes * r * (n + p). OpenSSL refuses a limit that is only as high as that.
    memory_limit = 2 * 128 * cost.r * (n + cost.p)
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"),
        salt=salt,
        n=n,
        r=cost.r,
        p=cost.p,
        maxmem=memory_limit,
        dklen=_KEY_BYTES,
    )


_UNKNOWN_USER = PasswordHash(_COST, salt=bytes(16), key=bytes(_KEY_BYTES))
"""Hash that is checked for an unknown name, so that the response time does not reveal whether a
name exists.
"""


@dataclass(slots=True)
class UsersFile:
    """The file with the password hashes of the annotators. It is read again after each change.

    If a change makes the file invalid, the last valid version stays in force until the server ends,
    so that a typing error logs nobody out.
    """

    path: Path
    _users: dict[str, PasswordHash] = field(default_factory=dict)  # the last valid version
    _stamp: tuple[int, int, int] | None = None  # of the file that has the last valid version
    _problem: str = ""  # the error that was printed last; empty while the file is valid

    def load_password_hashes(self) -> Mapping[str, PasswordHash]:
        """Return the hashes by annotator name.

        Raises: CommandError if the file is missing, unsafe or invalid.
        """
        status = check_private_file(self.path)
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        if stamp != self._stamp:
            users = _parse_users(self.path)
            # A new file may have no users yet. One that has lost all users is probably just being
            # written, or was emptied by mistake.
            if self._users and not users:
                raise CommandError(f"{self.path} has no users")
            self._users = users
            self._stamp = stamp
        return self._users

    def find_password_hash(self, name: str) -> PasswordHash | None:
        """Return the password hash of an annotator in the last valid version of the file.

        None if the name is unknown.
        """
        try:
            self.load_password_hashes()
        except CommandError as error:
            self._report_problem(str(error))
        else:
            self._report_end_of_problem()
        return self._users.get(name)

    def _report_problem(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            print_message(f"fcreview: {problem}. The last valid version stays in force")

    def _report_end_of_problem(self) -> None:
        if self._problem:
            self._problem = ""
            print_message(f"fcreview: {self.path} is valid again, and its changes apply")

    def is_right_password(self, name: str, password: str) -> bool:
        """Whether the password is right. The check takes 0.1 s, even for an unknown name."""
        known = self.find_password_hash(name)
        matches = (known or _UNKNOWN_USER).matches(password[:MAX_PASSWORD])
        return matches and known is not None

    def set_password(self, name: str, password: str) -> None:
        """Add an annotator to the users file, or change the annotator's password.

        Raises CommandError for a password of the wrong length, a name that differs from another
        name only in case, or a file that other users can access.
        """
        if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
            raise CommandError(
                f"the password must have from {MIN_PASSWORD} to {MAX_PASSWORD:,} characters"
            )

        # Keep the lines of all others.
        lines: list[str] = []
        if self.path.exists():
            self._raise_if_similar_name_exists(name)
            for line in self.path.read_text("utf-8").splitlines():
                if _parse_user_name(line) != name:
                    lines.append(line)
        hash_text = str(PasswordHash.create(password))
        lines.append(f"{json.dumps(name, ensure_ascii=False)} = {json.dumps(hash_text)}")
        self._replace_content("\n".join(lines) + "\n")

    def _raise_if_similar_name_exists(self, name: str) -> None:
        """Raise CommandError if another user's journal would have the same file name on some
        systems.
        """
        for known_name in self.load_password_hashes():
            if known_name != name and is_same_filename(known_name, name):
                raise CommandError(
                    f"{self.path} contains {known_name}, which differs from {name} only in case."
                    " Choose another name"
                )

    def _replace_content(self, text: str) -> None:
        """Write the file in one step, so that a server never reads a part of it."""
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            temporary.replace(self.path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _parse_user_name(line: str) -> str | None:
    """Return the name in a line of the users file, or None if it is not a line with one user."""
    try:
        names = list(tomllib.loads(line))
    except tomllib.TOMLDecodeError:
        return None
    return names[0] if len(names) == 1 else None


def check_private_file(path: Path) -> os.stat_result:
    """Check that a file with secrets is a regular file that only its owner can access.

    Raises: CommandError.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
        raise CommandError(
            f"{path} is not a regular file of at most {MAX_FILE_BYTES:,} bytes. Choose another file"
        )
    if status.st_uid != os.geteuid():
        raise CommandError(f"{path} belongs to another user. Pass a file that you own")
    if status.st_mode & 0o077:
        raise CommandError(f"Other users can access {path}. Run: chmod 600 {path}")
    return status


def _parse_users(path: Path) -> dict[str, PasswordHash]:
    """Read the users file: a TOML file with the password hash of each annotator.

    Raises CommandError for a malformed file, name or hash.
    """
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: {error}") from error
    except RecursionError:
        raise CommandError(f"{path}: the TOML is nested too deeply. Remove nested values") from None

    users: dict[str, PasswordHash] = {}
    for name, value in values.items():
        try:
            annotator = check_annotator(name)
        except AnnotatorError as error:
            raise CommandError(f"{path}: {error}") from error
        try:
            users[annotator] = _parse_password_hash(value)
        except ValueError:
            raise CommandError(
                f"{path}: {name!a} has no valid password hash. Set the password again with"
                " --add-user"
            ) from None
    return users


def _parse_password_hash(value: Any) -> PasswordHash:
    """Parse the text of a password hash. Raises ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError("a password hash is a string")
    return PasswordHash.parse(value)


@dataclass(slots=True)
class AttemptLimiter:
    """Limits the number of attempts for a key, such as a name, within a period."""

    limit: int  # maximum number of attempts for a key within the period
    seconds: float = 300.0  # length of the period
    clock: Callable[[], float] = monotonic
    max_keys: int = 10_000  # maximum number of keys, above which the oldest key is removed
    _attempts: dict[str, list[float]] = field(default_factory=dict)

    def register_if_allowed(self, key: str) -> bool:
        """Count an attempt, such as a login. Return False if there were too many attempts recently.

        `key`: whose attempts are counted.
        """
        now = self.clock()
        earlier_times = self._attempts.pop(key, [])
        recent_times = [time for time in earlier_times if now - time < self.seconds]
        is_allowed = len(recent_times) < self.limit
        if is_allowed:
            recent_times.append(now)

        # The last key of the dictionary is the newest.
        self._attempts[key] = recent_times
        while len(self._attempts) > self.max_keys:
            oldest_key = next(iter(self._attempts))
            del self._attempts[oldest_key]
        return is_allowed

    def forget_attempts(self, key: str) -> None:
        """Forget the attempts after a successful one."""
        self._attempts.pop(key, None)
