"""Load the configuration file, and save the theme and the teams of the user.

The configuration file is FCREVIEW_CONFIG, or `$XDG_CONFIG_HOME/fcreview/config.toml`
(`~/.config/...`):

```toml
annotator = "alice"                   # annotator name
data = ["~/bench/bfcl/data"]          # dataset folders, as --data
mouse = false                         # leave the mouse to the terminal, which selects text
follow = 5                            # seconds between checks for new results with open --follow
theme = "nord"                        # colours, as :theme lists them
tags = ["ambiguous", "wrong unit"]    # error tags that dialogs list first, numbered from 1
reasons = ["too strict", "misread"]   # reasons for an override, at most 9
[keys]                                # keys by action id; press ? in the app for the current keys
"item.pass" = "p,y"
[decoders]                            # decoders for BFCL responses by model folder, as --decoder
"my-model-*" = "HERMES"
[scorers.attack_success]              # scorers of Inspect logs with low values that are good
better = "lower"
pass_at = 0.0                         # the value from which a score passes
[run_names]                           # names of runs by path or model, as import --name
"runs/2025-11-20/*" = "baseline"
[review]
key_guard_ms = 200                    # how long an item is on screen before review keys act on it
hide_model = true                     # hide the names of models, as --hide-model
show_judge = false                    # show verdicts of `fcreview judge` early, as --show-judge
```
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fcreview.cli.options import parse_decoder
from fcreview.errors import CommandError, UsageError
from fcreview.model.sanitize import sanitize
from fcreview.safe_files import read_file

if TYPE_CHECKING:
    from fcreview.store.team_exchange import TeamLink
    from fcreview.store.workspace import Workspace

T = TypeVar("T")
D = TypeVar("D")
MAX_CONFIG_BYTES = 1_000_000  # size limit of the configuration file, in bytes
MAX_ERROR_LENGTH = 300  # of the message of the TOML parser, which can quote the file
MAX_THEME_LENGTH = 100  # number of characters that are read of the name of a theme
MAX_TEAMS_BYTES = 1_000_000  # size limit of `teams.json`, in bytes
MAX_REASONS = 9  # limit of `reasons`, because each reason has a digit key
DEFAULT_FOLLOW = 5.0  # default of the setting `follow`, in seconds
MIN_FOLLOW, MAX_FOLLOW = 0.2, 86_400
DEFAULT_KEY_GUARD_MS, MAX_KEY_GUARD_MS = 200, 10_000
SCORERS_ERROR = (
    '[scorers.NAME] must have the lines better = "lower" (or "higher") and pass_at = 0.0, or one of'
    " them"
)


def _check_string_list(error_text: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(error_text)
    return value


def _check_annotator(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("annotator must be a string")
    return value


def _check_follow(value: Any) -> float:
    if not _is_number(value) or not MIN_FOLLOW <= value <= MAX_FOLLOW:
        raise ValueError(f"follow must be a number of seconds from {MIN_FOLLOW} to {MAX_FOLLOW:,}")
    return float(value)


def _is_number(value: Any) -> bool:
    """Whether a value is a number of TOML. In Python, true and false are numbers too."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_mouse(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("mouse must be true or false")
    return value


def _check_theme(name: Any) -> str:
    """Return the full name of the theme in the settings. Raises ValueError if there is no such
    theme.
    """
    from fcreview.tui.themes import list_theme_names, resolve_theme_name

    theme = resolve_theme_name(name) if isinstance(name, str) else None
    if theme is None:
        raise ValueError(f"theme must be one of {', '.join(list_theme_names())}")
    return theme


def _check_nonempty_strings(setting: str, value: Any) -> tuple[str, ...]:
    """Return the strings without superfluous blanks, each once. Raises ValueError for others."""
    error_text = f'{setting} must be a list of strings such as ["ambiguous"]'
    texts = [" ".join(text.split()) for text in _check_string_list(error_text, value)]
    if not all(texts):
        raise ValueError(error_text)
    return tuple(dict.fromkeys(texts))


