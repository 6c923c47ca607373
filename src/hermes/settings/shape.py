"""Define every setting: type, limits and default. docs/CONFIGURATION.md explains them.

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
CallCount = Annotated[int, Meta(ge=1, le=500, description="a whole number, 1 to 500")]
OutputBytes = Annotated[
    int, Meta(ge=1_000, le=80_000, description="a number of bytes, 1000 to 80000")
]
Money = Annotated[float, Meta(gt=0, le=10**9, description="an amount in US dollars, above 0")]
Share = Annotated[float, Meta(gt=0, lt=1, description="a share between 0 and 1")]
Duration = Annotated[
    int | str, Meta(description="a length of time: 90s, 30m, 24h, 7d or a number of seconds")
]
Url = Annotated[str, Meta(pattern="^(https?://.+)?$", description="a URL: http://… or https://…")]
ServerUrl = Annotated[
    str, Meta(pattern="^https?://.+$", description="a URL: http://127.0.0.1:11434/v1")
]
# Where Ollama, LM Studio, llama.cpp, vLLM, SGLang, Jan and KoboldCpp serve, unless told otherwise.
SERVERS = tuple(
    f"http://127.0.0.1:{port}/v1" for port in (11434, 1234, 8080, 8000, 30000, 1337, 5001)
)
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

Backend = Annotated[
    Literal["local"], Meta(description="a backend of this version, which has: local (this machine)")
]


class Section(Struct, frozen=True, kw_only=True):
    """A mapping in the file. Its keys are exactly the fields."""


class TimeoutSettings(Section, frozen=True, kw_only=True):
    connect_s: Wait = 10.0
    first_token_s: Wait = 300.0
    silence_s: Wait = 120.0


class Fallback(Section, frozen=True, kw_only=True):
    """One model: its provider, its endpoint, and its options."""

    provider: str = ""
    name: str = ""
    base_url: Url = ""
    api_key: str = ""
    context_length: Count | None = None
    profile: Literal["auto", "full", "small"] = "auto"
    timeouts: TimeoutSettings = TimeoutSettings()
    headers: Mapping[str, str] = {}
    extra_body: Mapping[str, object] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.provider}:{self.name})"


class ModelSettings(Fallback, frozen=True, kw_only=True):
    """The main model, and the fallbacks for when it fails."""

    fallbacks: tuple[Fallback, ...] = ()
    weights: str = ""  # the folder for the weights of built-in models; "": in the user's cache
    servers: tuple[ServerUrl, ...] = SERVERS  # where to look for model servers of this computer

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
    """What happens to a call that needs approval, and how long a question stays open."""

    mode: Literal["ask", "allow", "deny"] = "ask"
    answer_s: Wait = 24 * 3600.0


class ClarifySection(Section, frozen=True, kw_only=True):
    """How long a question of the agent waits for its answer, in seconds."""

    wait: Wait = 24 * 3600.0


class CodeSection(Section, frozen=True, kw_only=True):
    """Scripts that the agent writes and that call its tools. Without `python`, the workspace's own
    or the first one that commands find is used."""

    enabled: bool = True
    timeout_s: Wait = 300.0
    calls_max: CallCount = 50
    output_bytes: OutputBytes = 50_000
    python: str = ""


class PeopleSection(Section, frozen=True, kw_only=True):
    """What happens to an unknown sender: they need an invite, or the owner is asked."""

    strangers: Literal["invite", "request"] = "invite"
    messages_per_minute: Number = 30  # messages of one person other than the owner; 0: unlimited


class TerminalSection(Section, frozen=True, kw_only=True):
    """Where and how commands run. Without a workdir, each front end uses its own default."""

    backend: Backend = "local"
    workdir: str | None = None
    sandbox: Literal["auto", "none"] = "auto"
    allow_hosts: tuple[HostName, ...] = ()
    timeout_s: Wait = 180.0


class DisplaySection(Section, frozen=True, kw_only=True):
    """The look of the terminal window. Plain: lines are printed once, for screen readers."""

    skin: Literal["auto", "dark", "light", "contrast", "mono"] = "auto"
    plain: bool = False


class NetworkSection(Section, frozen=True, kw_only=True):
    """Networks besides the public internet that outbound URLs may reach."""

    allow: tuple[str, ...] = ()


class StoreSection(Section, frozen=True, kw_only=True):
    url: StoreUrl = "sqlite"

    def __repr__(self) -> str:
        return f"StoreSection({self.url.partition(':')[0]})"


class AgentSection(Section, frozen=True, kw_only=True):
    """Limits and behaviour of the agent. `small_model` is PROVIDER:MODEL for small tasks; "" means
    the main model."""

    steps_max: Count = 90
    tokens_max: Count = 4_000_000
    small_model: str = ""
    personality: str = ""
    personalities: Mapping[str, str] = {}
    trusted_dirs: tuple[str, ...] = ()


class CompressionSection(Section, frozen=True, kw_only=True):
    """When to compress, and how much to keep: shares of the model's context window."""

    at: Share = 0.75
    keep: Share = 0.2


