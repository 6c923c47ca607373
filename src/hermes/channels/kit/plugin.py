"""One platform as one value: how it is set up, checked, made, backed up and documented.

A platform's `plugin.py` imports nothing heavy at its top, because commands that never use the
platform read it, too.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from hermes.core.channel import Channel, Receiver, Screen
from hermes.core.messages import Address
from hermes.core.people import Role, Sender
from hermes.settings import Settings

if TYPE_CHECKING:
    from hermes.views.jobs import JobActs

Raw = Mapping[str, object]
RoleOf = Callable[[Sender], Role]
TakeJobs = Callable[[Callable[[], "JobActs"]], None]
Held = Callable[[str, int], bool]  # does the gateway that is to be replaced have this address?


class SetupOffer(Struct, frozen=True, kw_only=True):
    """How a person turns the platform on: a yes-or-no question, and `--NAME on|off`."""

    ask: str
    help: str  # of the option
    default: bool = False  # where nothing is set; a platform that is on stays on


class SetupQuestion(Struct, frozen=True, kw_only=True):
    """One answer that the platform needs. `key` is a key of its section or, for a secret, its name
    in .env; `where` says how a person gets the answer."""

    key: str
    ask: str
    where: str
    kind: Literal["text", "port", "ids"] = "text"
    secret: bool = False
    needed: bool = True
    stand_in: str = ""  # a secret of the right form, to check a section before its secret is set
    noun: str = ""  # what the answer is called: token
    in_section: str = ""  # the key of the section under which a secret may stand as well
    form: str = ""  # a regular expression for the whole answer
    malformed: str = ""  # what is said of another one, after "it"
    fix: str = ""  # what is advised for a wrong one
    checked: bool = False  # is the platform asked about it at once?
    made: str = ""  # said when we made the secret up; such a one is never asked for
    default: str = ""
    option: str = ""  # of the command line: --NAME-OPTION, and --NAME-OPTION-stdin for a secret
    help: str = ""  # of the option
    missing: str = ""  # said when it is needed and there is no one to ask
    left_out: str = ""  # said when it is not needed and was not given
    example: str = ""  # of a value for `hermes config set`; for a secret, what to give


class SetupCheck(Struct, frozen=True, kw_only=True):
    """The platform's response to one call. `ok` is None when it could not be asked."""

    ok: bool | None
    said: str
    name: str = ""  # who the agent is there
    fix: str = ""  # the one command that mends or tells more
    link: str = ""  # where people find the agent there: an invite link, also shown as a QR code


class ChannelParts(Struct, frozen=True, kw_only=True):
    """A channel that was made from its settings."""

    channel: Channel
    receiver: Receiver
    screen: Screen | None = None
    role: RoleOf | None = None  # by settings; None: only the owner comes here
    close: Callable[[], Awaitable[None]] | None = None
    listens: tuple[tuple[str, str, int], ...] = ()  # section, host, port
    preflight: Callable[[Held], Awaitable[None]] | None = None
    take_jobs: "TakeJobs | None" = None  # for a channel that shows scheduled jobs to programs


class ChannelPlugin(Protocol):
    """One platform. Its folder has one `PLUGIN`, and app/platforms.py has its name."""

    @property
    def name(self) -> str:
        """The name of its section and its folder."""

    @property
    def title(self) -> str:
        """The name that people read."""

    @property
    def docs(self) -> str:
        """Its page below docs/."""

    @property
    def extra(self) -> str:
        """The optional package set that it needs; empty: none."""

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that this set installs, by import name."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its section."""

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders below the home that a backup must include."""

    @property
    def offer(self) -> SetupOffer | None:
        """The first question of a set-up; None: the platform is set up by hand."""

    @property
    def questions(self) -> tuple[SetupQuestion, ...]:
        """The questions of a set-up, in their order."""

    @property
    def test_message(self) -> str:
        """The text that is sent when the set-up is done; empty: nothing can be sent."""

    def owner_chat(self, raw: Raw) -> Address | None:
        """The owner's chat, which gets the test message; None: none is known."""

    def read(self, raw: Raw, secrets: Mapping[str, str]) -> object:
        """Read the section. Raise Misconfigured for the first problem."""

    def make(self, home: Path, settings: Settings, raw: Raw) -> ChannelParts:
        """Build the channel and open nothing. Raise Misconfigured, or ModuleNotFoundError when its
        packages are not installed."""

    def role(self, raw: Raw, secrets: Mapping[str, str]) -> RoleOf | None:
        """Return how its settings decide a sender's role, also where it is not connected; None:
        they do not."""

    async def check(self, raw: Raw, secrets: Mapping[str, str]) -> SetupCheck:
        """Ask the platform, in one call, whether this section works: for set-up and doctor. Raise
        Misconfigured when the section is incomplete."""
