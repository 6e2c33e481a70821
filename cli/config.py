"""The configuration file: FCREVIEW_CONFIG, or `$XDG_CONFIG_HOME/fcreview/config.toml` (`~/.config/...`).

```toml
annotator = "alice"                   # annotator name
data = ["~/bench/bfcl/data"]          # dataset folders, as --data
follow = 5                            # seconds between checks for new results with open --follow
colours = "safe"                      # terminal (its 16 colours), dark, light, safe (colour-blind friendly)
tags = ["ambiguous", "wrong unit"]    # error tags that dialogs list first, with digits from 1
reasons = ["too strict", "misread"]   # reasons for an override, at most 9
[keys]                                # keys of actions; press ? in the app for the current ones
"item.pass" = "p,y"
[decoders]                            # decoders of BFCL responses, as --decoder
"my-model-*" = "HERMES"
```

The checks are written by hand, because importing pydantic would take more time than the rest of a start.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.import_options import check_decoder
from fcreview.model.sanitize import visible

SETTINGS = ("annotator", "data", "follow", "colours", "tags", "reasons", "keys", "decoders")
MAX_BYTES = 1_000_000
MAX_REASONS = 9
"""Each reason has a digit key."""
FOLLOW = 5.0
"""Default of `follow`, in seconds."""
MIN_FOLLOW, MAX_FOLLOW = 0.2, 86_400


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of the configuration file."""

    file: Path
    annotator: str | None = None
    data: list[Path] = field(default_factory=list)
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys by action id: `{"item.pass": "p,y"}`."""
    decoders: Mapping[str, str] = field(default_factory=dict)
    """Decoders by folder name of BFCL models: `{"my-model-*": "HERMES"}`."""
    tags: tuple[str, ...] = ()
    """Error tags that dialogs list first."""
    reasons: tuple[str, ...] = ()
    """Reasons for an override; empty for the defaults."""
    colours: str | None = None
    """Name of the colour theme."""
    follow: float = FOLLOW
    """Seconds between two checks for new results with `open --follow`."""


def config_file() -> Path:
    """Path of the configuration file, which need not exist."""
    named = os.environ.get("FCREVIEW_CONFIG")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path("~/.config").expanduser()) / "fcreview" / "config.toml"


def load_config() -> Config:
    """Read the configuration file, if there is one. The CommandError for an invalid file names the setting."""
    file = config_file()
    try:
        settings = tomllib.loads(_read(file))
    except (FileNotFoundError, NotADirectoryError):
        return Config(file)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise CommandError(f"{file}: {visible(str(error))[:300]}") from error
    except RecursionError:
        raise CommandError(f"{file}: nested too deeply") from None
    return _check(file, settings)


def _read(file: Path) -> str:
    """Text of the file. /dev/null works as an empty file; a pipe would block and another device may never end."""
    if file.is_fifo():
        raise CommandError(f"{file}: not a regular file")
    with file.open("rb") as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise CommandError(f"{file}: larger than {MAX_BYTES:,} bytes")
    return content.decode()


def _check(file: Path, settings: dict[str, Any]) -> Config:
    unknown = sorted(settings.keys() - set(SETTINGS))
    if unknown:
        raise CommandError(f"{file}: unknown setting {unknown[0]!r}: choose {', '.join(SETTINGS)}")
    annotator, data = settings.get("annotator"), settings.get("data", [])
    if not (annotator is None or isinstance(annotator, str)):
        raise CommandError(f"{file}: annotator must be a string")
    if not (isinstance(data, list) and all(isinstance(each, str) for each in data)):
        raise CommandError(f"{file}: data must be a list of folder names")
    keys = _keys(file, settings.get("keys", {}))
    decoders = _decoders(file, settings.get("decoders", {}))
    folders = [file.parent / os.path.expanduser(each) for each in data]  # noqa: PTH111 - `~x` may name no user
    tags, reasons = (_texts(file, name, settings.get(name, [])) for name in ("tags", "reasons"))
    colours, follow = _colours(file, settings.get("colours")), _follow(file, settings.get("follow", FOLLOW))
    return Config(file, annotator, folders, keys, decoders, tags, reasons, colours, follow)


def _texts(file: Path, name: str, value: Any) -> tuple[str, ...]:
    """Value of `tags` or `reasons`, without duplicates."""
    if not (isinstance(value, list) and all(isinstance(each, str) and each.strip() for each in value)):
        raise CommandError(f'{file}: {name} must be a list of strings such as ["ambiguous"]')
    texts = tuple(dict.fromkeys(" ".join(each.split()) for each in value))
    if name == "reasons" and len(texts) > MAX_REASONS:
        raise CommandError(f"{file}: reasons must have at most {MAX_REASONS} entries, because each has a digit key")
    return texts


def _follow(file: Path, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not MIN_FOLLOW <= value <= MAX_FOLLOW:
        raise CommandError(f"{file}: follow must be a number of seconds from {MIN_FOLLOW} to {MAX_FOLLOW:,}")
    return float(value)


def _colours(file: Path, value: Any) -> str | None:
    if value is None:
        return None
    from fcreview.tui.text.theme import COLOURS

    if not isinstance(value, str) or value not in COLOURS:
        raise CommandError(f"{file}: colours must be one of {', '.join(COLOURS)}")
    return value


def _decoders(file: Path, value: Any) -> dict[str, str]:
    if not (isinstance(value, dict) and all(isinstance(each, str) for each in value.values())):
        raise CommandError(f'{file}: [decoders] must have lines such as "my-model-*" = "HERMES"')
    try:
        return {model: check_decoder(name) or "" for model, name in value.items()}
    except UsageError as error:
        raise CommandError(f"{file}: {error}") from error


def _keys(file: Path, value: Any) -> dict[str, str]:
    if not (isinstance(value, dict) and all(isinstance(each, str) for each in value.values())):
        raise CommandError(f'{file}: [keys] must have lines such as "item.pass" = "p,y", with the action id in quotes')
    if not value:
        return {}
    from fcreview.tui.keymap import KeymapError, keymap

    try:
        return keymap(value)
    except KeymapError as error:
        raise CommandError(f"{file}: {error}") from error