class HonchoSection(Section, frozen=True, kw_only=True):
    base_url: Url = ""
    api_key: str = ""
    workspace: str = "hermes"

    def __repr__(self) -> str:
        return f"HonchoSection({self.base_url})"


class MemorySection(Section, frozen=True, kw_only=True):
    """Memory and its reviews. 0 turns turns reviews off."""

    enabled: bool = True
    provider: Literal["files", "honcho"] = "files"
    nudge_turns: Number = 10
    memory_chars_max: Count = 4_000
    user_chars_max: Count = 2_500
    honcho: HonchoSection = HonchoSection()


class SkillsSection(Section, frozen=True, kw_only=True):
    """Skills. `agent_writes`: whether the agent may change skills that it wrote, or only propose
    it."""

    agent_writes: Literal["propose", "apply"] = "propose"
    nudge_calls: Number = 8
    disabled: tuple[str, ...] = ()


class ToolsOn(Section, frozen=True, kw_only=True):
    """Tools disabled on one platform, in addition to those disabled everywhere."""

    disabled: tuple[str, ...] = ()


class ToolsSection(Section, frozen=True, kw_only=True):
    """Toolsets (see toolsets.py) and tools that are hidden from every model."""

    disabled: tuple[str, ...] = ()
    platforms: Mapping[str, ToolsOn] = {}


class BudgetsSection(Section, frozen=True, kw_only=True):
    """Spending limits; a missing number means no limit. A day begins at midnight UTC."""

    session_tokens: Count | None = None
    person_day_tokens: Count | None = None
    day_tokens: Count | None = None
    day_cost: Money | None = None
    automation_share: Share = 0.8


class DelegationSection(Section, frozen=True, kw_only=True):
    """Subagents: how many work at once, how far they may go, and what they are given."""

    model: str = ""
    max_parallel: Annotated[int, Meta(ge=1, le=32, description="a whole number, 1 to 32")] = 8
    depth: Annotated[int, Meta(ge=1, le=4, description="a whole number, 1 to 4")] = 2
    turn_limit: Count = 50
    summary_chars: Annotated[
        int, Meta(ge=1_000, le=80_000, description="a whole number, 1000 to 80000")
    ] = 24_000
    toolsets: tuple[str, ...] = ("terminal", "file", "web")


class SchedulesSection(Section, frozen=True, kw_only=True):
    """Jobs that run by the clock."""

    enabled: bool = True
    max_parallel: Count = 8
    missed: Literal["once", "all", "skip"] = "once"
    late_max: Duration = "24h"
    keep_runs: Count = 200
    pause_after_failures: Number = 5  # 0: never
    min_interval_s: Wait = 60.0


class HeartbeatSection(Section, frozen=True, kw_only=True):
    """A job of Hermes' own: it reads HEARTBEAT.md now and then. 0: never."""

    every: Duration = 0
    hours: Annotated[
        str,
        Meta(
            pattern=r"^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-4]):[0-5]\d$",
            description="hours of the day: 08:00-22:00",
        ),
    ] = "08:00-22:00"


class Price(Section, frozen=True, kw_only=True):
    """US dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None


class Settings(Section, frozen=True, kw_only=True):
    """All settings. `platforms` is kept as written: each channel reads its own part."""

    model: ModelSettings = ModelSettings()
    gateway: GatewaySection = GatewaySection()
    sessions: SessionsSection = SessionsSection()
    approvals: ApprovalsSection = ApprovalsSection()
    clarify: ClarifySection = ClarifySection()
    code: CodeSection = CodeSection()
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
    timezone: str = ""  # of schedules; "": the machine's
    schedules: SchedulesSection = SchedulesSection()
    heartbeat: HeartbeatSection = HeartbeatSection()
    budgets: BudgetsSection = BudgetsSection()
    delegation: DelegationSection = DelegationSection()
    prices: Mapping[str, Price] = {}
    platforms: Mapping[str, Mapping[str, object]] = {}
    secrets: Mapping[str, str] = {}  # .env, overridden by the process's environment; never printed
    notices: tuple[str, ...] = ()  # notices for the person from reading the settings

    def __repr__(self) -> str:
        return f"Settings({self.model!r}, {self.store!r})"


NOT_SET = frozenset({"secrets", "notices"})  # fields of Settings that a file must not contain
_SECRET = ("key", "token", "secret", "password")


def is_secret(path: tuple[str, ...]) -> bool:
    """Return True if the value at this path is secret and must be kept out of screens and logs."""
    name = path[-1].lower() if path else ""
    return name.endswith(_SECRET) or "headers" in path[:-1]