def _check_reasons(value: Any) -> tuple[str, ...]:
    """Return the reasons for overrides in the settings. Raises ValueError if there are too many."""
    reasons = _check_nonempty_strings("reasons", value)
    if len(reasons) > MAX_REASONS:
        raise ValueError(
            f"reasons must have at most {MAX_REASONS} entries, because each has a digit key"
        )
    return reasons


def _check_string_table(setting: str, example: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ValueError(f"[{setting}] must have lines such as {example}")
    return value


def _check_keys(value: Any) -> dict[str, str]:
    """Check the table `[keys]`. Raises ValueError for a key that cannot be used."""
    keys = _check_string_table("keys", '"item.pass" = "p,y", with the action id in quotes', value)
    if not keys:
        return {}
    from fcreview.tui.keymap import KeymapError, validate_keymap

    try:
        validate_keymap(keys)
    except KeymapError as error:
        raise ValueError(error) from error
    # The app names the new ids of renamed actions.
    return keys


def _check_decoders(value: Any) -> dict[str, str]:
    """Return the setting of decoders: how the calls of a model are written, by the model's name."""
    decoders = _check_string_table("decoders", '"my-model-*" = "HERMES"', value)
    try:
        return {model: parse_decoder(name) or "" for model, name in decoders.items()}
    except UsageError as error:
        raise ValueError(error) from error


def _check_run_names(value: Any) -> dict[str, str]:
    return _check_string_table("run_names", '"runs/2025-11-20/*" = "baseline"', value)


def _check_scorers(value: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict):
        raise ValueError(SCORERS_ERROR)
    return {name: _check_scorer(setting) for name, setting in value.items()}


def _check_scorer(setting: Any) -> dict[str, Any]:
    """Return the settings of a scorer: whether more is better, and the score from which an item
    passes.
    """
    if not isinstance(setting, dict) or not setting or setting.keys() - {"better", "pass_at"}:
        raise ValueError(SCORERS_ERROR)
    if setting.get("better", "higher") not in ("higher", "lower"):
        raise ValueError('better must be "higher" or "lower" in [scorers.NAME]')
    pass_at = setting.get("pass_at", 0.0)
    if not _is_number(pass_at) or not isfinite(pass_at):
        raise ValueError("pass_at must be a number in [scorers.NAME]")
    return setting


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    """The table `[review]`."""

    key_guard_ms: int = DEFAULT_KEY_GUARD_MS
    """Milliseconds that an item must have been on screen before a review key acts on it."""
    hide_model: bool = False
    """Whether screens hide the names of models."""
    show_judge: bool = False
    """Whether verdicts of `fcreview judge` are visible before the annotator's own verdict."""


DEFAULT_REVIEW = ReviewSettings()


def _check_review(value: Any) -> ReviewSettings:
    """Check the table `[review]`. Raises ValueError for an unknown name or an invalid number."""
    names = {"key_guard_ms", "hide_model", "show_judge"}
    if not isinstance(value, dict) or value.keys() - names:
        raise ValueError(f"[review] must have lines such as key_guard_ms = {DEFAULT_KEY_GUARD_MS}")

    guard = value.get("key_guard_ms", DEFAULT_KEY_GUARD_MS)
    if type(guard) is not int or not 0 <= guard <= MAX_KEY_GUARD_MS:
        raise ValueError(
            "key_guard_ms in [review] must be a whole number of milliseconds from 0 to"
            f" {MAX_KEY_GUARD_MS:,}"
        )
    for name in ("hide_model", "show_judge"):
        if not isinstance(value.get(name, False), bool):
            raise ValueError(f"{name} in [review] must be true or false")
    return ReviewSettings(
        guard,
        hide_model=value.get("hide_model", False),
        show_judge=value.get("show_judge", False),
    )


def _setting(check: Callable[[Any], T], default: D) -> T | D:
    """Declare a setting of the configuration file, as a dataclass field with a default.

    `check` checks and normalizes a value of the file, or raises ValueError. pydantic is not used
    here, because its import would take a sixth of the time until the app shows the first rows.
    """
    declared: Any = field(default_factory=lambda: default, metadata={"check": check})
    return declared  # type: ignore[no-any-return] # dataclass() replaces it by the value


@dataclass(frozen=True, slots=True)
class Config:
    """The settings, each with the function that checks it and its default."""

    annotator: str | None = _setting(_check_annotator, None)
    data: Sequence[str] = _setting(
        partial(_check_string_list, "data must be a list of folder names"), ()
    )
    """Dataset folders. Relative paths are relative to the configuration file."""
    follow: float = _setting(_check_follow, DEFAULT_FOLLOW)
    """Seconds between two checks for new results with `open --follow`."""
    mouse: bool = _setting(_check_mouse, True)
    """Whether the app handles the mouse. Else the terminal selects text."""
    theme: str | None = _setting(_check_theme, None)
    colours: str | None = _setting(_check_theme, None)
    """Earlier name of `theme`."""
    tags: tuple[str, ...] = _setting(partial(_check_nonempty_strings, "tags"), ())
    """Error tags that dialogs list first."""
    reasons: tuple[str, ...] = _setting(_check_reasons, ())
    """Reasons in the dialog for an override. Empty for the default reasons."""
    keys: Mapping[str, str] = _setting(_check_keys, {})
    """Keys by action id, several separated by commas."""
    decoders: Mapping[str, str] = _setting(_check_decoders, {})
    """Decoders by name of the model folder, in which `*` matches any text."""
    scorers: Mapping[str, Mapping[str, Any]] = _setting(_check_scorers, {})
    """Scales by scorer, or SCORER.KEY, of Inspect logs."""
    run_names: Mapping[str, str] = _setting(_check_run_names, {})
    """Names of runs by path or model, in which `*` matches any text."""
    review: ReviewSettings = _setting(_check_review, DEFAULT_REVIEW)  # noqa: RUF009 - returns a field

    @property
    def file(self) -> Path:
        """Path of the configuration file, which may not exist."""
        return locate_config_file()

    @property
    def dataset_folders(self) -> list[Path]:
        """Dataset folders, with `~` and relative paths resolved."""
        # `os.path.expanduser` accepts `~x` without a user x, for which `Path.expanduser` raises an
        # error.
        return [self.file.parent / os.path.expanduser(folder) for folder in self.data]  # noqa: PTH111


def locate_config_file() -> Path:
    path = os.environ.get("FCREVIEW_CONFIG")
    if path:
        return Path(path)
    return find_user_folder("XDG_CONFIG_HOME", "~/.config") / "config.toml"


def find_user_folder(variable_name: str, default_parent: str) -> Path:
    """Return the subfolder `fcreview` of the folder in an environment variable, or of
    `default_parent`.
    """
    parent = os.environ.get(variable_name)
    if parent:
        return Path(parent) / "fcreview"
    return Path(default_parent).expanduser() / "fcreview"


def locate_theme_file() -> Path:
    """Return the path of the file with the theme that the user chose in the app."""
    return find_user_folder("XDG_STATE_HOME", "~/.local/state") / "theme"


def load_theme(config: Config) -> str | None:
    """Return the theme that the user chose in the app, else the theme of the configuration, else
    None.
    """
    return _load_theme_of_app() or config.theme or config.colours


def _load_theme_of_app() -> str | None:
    """Return the theme that the user chose in the app. None if there is no such theme."""
    from fcreview.tui.themes import resolve_theme_name

    try:
        saved_name = locate_theme_file().read_text("utf-8")
    except (OSError, ValueError):
        return None
    return resolve_theme_name(saved_name[:MAX_THEME_LENGTH])


def save_theme(name: str) -> None:
    """Save the theme that the user chose. Ignore errors of the file system."""
    file = locate_theme_file()
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name + "\n", "utf-8")


