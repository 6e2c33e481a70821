"""The configuration file: what FCREVIEW_CONFIG names, else `$XDG_CONFIG_HOME/fcreview/config.toml` (`~/.config/...`).

```toml
annotator = "alice"                   # whose reviews these are
data = ["~/bench/bfcl/data"]          # folders with datasets, as --data
follow = 5                            # seconds between two looks of open --follow
colours = "safe"                      # terminal (its own sixteen), dark, light, safe (for colour-blind eyes)
tags = ["ambiguous", "wrong unit"]    # offered first where tags are given, with the digits from 1
reasons = ["too strict", "misread"]   # why a verdict is overruled, at most 9
[keys]                                # other keys for actions; the screens' help shows what is in force
"item.pass" = "p,y"
[decoders]                            # what reads the replies of BFCL models, as --decoder
"my-model-*" = "HERMES"
```
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.import_options import checked
from fcreview.model.sanitize import visible

SETTINGS = ("annotator", "data", "follow", "colours", "tags", "reasons", "keys", "decoders")
LARGEST = 1_000_000
"""Bytes of the file."""
MOST = 9
"""Reasons there can be."""
FOLLOW = 5.0
OFTEN, SELDOM = 0.2, 86_400
"""Seconds between two looks at result files that are followed, and the fewest and the most that may be asked for."""


@dataclass(frozen=True, slots=True)
class Config:
    file: Path
    annotator: str | None = None
    data: list[Path] = field(default_factory=list)
    keys: Mapping[str, str] = field(default_factory=dict)
    """`{"item.pass": "p,y"}`: actions of the screens and their keys."""
    decoders: Mapping[str, str] = field(default_factory=dict)
    """`{"my-model-*": "HERMES"}`: folder names of BFCL models and what reads their replies."""
    tags: tuple[str, ...] = ()
    """Tags of one's own."""
    reasons: tuple[str, ...] = ()
    """Why verdicts are overruled; empty: as the screens have them."""
    colours: str | None = None
    """One of the screens' sets of colours."""
    follow: float = FOLLOW
    """Seconds between two looks at the files that `open --follow` takes in."""


def config_file() -> Path:
    named = os.environ.get("FCREVIEW_CONFIG")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path("~/.config").expanduser()) / "fcreview" / "config.toml"


def load_config() -> Config:
    """What the file says; defaults if there is none. CommandError names the file and what is wrong in it."""
    file = config_file()
    try:
        read = tomllib.loads(_text(file))
    except (FileNotFoundError, NotADirectoryError):
        return Config(file)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise CommandError(f"{file}: {visible(str(error))[:300]}") from error
    except RecursionError:
        raise CommandError(f"{file}: nested too deeply") from None
    return _checked(file, read)


def _text(file: Path) -> str:
    """/dev/null may stand there, for no settings; another device may never end, a pipe would wait."""
    if file.is_fifo():
        raise CommandError(f"{file}: not a file")
    with file.open("rb") as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise CommandError(f"{file}: more than {LARGEST:,} bytes are no settings")
    return content.decode()


def _checked(file: Path, read: dict[str, Any]) -> Config:
    unknown = sorted(read.keys() - set(SETTINGS))
    if unknown:
        raise CommandError(f"{file}: unknown setting {unknown[0]!r}: there are {', '.join(SETTINGS)}")
    annotator, data = read.get("annotator"), read.get("data", [])
    if not (annotator is None or isinstance(annotator, str)):
        raise CommandError(f"{file}: annotator must be a text")
    if not (isinstance(data, list) and all(isinstance(each, str) for each in data)):
        raise CommandError(f"{file}: data must be a list of folders")
    keys = _keys(file, read.get("keys", {}))
    decoders = _decoders(file, read.get("decoders", {}))
    folders = [file.parent / os.path.expanduser(each) for each in data]  # noqa: PTH111 - `~x` may be nobody
    tags, reasons = (_words(file, name, read.get(name, [])) for name in ("tags", "reasons"))
    colours, follow = _colours(file, read.get("colours")), _follow(file, read.get("follow", FOLLOW))
    return Config(file, annotator, folders, keys, decoders, tags, reasons, colours, follow)


def _words(file: Path, name: str, read: Any) -> tuple[str, ...]:
    """`tags` or `reasons`, each once."""
    if not (isinstance(read, list) and all(isinstance(each, str) and each.strip() for each in read)):
        raise CommandError(f'{file}: {name} must be a list of texts such as ["ambiguous"]')
    words = tuple(dict.fromkeys(" ".join(each.split()) for each in read))
    if name == "reasons" and len(words) > MOST:
        raise CommandError(f"{file}: there can be at most {MOST} reasons: each has a digit")
    return words


def _follow(file: Path, read: Any) -> float:
    if isinstance(read, bool) or not isinstance(read, int | float) or not OFTEN <= read <= SELDOM:
        raise CommandError(f"{file}: follow must be a number of seconds from {OFTEN} to {SELDOM:,}")
    return float(read)


def _colours(file: Path, read: Any) -> str | None:
    if read is None:
        return None
    from fcreview.tui.text.theme import COLOURS

    if not isinstance(read, str) or read not in COLOURS:
        raise CommandError(f"{file}: colours must be one of {', '.join(COLOURS)}")
    return read


def _decoders(file: Path, read: Any) -> dict[str, str]:
    if not (isinstance(read, dict) and all(isinstance(each, str) for each in read.values())):
        raise CommandError(f'{file}: [decoders] must have lines such as "my-model-*" = "HERMES"')
    try:
        return {model: checked(name) or "" for model, name in read.items()}
    except UsageError as error:
        raise CommandError(f"{file}: {error}") from error


def _keys(file: Path, read: Any) -> dict[str, str]:
    if not (isinstance(read, dict) and all(isinstance(each, str) for each in read.values())):
        raise CommandError(f'{file}: [keys] must have lines such as "item.pass" = "p,y", names in quotation marks')
    if not read:
        return {}
    from fcreview.tui.keymap import KeymapError, keymap

    try:
        return keymap(read)
    except KeymapError as error:
        raise CommandError(f"{file}: {error}") from error
