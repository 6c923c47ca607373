"""Every error we raise on purpose.

HermesError
├── Misconfigured         a setting is wrong; names the key and the fix (exit status 78)
├── Rejected              the input is refused; tell the sender, change nothing
│   ├── JobChanged        another change of the job came first; look at it, and decide again
│   └── BadSchedule       the words for when a job runs are not a schedule; names the fix
│       └── UnreadableSchedule    in no form that we know; a model may make sense of it
├── Refused               an event does not fit the session it was meant for; nothing was written
├── ToolFailed            the tool ran and says no; the model sees the text
│   └── RecordMissing     what is known of a command is gone: its outcome is unknown
├── Fenced                another process owns the session now; drop it and write nothing more
├── Outdated              who may do what has changed since this was decided; decide again
├── StoreFailed           the store cannot be trusted with a write
│   ├── StoreReadOnly     the disk or the file refuses writes
│   ├── StoreFull         no space left
│   ├── StoreBusy         another program holds the file; worth another try
│   ├── StoreCorrupt      the file is damaged; what can be read stays readable
│   │   └── RowUnreadable     one row is no value of ours; the others are sound
│   ├── StoreClosed       this process is leaving: nothing new is begun
│   └── StoreTooNew       a newer version wrote it
├── ProviderFailed        the model cannot be asked
│   ├── ProviderRefused   the request is wrong and stays wrong (400, 404, 422)
│   │   └── ContextOverflow   the conversation is longer than the model reads
│   ├── ProviderDenied    the key is missing, wrong or out of credit (401, 402, 403)
│   └── ProviderTransient worth another try; may say when
│       ├── ProviderBusy      rate limit or overload (408, 409, 429, 5xx)
│       ├── ProviderSilent    no connection, no first token, or silence in mid-stream
│       └── ProviderGarbled   an answer that is none: cut, empty or not the protocol
├── ServiceDown           a background service broke; it is started again
└── ChannelFailed         a platform did not take a message
    ├── ChannelDown       worth another try after `delay_s`
    │   ├── ChannelBusy       the platform wants a pause in this chat
    │   └── ChannelSilent     it may have taken the message and did not say so
    └── ChannelRefused    it never will
"""


class HermesError(Exception):
    """Base of the tree above."""


class Misconfigured(HermesError):
    """A setting is wrong."""

    def __init__(self, key: str, problem: str, fix: str) -> None:
        super().__init__(f"{key}: {problem}. {fix}")
        self.key = key


class Rejected(HermesError):
    """The input is refused."""


class BadSchedule(Rejected):
    """The words for when a job runs are not a schedule. The message names the fix."""


class UnreadableSchedule(BadSchedule):
    """The words have no form of a schedule. A model may propose one that has."""


class Refused(HermesError):
    """The event is not valid in the session's current state; nothing was written."""


class ToolFailed(HermesError):
    """The tool ran and reports failure."""


class RecordMissing(ToolFailed):
    """The record of a command is not there."""


class Fenced(HermesError):
    """Another process owns the session now; nothing was written."""


class Outdated(HermesError):
    """The decision used an older version of the register of people and grants."""


class JobChanged(Rejected):
    """The job is not what it was when this change of it was decided."""


class StoreFailed(HermesError):
    """The store cannot be trusted with a write."""


class StoreReadOnly(StoreFailed):
    """The disk or the file refuses writes."""


class StoreFull(StoreFailed):
    """No space is left."""


class StoreBusy(StoreFailed):
    """Another program holds the file."""


class StoreCorrupt(StoreFailed):
    """The file is damaged."""


class RowUnreadable(StoreCorrupt):
    """One row is no value of ours."""


class StoreClosed(StoreFailed):
    """The store is closed; what was begun before has ended."""

    def __init__(self) -> None:
        super().__init__("the store is closed")


class StoreTooNew(StoreFailed):
    """A newer version wrote this store."""


class ProviderFailed(HermesError):
    """The model cannot be asked."""


class ProviderRefused(ProviderFailed):
    """The request is wrong and stays wrong."""


class ContextOverflow(ProviderRefused):
    """The conversation is longer than the model reads. `window` is the number of tokens that it
    does read, where the error said so."""

    def __init__(self, text: str, *, window: int = 0) -> None:
        super().__init__(text)
        self.window = window


class ProviderDenied(ProviderFailed):
    """The key is missing, wrong or out of credit."""


class ProviderTransient(ProviderFailed):
    """Worth another try; `delay_s` is what the provider asked for, if it did."""

    def __init__(self, reason: str, *, delay_s: float | None = None) -> None:
        super().__init__(reason)
        self.delay_s = delay_s


class ProviderBusy(ProviderTransient):
    """Rate limit or overload."""


class ProviderSilent(ProviderTransient):
    """No connection, no first token, or silence in mid-stream."""


class ProviderGarbled(ProviderTransient):
    """An answer that is none."""


class ServiceDown(HermesError):
    """A background service broke. It is started again."""


class ChannelFailed(HermesError):
    """A platform did not take a message."""


class ChannelDown(ChannelFailed):
    """Worth another try after `delay_s`."""

    def __init__(self, reason: str, *, delay_s: float) -> None:
        super().__init__(reason)
        self.delay_s = delay_s


class ChannelBusy(ChannelDown):
    """The platform wants nothing more in this chat for `delay_s`."""


class ChannelSilent(ChannelDown):
    """The message was sent without a confirmation: another try may repeat it."""


class ChannelRefused(ChannelFailed):
    """The platform will never take it."""