def record_first_start() -> bool:
    """Return True if this user starts the app for the first time.

    The first call creates a file that records the start. If the file cannot be created, returns
    False, so that the welcome line does not appear at every start.
    """
    mark = locate_theme_file().with_name("welcome")
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch(exist_ok=False)
        return True
    return False


def load_config() -> Config:
    """Load the configuration file, or the defaults if there is no file.

    Raises CommandError for an invalid setting.
    """
    file = locate_config_file()
    settings = {}
    for name, value in _read_config_table(file).items():
        try:
            settings[name] = _check_setting(name, value)
        except ValueError as error:
            raise CommandError(f"{file}: {error}") from error
    return Config(**settings)


def _read_config_table(file: Path) -> dict[str, Any]:
    """Read a TOML file. Without a file, the table is empty, so that all settings have defaults.

    Raises CommandError if the file cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(_read_limited_text(file))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:
        # Not TOML, or not UTF-8.
        problem = sanitize(str(error))[:MAX_ERROR_LENGTH]
        raise CommandError(f"{file}: {problem}") from error
    except RecursionError:
        raise CommandError(f"{file}: the TOML is nested too deeply. Remove nested values") from None


def _check_setting(name: str, value: Any) -> Any:
    checks = {setting.name: setting.metadata["check"] for setting in fields(Config)}
    if name not in checks:
        raise ValueError(f"there is no setting {name!r}. Choose {', '.join(checks)}")
    return checks[name](value)


def _read_limited_text(file: Path) -> str:
    """Read a text file of limited size.

    Refuse a pipe, which would block, and devices that never end.
    """
    if file.is_fifo():
        raise CommandError(f"{file} is a pipe. The configuration must be a regular file")
    with file.open("rb") as stream:
        content = stream.read(MAX_CONFIG_BYTES + 1)
    if len(content) > MAX_CONFIG_BYTES:
        raise CommandError(
            f"{file} has more than {MAX_CONFIG_BYTES:,} bytes, the limit of a configuration file"
        )
    return content.decode()


def _locate_teams_file() -> Path:
    """Return the path of `teams.json`. The file is not in the workspace, because the creator of the
    workspace must not decide to which server fcreview connects.
    """
    return find_user_folder("XDG_CONFIG_HOME", "~/.config") / "teams.json"


def find_team_link(workspace: Workspace) -> TeamLink | None:
    """Return the team that the workspace has joined, or None.

    Raises CommandError if the saved entry is damaged.
    """
    entry = _read_team_entries().get(_build_workspace_key(workspace))
    if entry is None:
        return None
    from fcreview.store.team_exchange import TeamLink
    from fcreview.store.team_server import parse_server_url

    try:
        return TeamLink(
            parse_server_url(entry["url"]), project=entry["project"], annotator=entry["annotator"]
        )
    except (LookupError, TypeError, AttributeError):
        file = _locate_teams_file()
        raise CommandError(
            f"the entry for {workspace.root} in {file} is damaged. Join the team again"
        ) from None


def save_team_link(workspace: Workspace, link: TeamLink) -> None:
    entry = {"url": str(link.address), "project": link.project, "annotator": link.annotator}
    _write_team_entries(_read_team_entries() | {_build_workspace_key(workspace): entry})


def remove_team_link(workspace: Workspace) -> bool:
    """Remove the team of the workspace. Return False if the workspace has joined no team."""
    entries = _read_team_entries()
    removed_entry = entries.pop(_build_workspace_key(workspace), None)
    if removed_entry is None:
        return False
    _write_team_entries(entries)
    return True


def _build_workspace_key(workspace: Workspace) -> str:
    return os.path.realpath(workspace.root)


def _read_team_entries() -> dict[str, Any]:
    """Read the file that says which workspace has joined which team.

    Raises CommandError if the file is damaged.
    """
    file = _locate_teams_file()
    try:
        entries = json.loads(read_file(file, MAX_TEAMS_BYTES))["workspaces"]
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from error
    except (ValueError, LookupError, TypeError, RecursionError):
        entries = None
    if not isinstance(entries, dict):
        raise CommandError(f"{file} is damaged. Delete the file and join your teams again")
    return entries


def _write_team_entries(entries: dict[str, Any]) -> None:
    """Write the file that says which team project each workspace belongs to."""
    file = _locate_teams_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    # An interrupted program must not leave half a file.
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    temporary.write_text(
        json.dumps({"version": 1, "workspaces": entries}, indent=2) + "\n", "utf-8"
    )
    temporary.chmod(0o600)
    temporary.replace(file)
