"""Find out which model and which language a folder with result files belongs to, by the names of
its folders.

Each folder with result files is a run of its own. The official runner writes
`result_all/result_en/MODEL`, where MODEL can be `org/name`. People add folders for settings and
repeats (`MODEL/greedy/run1`), leave out the language (`runs/MODEL`), or begin with the model
(`MODEL/result_en`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

MAX_LEVELS = 6
"""Number of folder names, from the folder with the files upwards, that can tell the model and
the language.
"""
MAX_NEIGHBOURS = 1_000

LANGUAGES = {"en": "en", "eng": "en", "english": "en", "zh": "zh", "cn": "zh", "chinese": "zh"}
"""Name of a language in a folder name -> language of the dataset."""
_LANGUAGE_NAMES = "|".join(LANGUAGES)
_LANGUAGE_SUFFIX = re.compile(rf"(?P<stem>.+)[-_.](?P<language>{_LANGUAGE_NAMES})", re.IGNORECASE)
_LANGUAGE_PREFIX = re.compile(rf"(?P<language>{_LANGUAGE_NAMES})[-_.](?P<stem>.+)", re.IGNORECASE)
_OUTPUT_WORDS = (
    r"results?|outputs?|scores?|runs|predictions?|preds?|evals?|evaluations?|experiments?|exps?|responses?|"
    r"generations?|inferences?|logs?|acebench|ace_bench"
)
_OUTPUT_FOLDER = re.compile(rf"(?:.*[-_. ])?(?:{_OUTPUT_WORDS})(?:[-_. ].*)?", re.IGNORECASE)
"""Folder that holds the results of several models: `result_all`, `acebench_perturbed_result`,
`runs`.
"""
_PLAIN_OUTPUT_FOLDER = re.compile(
    rf"(?:{_OUTPUT_WORDS}|all|[-_. ]|(?<![a-z])(?:{_LANGUAGE_NAMES}))+", re.IGNORECASE
)
"""Folder whose name says only that it holds results: `result_all`, `eval_results`."""

_REPEAT_FOLDER = re.compile(
    r"(?:runs?|trials?|attempts?|rep|repeats?|repetition|seeds?|rounds?|iter|iterations?|try|sample|epoch|exp|no|n)?"
    r"[-_. #=]*\d{1,6}(?:[-_.]\d{1,3})*",
    re.IGNORECASE,
)
"""Folder of a repeat: `run1`, `trial_2`, `seed=42`, `3`."""
_DATE_FOLDER = re.compile(
    r"(?:(?:runs?|evals?|results?|exps?|logs?)[-_."
    r" ])?(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?:[T_\-. ][\dTZ:_\-. ]*)?",
    re.IGNORECASE,
)
_SAMPLING_FOLDER = re.compile(r"(?:temp|temperature|t|top_?p)[-_.=]?\d(?:[._]\d+)?", re.IGNORECASE)

_MODEL_FAMILIES = (
    "gpt|chatgpt|claude|gemini|gemma|llama|qwen|qwq|mistral|mixtral|ministral|magistral|codestral|devstral|deepseek|"
    "glm|chatglm|phi|command|grok|kimi|hermes|nemotron|granite|hammer|xlam|toolace|watt|falcon|internlm|minicpm|"
    "baichuan|ernie|hunyuan|doubao|nova|palmyra|dbrx|jamba|olmo|smollm|exaone|solar|functionary|gorilla|minimax|longcat"
)
_VARIANTS = (
    "chat|instruct|reasoner|coder|large|medium|small|mini|nano|pro|flash|turbo|plus|max|sonnet"
    "|haiku|opus|base"
)
_SIZED_MODEL = re.compile(r"(?:.*[-_. ])?\d+(?:x\d+)?(?:\.\d+)?[bm](?:[-_. ].*)?", re.IGNORECASE)
"""Model whose name has a number of parameters: `LoopTool-8B`, `a-0.5b-instruct`."""
_FAMILY_MODEL = re.compile(
    r"(?:.*[-_. ])?"
    rf"(?:(?:{_MODEL_FAMILIES})(?:.*\d.*|.*(?:{_VARIANTS}).*)"
    r"|o[134](?:-(?:mini|pro|high|low).*)?)",
    re.IGNORECASE,
)
"""Model whose name has a family with a version or a variant: `gpt-4o`, `deepseek-chat`,
`o3-high`.
"""
PROVIDERS = frozenset(
    {
        "01-ai",
        "ai21labs",
        "alibaba",
        "allenai",
        "amazon",
        "anthropic",
        "azure",
        "baidu",
        "bedrock",
        "bytedance",
        "cohere",
        "cohereforai",
        "coherelabs",
        "databricks",
        "deepinfra",
        "deepseek",
        "deepseek-ai",
        "fireworks",
        "fireworks-ai",
        "google",
        "groq",
        "huggingface",
        "huggingfaceh4",
        "ibm-granite",
        "inclusionai",
        "internlm",
        "lgai-exaone",
        "madeagents",
        "meta",
        "meta-llama",
        "microsoft",
        "minimaxai",
        "mistral",
        "mistralai",
        "moonshotai",
        "nousresearch",
        "novita",
        "nvidia",
        "openai",
        "openbmb",
        "openrouter",
        "qwen",
        "salesforce",
        "siliconflow",
        "team-ace",
        "teknium",
        "tencent",
        "thudm",
        "tiiuae",
        "together",
        "together_ai",
        "togetherai",
        "unsloth",
        "watt-ai",
        "x-ai",
        "xai",
        "zai-org",
    }
)
"""Organizations and hosts whose name precedes that of a model: `openai/gpt-4o`."""


@dataclass(frozen=True, slots=True)
class LanguageHint:
    """Language in the name of a folder."""

    language: str = ""
    is_certain: bool = False
    """Whether the folder is one of a language, such as `result_en`.

    A model called `chat_zh` is only a hint.
    """


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """Where a folder with result files stands, and whose results it contains."""

    model: str
    settings: list[str] = field(default_factory=list)
    """Folders that distinguish the run from others of the model, such as a setting and a repeat,
    most telling first.
    """
    root: Path | None = None
    """Folder that holds the results of several models, such as `result_en`; None if there is
    none.
    """


def find_folder_language(folder: Path) -> LanguageHint:
    """Return the language in the name of a folder or of the folders above it.

    The nearest folder counts.
    """
    folders = _list_folders_upwards(folder)
    for candidate in folders:
        language = read_language_folder(candidate.name)
        if language:
            return LanguageHint(language, is_certain=True)

    # The suffix of a model's own folder is the weakest hint.
    for candidate in [*folders[1:], folder]:
        match = _LANGUAGE_SUFFIX.fullmatch(candidate.name)
        if match:
            return LanguageHint(LANGUAGES[match["language"].lower()])
    return LanguageHint()


def read_language_folder(name: str) -> str:
    """Return the language of a folder such as `en`, `result_zh` or `perturbed_results_en`; empty
    for other folders.
    """
    if name.lower() in LANGUAGES:
        return LANGUAGES[name.lower()]
    for pattern in (_LANGUAGE_SUFFIX, _LANGUAGE_PREFIX):
        match = pattern.fullmatch(name)
        if match and (is_output_folder(match["stem"]) or match["stem"].lower() == "data"):
            return LANGUAGES[match["language"].lower()]
    return ""


def is_output_folder(name: str) -> bool:
    """Whether a folder, by its name, holds the results of several models."""
    if is_repeat_folder(name) or looks_like_model(name):
        return False
    return _OUTPUT_FOLDER.fullmatch(name) is not None


def is_repeat_folder(name: str) -> bool:
    """Whether a folder, by its name, is one of several runs of a model: a repeat, a date, a
    sampling parameter.
    """
    patterns = (_REPEAT_FOLDER, _DATE_FOLDER, _SAMPLING_FOLDER)
    return any(pattern.fullmatch(name) for pattern in patterns)


def looks_like_model(name: str) -> bool:
    return _SIZED_MODEL.fullmatch(name) is not None or _FAMILY_MODEL.fullmatch(name) is not None


def find_model_folder(folder: Path) -> ModelFolder:
    """Find out which model the results in a folder are of, by the names of the folders.

    The root is the folder above with the results of several models, such as `result_en`. Below it,
    one name is the model; the other names are settings, such as a temperature or a repeat.

    The model is a part of the run's identity. Therefore only names decide, and not which files the
    user opened.
    """
    root = _find_root(folder)
    if root is None:
        return _find_model_without_root(folder)

    # Usually the model is below the root: `result_en/Llama-3-8B/run1`.
    names = list(folder.relative_to(root).parts)
    model_span = _locate_model(names, root)
    if model_span is not None:
        names_above = names[: model_span.start]
        model_names = names[model_span.start : model_span.stop]
        names_below = names[model_span.stop :]
        # The names below the model tell more about the run than those above it.
        settings = names_below + names_above
        return ModelFolder("/".join(model_names), settings=settings, root=root)

    # All names below the root look like repeats: `output/result_en/run1`. The folder above the root
    # is one of outputs too, so the first repeat must stand for the model.
    if names and is_output_folder(root.parent.name):
        return ModelFolder(names[0], settings=names[1:], root=root)
    # The root has a name of its own, such as `output_v2`, which is the only hint at the model.
    if not _has_standard_root_name(root):
        return ModelFolder(root.name, settings=names, root=root)
    # The model is above the root: `Llama-3-8B/result_en/run1`.
    return ModelFolder(_find_model_above(root), settings=names, root=root)


def _has_standard_root_name(root: Path) -> bool:
    """Whether a root folder has a name that says nothing about its model, such as `result_en` or
    `output`.
    """
    is_language_folder = read_language_folder(root.name) != ""
    return is_language_folder or _PLAIN_OUTPUT_FOLDER.fullmatch(root.name) is not None


def _list_folders_upwards(folder: Path) -> list[Path]:
    """Return a folder and the nearest folders above it, without the root of the file system."""
    nearest = [folder, *folder.parents][:MAX_LEVELS]
    return [candidate for candidate in nearest if candidate.name]


def _find_root(folder: Path) -> Path | None:
    """Find the folder that holds the results of several models: a language folder, else another
    folder of outputs.
    """
    folders = _list_folders_upwards(folder)
    for candidate in folders:
        if read_language_folder(candidate.name):
            return candidate
    for candidate in folders:
        if not is_output_folder(candidate.name):
            continue
        # The folder of the files may be a model's own, such as `output_v2`, unless its name is
        # plainly that of a root.
        if candidate != folder or _PLAIN_OUTPUT_FOLDER.fullmatch(candidate.name):
            return candidate
    return None


def _locate_model(names: Sequence[str], root: Path) -> range | None:
    """Find the folders that name the model, in the path from a root folder to a result.

    A model can have several names, such as `meta-llama/Llama-3-8B`. Returns the range of their
    indexes, or None if no folder can name a model.

    Args:
        names: The names of the folders, the one directly below the root first.
        root: The root folder.
    """
    for index, name in enumerate(names):
        if looks_like_model(name) and not is_repeat_folder(name):
            start = _find_first_name_of_model(names, index, root)
            return range(start, index + 1)
    return _locate_unknown_model(names)


def _find_first_name_of_model(names: Sequence[str], last: int, root: Path) -> int:
    """Return the index of the first name of a model, if `names[last]` is its last name.

    The names of its organization can stand above it.
    """
    start = last
    while start > 0:
        folder_above = root.joinpath(*names[:start])
        if not _is_model_prefix(folder_above, names[start], root):
            break
        start -= 1
    return start


def _locate_unknown_model(names: Sequence[str]) -> range | None:
    """Find the first folder that can name a model although its name does not look like one.

    A repeat such as `run1` cannot, and neither can a folder of outputs, unless it is the last one.
    """
    last_index = len(names) - 1
    for index, name in enumerate(names):
        is_last = index == last_index
        is_outputs = is_output_folder(name) and not is_last
        if is_repeat_folder(name) or is_outputs:
            continue

        # The name of a provider, such as `openai`, belongs to the model below it.
        is_provider = name.lower() in PROVIDERS
        if is_provider and not is_last and not is_repeat_folder(names[index + 1]):
            return range(index, index + 2)
        return range(index, index + 1)
    return None


def _is_model_prefix(prefix: Path, model: str, root: Path) -> bool:
    """Whether a folder above that of a model is a part of the model's name, as in `org/name`.

    A folder named like a known provider is. Another folder is a setting instead, if the same model
    also has results in a folder beside it.
    """
    if prefix.name.lower() in PROVIDERS:
        return True
    if not read_language_folder(root.name) or is_repeat_folder(prefix.name):
        return False
    return not _has_neighbour_with(prefix, model)


def _has_neighbour_with(folder: Path, name: str) -> bool:
    """Whether a folder beside `folder` contains a folder of this name."""
    try:
        neighbours = list(islice(folder.parent.iterdir(), MAX_NEIGHBOURS))
    except OSError:
        return False
    return any(neighbour != folder and (neighbour / name).is_dir() for neighbour in neighbours)


def _find_model_above(root: Path) -> str:
    """Return the nearest folder above a root that can be a model, as in
    `MODEL/result_all/result_en`.
    """
    for folder in _list_folders_upwards(root.parent):
        is_known_kind = read_language_folder(folder.name) or is_output_folder(folder.name)
        if not is_known_kind and not is_repeat_folder(folder.name):
            return folder.name
    return root.name


def _find_model_without_root(folder: Path) -> ModelFolder:
    """Find out the model of results if no folder above them is known to hold several models.

    The model is the nearest folder that looks like a model, else the nearest one that can be one.
    """
    folders = _list_folders_upwards(folder)
    for index, candidate in enumerate(folders):
        if looks_like_model(candidate.name) and not is_repeat_folder(candidate.name):
            settings = _list_names_below(folders, index)
            return ModelFolder(_name_with_provider(folders, index), settings=settings)

    index = _find_nearest_without_repeats(folders)
    # A name that also exists in a neighbouring folder is a setting of both models, as in
    # `model-a/greedy` and `model-b/greedy`.
    if index == 0 and len(folders) > 1 and _has_neighbour_with(folder.parent, folder.name):
        index = 1
    return ModelFolder(folders[index].name, settings=_list_names_below(folders, index))


def _find_nearest_without_repeats(folders: Sequence[Path]) -> int:
    """Return the index of the first folder that is no repeat of a run, such as `run1`.

    If all of them are, it is the last one.
    """
    for index, candidate in enumerate(folders):
        if not is_repeat_folder(candidate.name):
            return index
    return len(folders) - 1


def _name_with_provider(folders: Sequence[Path], index: int) -> str:
    """Return the name of a folder, after that of the folder above it if it is a provider."""
    name = folders[index].name
    if index + 1 < len(folders) and folders[index + 1].name.lower() in PROVIDERS:
        return f"{folders[index + 1].name}/{name}"
    return name


def _list_names_below(folders: Sequence[Path], index: int) -> list[str]:
    """Return the names of the folders below one of `folders`, which go upwards.

    The topmost name comes first.
    """
    return [folder.name for folder in reversed(folders[:index])]
