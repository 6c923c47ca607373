"""Routes for scheduled jobs: list, make, change, run and remove them, and what their runs did."""

from typing import Final, Literal, TypeVar

import msgspec
from msgspec import Struct

from hermes.channels.api.front import Front, body_of, document, named, parameter
from hermes.channels.api.manifest import PLATFORM, lane_of
from hermes.channels.api.refusals import NO_RETRY, Unserved, unknown, wrong
from hermes.channels.api.translate import SENDER, ticket
from hermes.core.errors import BadSchedule, JobChanged, Rejected
from hermes.core.jobs import Missed, Overlap
from hermes.core.messages import Address
from hermes.core.people import Sender, principal_of
from hermes.httpd.request import HttpRequest
from hermes.httpd.response import HttpResponse
from hermes.views.job_documents import job_document, run_document
from hermes.views.jobs import JobActs, JobAuthor, JobRequest, JobView

JOBS: Final = "jobs"  # where a client of these routes speaks
RUNS, RUNS_MAX = 20, 200
T = TypeVar("T")


class JobFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a job can be told to be. What is not named stays as it is, or is as usual."""

    schedule: str | None = None
    prompt: str | None = None
    name: str | None = None
    deliver: str | tuple[str, ...] | None = None
    tz: str | None = None
    model: str | None = None
    skills: tuple[str, ...] | None = None
    toolsets: tuple[str, ...] | None = None
    workdir: str | None = None
    script: str | None = None
    no_agent: bool | None = None
    context_from: tuple[str, ...] | None = None
    attach_to_session: bool | None = None
    repeat: int | None = None
    missed: Missed | None = None
    overlap: Overlap | None = None
    budget: int | None = None
    timeout: float | None = None
    dry_run: bool = False


class JobPatch(JobFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change. `version` is the one that the client saw; without it any version may be changed."""

    version: int | None = None
    state: Literal["active", "paused"] | None = None
    why: str = ""  # it is paused


class JobRoutes(Struct, frozen=True, eq=False):
    front: Front

    async def listed(self, request: HttpRequest) -> HttpResponse:
        """The jobs that there are; with ?all=1 those that are gone, too."""
        every = request.head.parameters().get("all", "") not in ("", "0", "false")
        jobs = await self._acts.listed(self.front.host, every=every)
        return document([job_document(job) for job in jobs])

    async def create(self, request: HttpRequest) -> HttpResponse:
        """A repeat of the same Idempotency-Key makes no second job."""
        wanted = _decoded(await body_of(request) or b"", JobFields)
        acts, host, author = self._acts, self.front.host, self._author(request)
        try:
            if wanted.dry_run:
                return document(job_document(await acts.preview(host, _asked(wanted), author)))
            return document(job_document(await acts.create(host, _asked(wanted), author)), 201)
        except BadSchedule as bad:
            raise _bad_schedule(bad) from bad

    async def show(self, request: HttpRequest) -> HttpResponse:
        return document(job_document(await self._job(request)))

    async def change(self, request: HttpRequest) -> HttpResponse:
        patch = _decoded(await body_of(request) or b"", JobPatch)
        job, host, author = await self._job(request), self.front.host, self._author(request)
        wanted = _asked(patch)
        try:
            if wanted != JobRequest() or patch.dry_run or patch.state is None:
                job = await self._acts.edit(
                    *(host, job.id, wanted, author), version=patch.version, dry_run=patch.dry_run
                )
            if patch.state == "paused" and not patch.dry_run:
                job = await self._acts.pause(host, job.id, author, patch.why)
            elif patch.state == "active" and not patch.dry_run:
                job = await self._acts.resume(host, job.id, author)
        except BadSchedule as bad:
            raise _bad_schedule(bad) from bad
        except JobChanged as changed:
            raise _conflict(changed) from changed
        return document(job_document(job))

    async def remove(self, request: HttpRequest) -> HttpResponse:
        job = await self._job(request)
        gone = await self._acts.remove(self.front.host, job.id, self._author(request))
        return document({"id": gone.id, "state": gone.state})

    async def run(self, request: HttpRequest) -> HttpResponse:
        """Enqueue a run; a repeat of the same Idempotency-Key enqueues no second one."""
        job = await self._job(request)
        message = await self._acts.run(self.front.host, job.id, self._author(request))
        return document({"id": job.id, "run": message}, 202)

    async def history(self, request: HttpRequest) -> HttpResponse:
        limit = parameter(request.head.parameters(), "limit", default=RUNS, most=RUNS_MAX)
        job = await self._job(request)
        runs = await self._acts.history(self.front.host, job.id, limit=limit)
        return document([run_document(run) for run in runs])

    @property
    def _acts(self) -> JobActs:
        if self.front.jobs is None:
            raise unknown("There are no scheduled jobs in this process.")
        return self.front.jobs()

    async def _job(self, request: HttpRequest) -> JobView:
        name = named(request)
        try:
            return await self._acts.show(self.front.host, name)
        except Unserved:
            raise
        except Rejected as missing:
            raise unknown(f"There is no job “{name}”.") from missing

    def _author(self, request: HttpRequest) -> JobAuthor:
        """Whoever has the key is the owner."""
        key = ticket(None, request.head.header(b"idempotency-key"), self.front.host.new_id)
        place = Address(platform=PLATFORM, chat=JOBS)
        sender = Sender(lane_of(JOBS), place, SENDER.id, direct=True)
        return JobAuthor(by=sender.name, principal=principal_of(sender), token=f"api#{key.id}")


def _decoded(body: bytes, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=type_)
    except msgspec.ValidationError as error:
        raise wrong(f"{error}.", "invalid_request") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise wrong(f"The body is not valid JSON: {error}.", "invalid_json") from error


def _asked(given: JobFields) -> JobRequest:
    deliver = (given.deliver,) if isinstance(given.deliver, str) else given.deliver
    return JobRequest(
        schedule=given.schedule,
        prompt=given.prompt,
        name=given.name,
        deliver=deliver,
        tz=given.tz,
        model=given.model,
        skills=given.skills,
        toolsets=given.toolsets,
        workdir=given.workdir,
        script=given.script,
        no_agent=given.no_agent,
        context_from=given.context_from,
        attach=given.attach_to_session,
        repeat=given.repeat,
        missed=given.missed,
        overlap=given.overlap,
        tokens_max=given.budget,
        timeout_s=given.timeout,
    )


def _bad_schedule(bad: BadSchedule) -> Unserved:
    return wrong(str(bad), "invalid_schedule")


def _conflict(changed: JobChanged) -> Unserved:
    text = f"{changed}. Read the job again, and send your change with its new version."
    return Unserved(409, f"{text[:1].upper()}{text[1:]}", code="version_conflict", headers=NO_RETRY)
