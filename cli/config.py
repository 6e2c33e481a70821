"""Load the configuration file: FCREVIEW_CONFIG, or `$XDG_CONFIG_HOME/fcreview/config.toml` (`~/.config/...`).

```toml
annotator = "alice"                   # annotator name
data = ["~/bench/bfcl/data"]          # dataset folders, as --data
follow = 5                            # seconds between checks for new results with open --follow
theme = "nord"                        # colours, as :theme lists them
tags = ["ambiguous", "wrong unit"]    # error tags that dialogs list first, numbered from 1
reasons = ["too strict", "misread"]   # reasons for an override, at most 9
[keys]                                # keys by action id; press ? in the app for the current keys
"item.pass" = "p,y"
[decoders]                            # decoders for BFCL responses by model folder, as --decoder
"my-model-*" = "HERMES"
```
"""

from __future__ import annotations

import os
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.import_options import check_decoder
from fcreview.model.sanitize import sanitize

MAX_CONFIG_BYTES = 1_000_000
"""Size limit of the configuration file, in bytes."""
MAX_REASONS = 9
"""Limit of `reasons`, because each reason has a digit key."""
DEFAULT_FOLLOW = 5.0
"""Default of the setting `follow`, in seconds."""
MIN_FOLLOW, MAX_FOLLOW = 0.2, 86_400
STRING_LIST_RULE = 'must be a list of strings such as ["ambiguous"]'


def _normalize_texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(" ".join(each.split()) for each in texts))


def _check_theme(name: Any) -> Any:
    from fcreview.tui.themes import find_theme, list_theme_names

    theme = find_theme(name) if isinstance(name, str) else None
    if theme is None:
        raise ValueError(f"theme must be one of {', '.join(list_theme_names())}")
    return theme


def _check_keys(keys: dict[str, str]) -> dict[str, str]:
    if not keys:
        return {}
    from fcreview.tui.keymap import KeymapError, validate_keymap

    try:
        return validate_keymap(keys)
    except KeymapError as error:
        raise ValueError(error) from error


def _check_decoders(decoders: dict[str, str]) -> dict[str, str]:
    try:
        return {model: check_decoder(name) or "" for model, name in decoders.items()}
    except UsageError as error:
        raise ValueError(error) from error


def _check_reasons(reasons: tuple[str, ...]) -> tuple[str, ...]:
    if len(reasons) > MAX_REASONS:
        raise ValueError(f"reasons must have at most {MAX_REASONS} entries, because each has a digit key")
    return reasons


UniqueStrings = Annotated[
    tuple[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], ...],
    Field(strict=False),
    AfterValidator(_normalize_texts),
]


class Config(BaseModel):
    """Settings of the configuration file. A field's description is the error message for an invalid value."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    annotator: str | None = Field(default=None, description="must be a string")
    data: list[str] = Field(default=[], description="must be a list of folder names")
    """Dataset folders. Relative paths are relative to the configuration file."""
    follow: float = Field(
        default=DEFAULT_FOLLOW,
        ge=MIN_FOLLOW,
        le=MAX_FOLLOW,
        description=f"must be a number of seconds from {MIN_FOLLOW} to {MAX_FOLLOW:,}",
    )
    """Seconds between two checks for new results with `open --follow`."""
    theme: Annotated[str, BeforeValidator(_check_theme)] | None = None
    colours: Annotated[str, BeforeValidator(_check_theme)] | None = None
    """Earlier name of `theme`."""
    tags: UniqueStrings = Field(default=(), description=STRING_LIST_RULE)
    """Error tags that dialogs list first."""
    reasons: Annotated[UniqueStrings, AfterValidator(_check_reasons)] = Field(default=(), description=STRING_LIST_RULE)
    """Reasons that the dialog for an override lists; empty for the default reasons."""
    keys: Annotated[dict[str, str], AfterValidator(_check_keys)] = Field(
        default={}, description='must have lines such as "item.pass" = "p,y", with the action id in quotes'
    )
    """Keys by action id, several separated by commas."""
    decoders: Annotated[dict[str, str], AfterValidator(_check_decoders)] = Field(
        default={}, description='must have lines such as "my-model-*" = "HERMES"'
    )
    """Decoders by folder name of a BFCL model; `*` in a folder name matches any text."""

    @property
    def file(self) -> Path:
        """Path of the configuration file, which may not exist."""
        return config_file()

    @property
    def dataset_folders(self) -> list[Path]:
        """Dataset folders, with `~` and relative paths resolved."""
        return [self.file.parent / os.path.expanduser(each) for each in self.data]  # noqa: PTH111 - `~x` may name no user


def config_file() -> Path:
    """Return the path of the configuration file, which may not exist."""
    named = os.environ.get("FCREVIEW_CONFIG")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path("~/.config").expanduser()) / "fcreview" / "config.toml"


def theme_file() -> Path:
    """Return the path of the file with the theme that the user chose in the app."""
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path("~/.local/state").expanduser()) / "fcreview" / "theme"


def load_theme(config: Config) -> str | None:
    """Return the theme that the user chose in the app, else the theme of the configuration, else None."""
    from fcreview.tui.themes import find_theme

    chosen = None
    with suppress(OSError, ValueError):
        chosen = find_theme(theme_file().read_text("utf-8")[:100])
    return chosen or config.theme or config.colours


def save_theme(name: str) -> None:
    """Save the theme that the user chose. Does nothing if it cannot be written."""
    file = theme_file()
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name + "\n", "utf-8")


def is_first_start() -> bool:
    """Return whether this user starts the app for the first time, and record the start in a file.

    Returns False if the file cannot be written, so that the welcome line does not appear at every start.
    """
    mark = theme_file().with_name("welcome")
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch(exist_ok=False)
        return True
    return False


def load_config() -> Config:
    """Load the configuration file, or the defaults if it does not exist.

    Raises: CommandError that names the setting for an invalid file.
    """
    file = config_file()
    try:
        settings = tomllib.loads(_read_text(file))
    except (FileNotFoundError, NotADirectoryError):
        return Config()
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise CommandError(f"{file}: {sanitize(str(error))[:300]}") from error
    except RecursionError:
        raise CommandError(f"{file}: nested too deeply") from None
    try:
        return Config.model_validate(settings)
    except ValidationError as error:
        raise CommandError(f"{file}: {_describe_error(error.errors()[0])}") from error


def _read_text(file: Path) -> str:
    """Read the file, with limits, because a pipe would block and a device may never end. /dev/null is an empty file."""
    if file.is_fifo():
        raise CommandError(f"{file}: not a regular file")
    with file.open("rb") as stream:
        content = stream.read(MAX_CONFIG_BYTES + 1)
    if len(content) > MAX_CONFIG_BYTES:
        raise CommandError(f"{file}: larger than {MAX_CONFIG_BYTES:,} bytes")
    return content.decode()


def _describe_error(error: ErrorDetails) -> str:
    setting = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        return f"unknown setting {setting!r}: choose {', '.join(Config.model_fields)}"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    table = f"[{setting}]" if setting in ("keys", "decoders") else setting
    return f"{table} {Config.model_fields[setting].description}"
