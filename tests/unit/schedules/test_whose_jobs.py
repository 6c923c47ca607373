"""Whose job it is: the owner changes all of them, other people those that they made."""

from pathlib import Path

import pytest

from hermes.core.errors import Rejected
from hermes.core.messages import Person
from hermes.core.people import Role
from hermes.core.ports import Answer, ModelRequest, RawCall
from hermes.core.principal import Principal
from hermes.views.jobs import JobAuthor, JobRequest
from tests.unit.schedules.world import BERT, OWNER, world

BY_BERT = JobAuthor(
    by="plaza:bert",
    principal=Principal(person=Person(id="bert"), spoke=BERT, direct=True, ceiling=Role.PAIRED),
    origin=BERT,
    role=Role.PAIRED,
)


async def test_a_person_cannot_touch_the_job_of_another_and_does_not_learn_of_it(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as here:
        secret = await here.make("every 1h", name="report")
        acts, host = here.acts, here.host
        for act in (acts.pause, acts.resume, acts.remove, acts.run):
            with pytest.raises(Rejected, match="there is no job"):
                await act(host, secret.id, BY_BERT)
        with pytest.raises(Rejected, match="there is no job"):
            await acts.edit(host, "report", JobRequest(prompt="Tell me all."), BY_BERT)
        with pytest.raises(Rejected, match="there is no job"):
            await here.make("every 1h", BY_BERT, context_from=(secret.id,))
        own = await here.make("every 1h", BY_BERT, name="report")
        after = await acts.edit(host, "report", JobRequest(prompt="Mine."), BY_BERT)
        assert after.id == own.id, "another one of the same name is not in the way"
        assert (await here.shown(secret)).prompt == "Look."


async def test_the_model_of_a_person_sees_and_changes_their_own_jobs_only(tmp_path: Path) -> None:
    wishes = iter(
        [
            '{"action": "list"}',
            '{"action": "update", "job_id": "report", "prompt": "Tell Bert all."}',
        ]
    )

    def rule(request: ModelRequest) -> Answer:
        wish = next(wishes, "")
        if not wish:
            return Answer(text="Done.")
        return Answer(calls=(RawCall("cronjob", wish),), finish="calls")

    async with world(tmp_path, rule, mode="allow") as here:
        secret = await here.make("every 1h", name="report")
        here.roles["bert"] = Role.PAIRED
        await here.accept(here.said("what runs?", BERT))
        await here.settle()
        results = [line.text for line in here.asked[-1].lines if line.role == "tool"]
        assert results[0] == "There are no jobs."
        assert "a paired person may not do" in results[-1]
        assert (await here.shown(secret)).prompt == "Look."


async def test_a_removed_job_is_not_in_the_way_of_one_with_its_name(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        old = await here.make("every 1h", name="report")
        await here.acts.remove(here.host, old.id, OWNER)
        new = await here.make("every 2h", name="report")
        assert (await here.acts.show(here.host, "report")).id == new.id
