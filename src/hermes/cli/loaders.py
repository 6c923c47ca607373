"""What each command needs, loaded when it is called and not before."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hermes.cli import (
        approvals_grammar,
        audit_grammar,
        backup_grammar,
        channels_grammar,
        config_grammar,
        demo_grammar,
        doctor_grammar,
        gateway_grammar,
        insights_grammar,
        memory_grammar,
        model_grammar,
        pairing_grammar,
        policy_grammar,
        prompt_grammar,
        sessions_grammar,
        setup_grammar,
        skills_grammar,
        talk_grammar,
        tools_grammar,
        turns_grammar,
        window_grammar,
    )
    from hermes.cli.command import Nothing, Shown
    from hermes.cli.place import Place
    from hermes.settings import Settings
    from hermes.tui.colours import Depth
    from hermes.tui.ports import Drawer, Ways
    from hermes.tui.skins import Skin


def window() -> "Callable[[window_grammar.Window, Place], int]":
    from hermes.cli.window import Loads, run

    loads = Loads(ready=_ready, ways=_ways, pen=_pen, keep_skin=_keep_skin)
    return lambda given, place: run(given, place, loads)


def _ready(place: "Place") -> bool:
    from hermes.cli.first import ready
    from hermes.cli.service.setup import questions_of

    return ready(place, questions_of(place, asks=True))


def _ways(place: "Place", settings: "Settings") -> "Ways":
    from hermes.cli.ways import ways_of

    return ways_of(place, settings)


def _pen(skin: "Skin", depth: "Depth") -> "Drawer":
    from hermes.tui.pen import Pen

    return Pen(skin, depth)


def _keep_skin(home: "Path", name: str) -> None:
    from hermes.cli.config_file import save_setting
    from hermes.settings.home import CONFIG

    save_setting(home / CONFIG, ("display", "skin"), name)


def chat() -> "Callable[[talk_grammar.Chat, Place], int]":
    def begin(given: "talk_grammar.Chat", place: "Place") -> int:
        console, bare = place.console, given.query is None and not given.image and not given.json
        if bare and console.stdin.isatty() and console.stdout.isatty():
            from hermes.cli.window_grammar import WINDOW

            return WINDOW.run([f"--session={given.session}"], lambda: place)
        from hermes.cli.chat import run
        from hermes.cli.lent import lent

        return run(given, lent(place))

    return begin


def sessions_list() -> "Callable[[sessions_grammar.Listing, Place], int]":
    from hermes.cli.sessions import run_list

    return run_list


def sessions_show() -> "Callable[[sessions_grammar.Transcript, Place], int]":
    from hermes.cli.sessions import run_show

    return run_show


def sessions_search() -> "Callable[[sessions_grammar.Search, Place], int]":
    from hermes.cli.sessions import run_search

    return run_search


def sessions_export() -> "Callable[[sessions_grammar.Export, Place], int]":
    from hermes.cli.export import run

    return run


def sessions_suspend() -> "Callable[[sessions_grammar.Named, Place], int]":
    from hermes.cli.chat import run_suspend

    return run_suspend


def sessions_delete() -> "Callable[[sessions_grammar.Delete, Place], int]":
    from hermes.cli.sessions import run_delete

    return run_delete


def turns_list() -> "Callable[[turns_grammar.Listing, Place], int]":
    from hermes.cli.turns import run_list

    return run_list


def turns_show() -> "Callable[[turns_grammar.Named, Place], int]":
    from hermes.cli.turns import run_show

    return run_show


def config_show() -> "Callable[[Shown, Place], int]":
    from hermes.cli.config import run_show

    return run_show


def config_get() -> "Callable[[config_grammar.Key, Place], int]":
    from hermes.cli.config import run_get

    return run_get


def config_set() -> "Callable[[config_grammar.Assignment, Place], int]":
    from hermes.cli.config_set import run

    return run


def config_edit() -> "Callable[[Nothing, Place], int]":
    from hermes.cli.config_edit import run

    return run


def config_path() -> "Callable[[Shown, Place], int]":
    from hermes.cli.config import run_path

    return run_path


def backup() -> "Callable[[backup_grammar.Backup, Place], int]":
    from hermes.cli.backup import run

    return run


def restore() -> "Callable[[backup_grammar.Restore, Place], int]":
    from hermes.cli.restore import run

    return run


def gateway_run() -> "Callable[[Nothing, Place], int]":
    from hermes.cli.gateway import run

    return lambda given, place: run(given, place, _stop_limit)


def _stop_limit(environ: "Mapping[str, str]", pid: int) -> float | None:
    from hermes.cli.service.limit import stop_limit

    return stop_limit(environ, pid)


def gateway_status() -> "Callable[[Shown, Place], int]":
    from hermes.cli.gateway_status import run

    return run


def gateway_start() -> "Callable[[Nothing, Place], int]":
    from hermes.cli.service.start import run_start

    return run_start


def gateway_stop() -> "Callable[[gateway_grammar.Stop, Place], int]":
    from hermes.cli.service.stop import run_stop

    return run_stop


def gateway_restart() -> "Callable[[Nothing, Place], int]":
    from hermes.cli.service.restart import run_restart

    return run_restart


def gateway_setup() -> "Callable[[channels_grammar.Channels, Place], int]":
    from hermes.cli.service.setup import run_setup

    return run_setup


def gateway_install() -> "Callable[[Nothing, Place], int]":
    from hermes.cli.service.install import run_install

    return run_install


def gateway_uninstall() -> "Callable[[Nothing, Place], int]":
    from hermes.cli.service.install import run_uninstall

    return run_uninstall


def send() -> "Callable[[talk_grammar.Send, Place], int]":
    from hermes.cli.send import run

    return run


def prompt_show() -> "Callable[[prompt_grammar.Prompt, Place], int]":
    from hermes.cli.prompt import run_show
    from hermes.equipment import prompt_parts

    return lambda given, place: run_show(given, place, prompt_parts)


def approvals() -> "Callable[[approvals_grammar.Given, Place], int]":
    from hermes.cli.approvals import run

    return run


def pairing() -> "Callable[[pairing_grammar.Given, Place], int]":
    from hermes.cli.pairing import run

    return run


def policy_check() -> "Callable[[policy_grammar.Check, Place], int]":
    from hermes.cli.policy import run_check
    from hermes.equipment import command_judge

    return lambda given, place: run_check(given, place, command_judge)


def audit_show() -> "Callable[[audit_grammar.Show, Place], int]":
    from hermes.cli.audit import run_show

    return run_show


def audit_verify() -> "Callable[[Shown, Place], int]":
    from hermes.cli.audit import run_verify

    return run_verify


def memory() -> "Callable[[memory_grammar.Given, Place], int]":
    from hermes.cli.memory import run
    from hermes.equipment import memories_of

    return lambda given, place: run(given, place, memories_of)


def skills() -> "Callable[[skills_grammar.Given, Place], int]":
    from hermes.cli.skills import run
    from hermes.equipment import skill_shelf

    return lambda given, place: run(given, place, skill_shelf)


def insights() -> "Callable[[insights_grammar.Insights, Place], int]":
    from hermes.cli.insights import run

    return run


def setup() -> "Callable[[setup_grammar.Setup, Place], int]":
    from hermes.cli.setup import run

    return run


def model_choose() -> "Callable[[model_grammar.Choose, Place], int]":
    from hermes.cli.model import run
    from hermes.cli.service.setup import questions_of

    def choose(given: "model_grammar.Choose", place: "Place") -> int:
        asks = place.console.stdin.isatty() and not given.key_stdin
        return run(given, place, questions_of(place, asks=True) if asks else None)

    return choose


def model_list() -> "Callable[[model_grammar.List, Place], int]":
    from hermes.cli.model_shown import run_list

    return run_list


def model_show() -> "Callable[[Shown, Place], int]":
    from hermes.cli.model_shown import run_show

    return run_show


def model_providers() -> "Callable[[Shown, Place], int]":
    from hermes.cli.model_shown import run_providers

    return run_providers


def tools_list() -> "Callable[[tools_grammar.List, Place], int]":
    from hermes.cli.tools import run_list
    from hermes.equipment import prompt_parts

    return lambda given, place: run_list(given, place, prompt_parts)


def tools_enable() -> "Callable[[tools_grammar.Switch, Place], int]":
    from hermes.cli.tools import run_enable
    from hermes.equipment import prompt_parts

    return lambda given, place: run_enable(given, place, prompt_parts)


def tools_disable() -> "Callable[[tools_grammar.Switch, Place], int]":
    from hermes.cli.tools import run_disable
    from hermes.equipment import prompt_parts

    return lambda given, place: run_disable(given, place, prompt_parts)


def doctor() -> "Callable[[doctor_grammar.Doctor, Place], int]":
    from hermes.cli.doctor import run

    return run


def demo_crash() -> "Callable[[demo_grammar.Crash, Place], int]":
    from hermes.cli.demo import run

    return run
