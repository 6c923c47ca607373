"""`/cron`: make, see and change scheduled jobs in a chat, with the words of `hermes cron`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hermes.commands.cron_words import (
    CronWords,
    merged,
    quoted_first,
    read_words,
    request_of,
    unquoted,
)
from hermes.commands.elsewhere import by_owner
from hermes.core.channel import Command, CommandCall, CommandContext, CommandResult
from hermes.core.errors import Rejected, UnreadableSchedule
from hermes.core.events import MessageReceived
from hermes.core.ids import MessageId
from hermes.core.people import Role, principal_of, sender_of
from hermes.core.rules import Busy
from hermes.core.session import ref
from hermes.views.job_words import (
    history_text,
    job_line,
    job_text,
    next_in_words,
    time_in_words,
)
from hermes.views.jobs import JobActs, JobAuthor, JobRequest, JobView
from hermes.views.schedule_text import split_schedule

LISTED_MAX = 30
BUTTONS_MAX = 6  # jobs of a list that get one
RUNS_MAX = 10
TIMES_MAX = 5
YES = "yes"
NONE_YET = (
    "There are no scheduled jobs. Make one, for example:\n"
    "/cron create every weekday at 07:00, look at my inbox and tell me what matters"
)
USAGE = (
    "/cron lists your jobs. /cron create SCHEDULE TASK makes one. "
    "/cron show|pause|resume|run|history|next|remove JOB, "
    "/cron edit JOB --schedule … --prompt … (and the options of hermes cron edit)."
)
FOR_THE_MODEL = "Make a scheduled job from these words, and ask me if anything is unclear: "
NOT_YOURS = "There is no job “{}” of yours. /cron lists your jobs"
Buttons = tuple[tuple[str, str], ...]


class CronChat(Struct, frozen=True, eq=False):
    """One `/cron`: who says it where, and what may be done."""

    acts: JobActs
    order: CommandCall
    context: CommandContext

    @property
    def author(self) -> JobAuthor:
        said = self.order.inbound
        sender = sender_of(said)
        principal = principal_of(sender, said.labels)
        return JobAuthor(
            by=sender.name,
            principal=replace(principal, ceiling=max(principal.ceiling, self.order.role)),
            origin=said.address,
            role=self.order.role,
            labels=said.labels,
            token=ref(said),
        )

    async def list(self, words: CronWords) -> CommandResult:
        every = "all" in words.flags
        found = await self.acts.listed(self.context, every=every)
        seen = [job for job in found if self._may_see(job)]
        jobs = [job for job in seen if job.kind == "job"]
        lines = [job_line(job, self.order.at) for job in jobs[:LISTED_MAX]] or [NONE_YET]
        if len(jobs) > LISTED_MAX:
            lines.append(f"… and {len(jobs) - LISTED_MAX} more: hermes cron list")
        lines += [f"By itself: {job.name}, {job.words}" for job in seen if job.kind == "system"]
        shown = tuple((job.name, f"/cron show {job.id}") for job in jobs[:BUTTONS_MAX])
        return self.say("\n".join(lines), shown)

    async def create(self, words: CronWords) -> CommandResult:
        wanted = request_of(words)
        if wanted.schedule is None:
            try:
                wanted = merged(wanted, _task(words.rest, self.order.at))
            except UnreadableSchedule:
                return self._hand_to_model()
        elif words.rest:
            wanted = merged(wanted, JobRequest(prompt=unquoted(words.rest)))
        if "dry-run" in words.flags:
            job = await self.acts.preview(self.context, wanted, self.author)
            return self.say(f"{job.words}\n{next_in_words(job)}\nNothing was made.")
        job = await self.acts.create(self.context, wanted, self.author)
        return self.say(f"Made: {job_text(job, self.author.by)}", _buttons(job))

    async def edit(self, words: CronWords) -> CommandResult:
        job = await self._job(words.rest)
        dry = "dry-run" in words.flags
        wanted = request_of(words)
        if wanted == JobRequest():
            raise Rejected("Say what to change, for example: --schedule “every day at 08:00”")
        after = await self.acts.edit(
            self.context, job.id, wanted, self.author, version=job.version, dry_run=dry
        )
        if dry:
            return self.say(f"{after.words}\n{next_in_words(after)}\nNothing was changed.")
        return self.say(f"Changed: {job_text(after, self.author.by)}", _buttons(after))

    async def show(self, words: CronWords) -> CommandResult:
        job = await self._job(words.rest)
        return self.say(job_text(job, self.author.by), _buttons(job))

    async def next(self, words: CronWords) -> CommandResult:
        job = await self._job(words.rest)
        times = await self.acts.upcoming(self.context, job.id, limit=TIMES_MAX)
        if not times:
            return self.say(next_in_words(job))
        lines = [time_in_words(due, job.zone) for due in times]
        return self.say("\n".join([f"{job.name} ({job.zone}):", *lines]))

    async def history(self, words: CronWords) -> CommandResult:
        job = await self._job(words.rest)
        runs = await self.acts.history(self.context, job.id, limit=RUNS_MAX)
        return self.say(history_text(job, runs))

    async def pause(self, words: CronWords) -> CommandResult:
        job = await self._job(words.rest)
        after = await self.acts.pause(self.context, job.id, self.author)
        return self.say(f"{after.name} is paused.", _buttons(after))

    async def resume(self, words: CronWords) -> CommandResult:
        job = await self._job(words.rest)
        after = await self.acts.resume(self.context, job.id, self.author)
        return self.say(f"{after.name} runs again. {next_in_words(after)}", _buttons(after))

    async def run(self, words: CronWords) -> CommandResult:
        job = await self._job(words.rest)
        await self.acts.run(self.context, job.id, self.author)
        where = ", ".join(job.deliver) or "its history"
        text = f"{job.name} runs now. Its answer goes to: {where}."
        return self.say(text, _buttons(job))

    async def remove(self, words: CronWords) -> CommandResult:
        """Ask first: a removed job does not come back."""
        name = words.rest.removesuffix(f" {YES}")
        job = await self._job(name)
        if job.state == "removed":
            return self.say(f"{job.name} is removed.")
        if name == words.rest:
            yes = (("Remove", f"/cron remove {job.id} {YES}"), ("Keep", f"/cron show {job.id}"))
            lines = [f"Remove {job.name}? It does not run again; its history stays.", job.words]
            lines.append(f"To remove it: /cron remove {job.id} {YES}")
            return self.say("\n".join(lines), yes)
        await self.acts.remove(self.context, job.id, self.author)
        return self.say(f"{job.name} is removed.")

    def say(self, text: str, buttons: Buttons = ()) -> CommandResult:
        return CommandResult(replies=(replace(self.order.reply(text), buttons=buttons),))

    async def _job(self, name: str) -> JobView:
        if not name:
            raise Rejected(f"Which job? {USAGE}")
        job = await self.acts.show(self.context, unquoted(name))
        if not self._may_see(job):
            raise Rejected(NOT_YOURS.format(name))
        return job

    def _may_see(self, job: JobView) -> bool:
        """The owner sees all jobs in a private chat; elsewhere people see what they made."""
        return by_owner(self.order) or job.creator == sender_of(self.order.inbound).name

    def _hand_to_model(self) -> CommandResult:
        """Let the model read what the grammar cannot: it makes the job, or asks. The message is in
        the same commit as the command, so that a crash does not send it twice."""
        said = self.order.inbound
        text = self.order.argument.partition(" ")[2].strip()
        asked = replace(
            said, id=MessageId(f"{said.id}/cron"), text=f"{FOR_THE_MODEL}{text}", before=()
        )
        return CommandResult(events=(MessageReceived(asked, self.order.session.id),))


ACTS: Mapping[str, Callable[[CronChat, CronWords], Awaitable[CommandResult]]] = {
    "list": CronChat.list,
    "create": CronChat.create,
    "edit": CronChat.edit,
    "show": CronChat.show,
    "next": CronChat.next,
    "history": CronChat.history,
    "pause": CronChat.pause,
    "resume": CronChat.resume,
    "run": CronChat.run,
    "remove": CronChat.remove,
}


def cron_command(acts: JobActs) -> Command:
    async def run_async(order: CommandCall, context: CommandContext) -> CommandResult:
        word, _, rest = order.argument.partition(" ")
        chat = CronChat(acts, order, context)
        act = ACTS.get(word.lower() or "list")
        if act is None:
            return chat.say(USAGE)
        return await act(chat, read_words(rest))

    return Command(
        name="/cron",
        least=Role.OWNER,  # as for the tool: what runs by itself is the owner's to decide
        busy=Busy.NOW,
        summary="List scheduled jobs, make one, change or run it",
        run_async=run_async,
        argument="[create|edit|show|pause|resume|run|history|next|remove …]",
    )


def _task(text: str, now: float) -> JobRequest:
    """Return the schedule and the task of “every day at 9, say hello”."""
    given = quoted_first(text)
    schedule, prompt = given if given else split_schedule(text, now=now, zone="UTC")
    prompt = unquoted(prompt.lstrip(" ,;:"))
    return JobRequest(schedule=schedule, prompt=prompt or None)


def _buttons(job: JobView) -> Buttons:
    if job.kind == "system" or job.state == "removed":
        return ()
    switch = ("Resume", "resume") if job.state == "paused" else ("Pause", "pause")
    words: Sequence[tuple[str, str]] = [switch, ("Run now", "run"), ("Remove", "remove")]
    if job.state == "done":
        words = words[1:]
    return tuple((label, f"/cron {word} {job.id}") for label, word in words)
