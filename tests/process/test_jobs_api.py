"""Jobs over HTTP: made once, changed by who saw them, run now, and errors that name the fix."""

from pathlib import Path

from hermes.testing.model import Model, Says
from tests.process.gateway import gateway
from tests.process.jobs import ask, history, until_run

WEEKDAYS = {"schedule": "every weekday at 07:00", "prompt": "look", "tz": "Europe/Paris"}
FIELDS = {"id", "name", "schedule", "words", "next", "state", "tz", "prompt", "deliver", "version"}


async def test_a_job_lives_over_http_from_its_making_to_its_removal(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        model.rule = lambda _asked: Says("Nothing new.")
        await here.start()
        made = await ask(here, "POST", "/v1/jobs", {**WEEKDAYS, "deliver": "local"}, key="one")
        assert made.status_code == 201, made.text
        job = made.json()
        assert job.keys() >= FIELDS
        assert job["words"] == "every weekday at 07:00 (Europe/Paris)"
        assert len(job["next"]) == 3
        assert (job["state"], job["version"], job["tz"]) == ("active", 1, "Europe/Paris")
        path = f"/v1/jobs/{job['id']}"

        again = await ask(here, "POST", "/v1/jobs", {**WEEKDAYS, "deliver": "local"}, key="one")
        assert again.json()["id"] == job["id"], "the same key makes the same job"
        listed = await here.get("/v1/jobs")
        assert [each["id"] for each in listed if each["kind"] == "job"] == [job["id"]]

        # A15: of two edits at once, the one that saw an older version is refused.
        change = {"schedule": "every day at 08:00", "version": 1}
        changed = (await ask(here, "PATCH", path, change)).json()
        assert (changed["version"], changed["words"]) == (2, "every day at 08:00 (Europe/Paris)")
        stale = await ask(here, "PATCH", path, {"prompt": "other", "version": 1})
        assert stale.status_code == 409, stale.text
        assert stale.json()["error"]["code"] == "version_conflict"
        assert (await here.get(path))["prompt"] == "look"

        paused = (await ask(here, "PATCH", path, {"state": "paused", "why": "holidays"})).json()
        assert (paused["state"], paused["why"], paused["next"]) == ("paused", "holidays", [])
        resumed = (await ask(here, "PATCH", path, {"state": "active"})).json()
        assert (resumed["state"], len(resumed["next"])) == ("active", 3)

        started = await ask(here, "POST", f"{path}/run", key="run-1")
        assert started.status_code == 202
        assert (await ask(here, "POST", f"{path}/run", key="run-1")).json() == started.json()
        (run,) = await until_run(here, job["id"])
        assert (run["state"], run["due"]) == ("done", None)
        turn = await here.get(f"/v1/turns/{run['turn']}")
        assert turn["steps"]
        assert len(model.asked) == 1

        gone = await ask(here, "DELETE", path)
        assert gone.json() == {"id": job["id"], "state": "removed"}
        assert [each for each in await here.get("/v1/jobs") if each["kind"] == "job"] == []
        kept = await here.get("/v1/jobs?all=1")
        assert [each["state"] for each in kept if each["kind"] == "job"] == ["removed"]
        assert len(await history(here, job["id"])) == 1


async def test_a26_a_bad_request_is_refused_and_names_the_fix(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        wrong = {
            "invalid_schedule": {**WEEKDAYS, "schedule": "monday at 9"},
            "invalid_request": {**WEEKDAYS, "shedule": "every 2h"},
            "rejected": {**WEEKDAYS, "deliver": "telegram:5"},
        }
        for code, body in wrong.items():
            refused = await ask(here, "POST", "/v1/jobs", body)
            assert refused.status_code == 400, refused.text
            error = refused.json()["error"]
            assert error["code"] == code, error
            assert error["type"] == "invalid_request_error"
        messages = {
            "every weekday at 07:00": {**WEEKDAYS, "schedule": "soon"},
            "still to come": {**WEEKDAYS, "schedule": "at 2020-01-01T00:00"},
            "never comes": {**WEEKDAYS, "schedule": "0 0 30 2 *"},
            "Europe/Paris": {**WEEKDAYS, "tz": "Europe/Pari"},
            "min_interval_s": {**WEEKDAYS, "schedule": "every 10s"},
            "shedule": wrong["invalid_request"],
            "skill": {**WEEKDAYS, "skills": ["no-such-skill"]},
            "toolset": {**WEEKDAYS, "toolsets": ["no-such-set"]},
            "script": {**WEEKDAYS, "script": "missing.sh"},
        }
        for fix, body in messages.items():
            refused = await ask(here, "POST", "/v1/jobs", body)
            assert refused.status_code == 400, refused.text
            assert fix in refused.json()["error"]["message"], refused.text
        assert (await ask(here, "GET", "/v1/jobs/nothing")).status_code == 404
        other = await ask(here, "PUT", "/v1/jobs")
        assert (other.status_code, other.headers["allow"]) == (405, "GET, HEAD, POST")
        dry = await ask(here, "POST", "/v1/jobs", {**WEEKDAYS, "dry_run": True})
        assert len(dry.json()["next"]) == 3
        assert [each for each in await here.get("/v1/jobs") if each["kind"] == "job"] == []
