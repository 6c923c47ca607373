"""What each command needs, loaded when it is called and not before."""

from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from hermes.cli import gateway_grammar, grammar, policy_grammar, prompt_grammar, skills_grammar
from hermes.cli.command import Nothing, Shown

if TYPE_CHECKING:
    from hermes.cli.place import Place


def chat() -> Callable[[grammar.Chat, "Place"], int]:
    from hermes.cli.chat import run

    return run


def sessions_list() -> Callable[[grammar.Listing, "Place"], int]:
    from hermes.cli.sessions import run_list

    return run_list


def sessions_show() -> Callable[[grammar.Transcript, "Place"], int]:
    from hermes.cli.sessions import run_show

    return run_show


def sessions_search() -> Callable[[grammar.Search, "Place"], int]:
    from hermes.cli.sessions import run_search

    return run_search


def sessions_export() -> Callable[[grammar.Export, "Place"], int]:
    from hermes.cli.export import run

    return run


def sessions_suspend() -> Callable[[grammar.Named, "Place"], int]:
    from hermes.cli.chat import run_suspend

    return run_suspend


def sessions_delete() -> Callable[[grammar.Delete, "Place"], int]:
    from hermes.cli.sessions import run_delete

    return run_delete


def turns_list() -> Callable[[grammar.Turns, "Place"], int]:
    from hermes.cli.turns import run_list

    return run_list


def turns_show() -> Callable[[grammar.Named, "Place"], int]:
    from hermes.cli.turns import run_show

    return run_show


def config_show() -> Callable[[Shown, "Place"], int]:
    from hermes.cli.config import run_show

    return run_show


def config_get() -> Callable[[grammar.Key, "Place"], int]:
    from hermes.cli.config import run_get

    return run_get


def config_set() -> Callable[[grammar.Assignment, "Place"], int]:
    from hermes.cli.config_set import run

    return run


def config_edit() -> Callable[[Nothing, "Place"], int]:
    from hermes.cli.config_edit import run

    return run


def config_path() -> Callable[[Shown, "Place"], int]:
    from hermes.cli.config import run_path

    return run_path


def backup() -> Callable[[grammar.Backup, "Place"], int]:
    from hermes.cli.backup import run

    return run


def restore() -> Callable[[grammar.Restore, "Place"], int]:
    from hermes.cli.restore import run

    return run


def gateway_run() -> Callable[[Nothing, "Place"], int]:
    from hermes.cli.gateway import run

    return run


def gateway_status() -> Callable[[Shown, "Place"], int]:
    from hermes.cli.gateway_status import run

    return run


def gateway_start() -> Callable[[Nothing, "Place"], int]:
    from hermes.cli.service.start import run_start

    return run_start


def gateway_stop() -> Callable[[gateway_grammar.Stop, "Place"], int]:
    from hermes.cli.service.stop import run_stop

    return run_stop


def gateway_restart() -> Callable[[Nothing, "Place"], int]:
    from hermes.cli.service.restart import run_restart

    return run_restart


def gateway_setup() -> Callable[[Nothing, "Place"], int]:
    from hermes.cli.service.setup import run_setup

    return run_setup


def gateway_install() -> Callable[[Nothing, "Place"], int]:
    from hermes.cli.service.install import run_install

    return run_install


def gateway_uninstall() -> Callable[[Nothing, "Place"], int]:
    from hermes.cli.service.install import run_uninstall

    return run_uninstall


def send() -> Callable[[gateway_grammar.Send, "Place"], int]:
    from hermes.cli.send import run

    return run


def prompt_show() -> Callable[[prompt_grammar.Prompt, "Place"], int]:
    from hermes.cli.prompt import run_show
    from hermes.equipment import prompt_parts

    return lambda given, place: run_show(given, place, prompt_parts)


def policy_check() -> Callable[[policy_grammar.Check, "Place"], int]:
    from hermes.cli.policy import run_check
    from hermes.equipment import command_judge

    return lambda given, place: run_check(given, place, command_judge)


def memory() -> Callable[[Namespace, "Place"], int]:
    from hermes.cli.memory import run
    from hermes.equipment import memories_of

    return lambda given, place: run(given, place, memories_of)


def skills() -> Callable[[skills_grammar.Given, "Place"], int]:
    from hermes.cli.skills import run
    from hermes.equipment import skill_shelf

    return lambda given, place: run(given, place, skill_shelf)


def insights() -> Callable[[grammar.Insights, "Place"], int]:
    from hermes.cli.insights import run

    return run


def doctor() -> Callable[[Shown, "Place"], int]:
    from hermes.cli.doctor import run

    return run
