"""Every setting, its type, its limits and its default. docs/CONFIGURATION.md says what each is for.

A default here is what a home without a config.yaml gets, so nothing has to be set to begin.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

YEAR_S = 366 * 24 * 3600

Seconds = Annotated[float, Meta(ge=0, le=YEAR_S, description="a number of seconds, 0 or more")]
Wait = Annotated[float, Meta(gt=0, le=YEAR_S, description="a number of seconds above 0")]
Count = Annotated[int, Meta(ge=1, le=10**12, description="a whole number, 1 or more")]
Number = Annotated[int, Meta(ge=0, le=10**12, description="a whole number, 0 or more")]
Money = Annotated[float, Meta(gt=0, le=10**9, description="an amount in US dollars, above 0")]
Share = Annotated[float, Meta(gt=0, lt=1, description="a share between 0 and 1")]
Url = Annotated[str, Meta(pattern="^(https?://.+)?$", description="a URL: http://… or https://…")]
StoreUrl = Annotated[
    str, Meta(pattern="^(sqlite|postgres(ql)?://.+)$", description="sqlite or postgresql://…")
]
HostName = Annotated[
    str,
    Meta(
        pattern=r"^(\*\.)?([A-Za-z0-9_]([A-Za-z0-9_-]{0,62})\.)*[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(:[0-9]{1,5})?$",
        description="a host: packages.example, *.files.example or example.com:8443",
    ),
]


class Section(Struct, frozen=True, kw_only=True):
    """A mapping of the file. Its keys are the fields, no others."""


class Timeouts(Section, frozen=True, kw_only=True):
    connect_s: Wait = 10.0
    first_token_s: Wait = 300.0
    silence_s: Wait = 120.0


class Fallback(Section, frozen=True, kw_only=True):
    """One model: who serves it, where, and how it is asked."""

    provider: str = ""
    name: str = ""
    base_url: Url = ""
    api_key: str = ""
    context_length: Count | None = None
    timeouts: Timeouts = Timeouts()
    headers: Mapping[str, str] = {}
    extra_body: Mapping[str, object] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.provider}:{self.name})"


class Model(Fallback, frozen=True, kw_only=True):
    """The model that is asked first, and those that are asked when it cannot be."""

    fallbacks: tuple[Fallback, ...] = ()

    def __repr__(self) -> str:
        return f"Model({self.provider}:{self.name})"


class Resume(Section, frozen=True, kw_only=True):
    auto: bool = True
    freshness_s: Seconds = 3600.0
    attempts_max: Annotated[int, Meta(ge=1, le=100, description="a whole number, 1 to 100")] = 3


class GatewaySection(Section, frozen=True, kw_only=True):
    drain_timeout_s: Seconds = 60.0
    busy: Literal["queue", "interrupt", "steer"] = "queue"
    resume: Resume = Resume()


class SessionsSection(Section, frozen=True, kw_only=True):
    on_stop: Literal["keep", "reset"] = "keep"
    groups: Literal["person", "shared"] = "person"
    threads: Literal["person", "shared"] = "shared"


class ApprovalsSection(Section, frozen=True, kw_only=True):
    """What becomes of a call that the policy would ask about, and how long a question waits."""

    mode: Literal["ask", "allow", "deny"] = "ask"
    answer_s: Wait = 24 * 3600.0


class PeopleSection(Section, frozen=True, kw_only=True):
    """What becomes of somebody who is not known: an invite lets them in, or the owner is asked."""

    strangers: Literal["invite", "request"] = "invite"
    messages_per_minute: Number = 30  # of one person who is not the owner; 0: any number


class TerminalSection(Section, frozen=True, kw_only=True):
    """Without a workdir, each face of the program takes the one that fits it."""

    backend: Literal["local"] = "local"
    workdir: str | None = None
    sandbox: Literal["auto", "none"] = "auto"
    allow_hosts: tuple[HostName, ...] = ()
    timeout_s: Wait = 180.0


class DisplaySection(Section, frozen=True, kw_only=True):
    """How the window in a terminal looks. Plain: lines that come once, for a screen reader."""

    skin: Literal["auto", "dark", "light", "contrast", "mono"] = "auto"
    plain: bool = False


class NetworkSection(Section, frozen=True, kw_only=True):
    """Places beside the public internet that URLs from outside may lead to."""

    allow: tuple[str, ...] = ()


class StoreSection(Section, frozen=True, kw_only=True):
    url: StoreUrl = "sqlite"

    def __repr__(self) -> str:
        return f"StoreSection({self.url.partition(':')[0]})"


class AgentSection(Section, frozen=True, kw_only=True):
    """`small_model` is the model for small things, as PROVIDER:MODEL; "" means the main one."""

    steps_max: Count = 90
    tokens_max: Count = 4_000_000
    small_model: str = ""
    personality: str = ""
    personalities: Mapping[str, str] = {}
    trusted_dirs: tuple[str, ...] = ()


class CompressionSection(Section, frozen=True, kw_only=True):
    """Both are shares of what the model can read at once."""

    at: Share = 0.75
    keep: Share = 0.2


class HonchoSection(Section, frozen=True, kw_only=True):
    base_url: Url = ""
    api_key: str = ""
    workspace: str = "hermes"

    def __repr__(self) -> str:
        return f"HonchoSection({self.base_url})"


class MemorySection(Section, frozen=True, kw_only=True):
    """0 turns: the agent is never asked by itself whether something is worth keeping."""

    enabled: bool = True
    provider: Literal["files", "honcho"] = "files"
    nudge_turns: Number = 10
    memory_chars_max: Count = 4_000
    user_chars_max: Count = 2_500
    honcho: HonchoSection = HonchoSection()


class SkillsSection(Section, frozen=True, kw_only=True):
    """`agent_writes`: may the agent change skills that it wrote, or only propose that?"""

    agent_writes: Literal["propose", "apply"] = "propose"
    nudge_calls: Number = 8
    disabled: tuple[str, ...] = ()


class ToolsOn(Section, frozen=True, kw_only=True):
    """On one platform, besides what is disabled everywhere."""

    disabled: tuple[str, ...] = ()


class ToolsSection(Section, frozen=True, kw_only=True):
    """Names of toolsets (see toolsets.py) or of single tools that no model is offered."""

    disabled: tuple[str, ...] = ()
    platforms: Mapping[str, ToolsOn] = {}


class BudgetsSection(Section, frozen=True, kw_only=True):
    """What may be spent; without a number there is no limit. A day begins at midnight UTC."""

    session_tokens: Count | None = None
    person_day_tokens: Count | None = None
    day_tokens: Count | None = None
    day_cost: Money | None = None
    automation_share: Share = 0.8


class Price(Section, frozen=True, kw_only=True):
    """US dollars for a million tokens."""

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None


class Settings(Section, frozen=True, kw_only=True):
    """All of it. `platforms` stays as it was written: each channel reads its own part."""

    model: Model = Model()
    gateway: GatewaySection = GatewaySection()
    sessions: SessionsSection = SessionsSection()
    approvals: ApprovalsSection = ApprovalsSection()
    people: PeopleSection = PeopleSection()
    terminal: TerminalSection = TerminalSection()
    display: DisplaySection = DisplaySection()
    network: NetworkSection = NetworkSection()
    store: StoreSection = StoreSection()
    agent: AgentSection = AgentSection()
    compression: CompressionSection = CompressionSection()
    memory: MemorySection = MemorySection()
    skills: SkillsSection = SkillsSection()
    tools: ToolsSection = ToolsSection()
    budgets: BudgetsSection = BudgetsSection()
    prices: Mapping[str, Price] = {}
    platforms: Mapping[str, Mapping[str, object]] = {}
    secrets: Mapping[str, str] = {}  # .env under the process's environment; never printed
    notices: tuple[str, ...] = ()  # what the person should hear about reading all this

    def __repr__(self) -> str:
        return f"Settings({self.model!r}, {self.store!r})"


NOT_SET = frozenset({"secrets", "notices"})  # fields of Settings that no file may contain
_SECRET = ("key", "token", "secret", "password")


def is_secret(path: tuple[str, ...]) -> bool:
    """Is the value at this path one that nobody may see on a screen or in a log?"""
    name = path[-1].lower() if path else ""
    return name.endswith(_SECRET) or "headers" in path[:-1]
