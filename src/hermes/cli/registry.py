"""The command table, in the order of --help, with the module of each command.

A command is the COMMAND of its own module, with its options, their help and what it does. The
module is imported when the command is called; --help needs only this table.
"""

from collections.abc import Iterator, Mapping

from hermes.cli.command import CommandEntry


class Family:
    """The commands that begin with one word. `alone` is the default when no second word follows; a
    word that is a command by itself has none."""

    def __init__(self, heading: str, entries: tuple[CommandEntry, ...], alone: str = "") -> None:
        self.heading = heading
        self.entries = entries
        self.alone = alone


def _single(heading: str, module: str, summary: str) -> Family:
    """Return a command of one word: the last part of its module's name."""
    word = module.rpartition(".")[2]
    return Family(heading, (CommandEntry((word,), summary, f"hermes.cli.{module}"),))


def _family(heading: str, name: str, alone: str, commands: Mapping[str, str]) -> Family:
    """Return the commands of a family: each word is a module of the family's package."""
    entries = (
        CommandEntry((name, word), summary, f"hermes.cli.{name}.{word}")
        for word, summary in commands.items()
    )
    return Family(heading, tuple(entries), alone)


FAMILIES: Mapping[str, Family] = {
    "chat": _single("Talk", "chat.chat", "Send a message and print the answer"),
    "send": _single("Talk", "chat.send", "Send a message to a chat"),
    "tour": _single("Talk", "demo.tour", "See in two minutes what Hermes does, without a model"),
    "setup": _single("Set up", "setup.setup", "Set everything up, step by step"),
    "model": _family(
        "Set up",
        "model",
        "choose",
        {
            "choose": "Choose a model; it is tested before it is saved",
            "list": "List the models that a provider offers",
            "fetch": "Fetch the weights of a built-in model, and check them",
            "show": "Show the current model",
            "providers": "List the known providers",
        },
    ),
    "tools": _family(
        "Set up",
        "tools",
        "list",
        {
            "list": "List toolsets and what each costs in tokens",
            "enable": "Turn tools on",
            "disable": "Turn tools off, everywhere or on one platform",
        },
    ),
    "gateway": _family(
        "Gateway",
        "gateway",
        "run",
        {
            "run": "Run the gateway in the foreground, until Ctrl+C",
            "check": "Check that the gateway could start with these settings",
            "start": "Start the gateway in the background",
            "stop": "Let running turns finish, then stop the gateway",
            "restart": "Check the settings, let running turns finish, then restart",
            "status": "Show what the gateway is doing",
            "setup": "Set up channels, step by step",
            "install": "Start the gateway with the machine (systemd or launchd)",
            "uninstall": "Remove the service",
        },
    ),
    "sessions": _family(
        "Conversations",
        "sessions",
        "list",
        {
            "list": "List conversations, the latest first",
            "show": "Print a conversation",
            "search": "Find words in all conversations",
            "export": "Write a conversation as Markdown or JSON",
            "suspend": "Suspend a conversation; the next message begins a new one",
            "delete": "Delete a session and everything in it, permanently",
        },
    ),
    "turns": _family(
        "Conversations",
        "turns",
        "list",
        {
            "list": "List turns, the latest first",
            "show": "Show what a turn did, step by step",
        },
    ),
    "cron": _family(
        "Schedules",
        "cron",
        "list",
        {
            "list": "List jobs and when each runs next",
            "show": "Print everything about a job",
            "create": "Make a job, and read it back",
            "edit": "Change a job; what is not named stays as it is",
            "pause": "Pause a job",
            "resume": "Resume a paused job, from its next time on",
            "run": "Let a job run now",
            "remove": "Remove a job; its history stays",
            "history": "Show what each run did, and what was skipped and why",
            "next": "Show when jobs run next",
        },
    ),
    "config": _family(
        "Settings",
        "config",
        "show",
        {
            "show": "Print all settings and where each comes from",
            "get": "Print one setting",
            "set": "Change one setting; comments in the file stay",
            "unset": "Reset one setting to its default",
            "edit": "Open config.yaml in your editor, then check it",
            "path": "Print where config.yaml is",
        },
    ),
    "prompt": _family(
        "Settings",
        "prompt",
        "show",
        {
            "show": "Print the system prompt and its size in tokens",
        },
    ),
    "memory": _family(
        "Memory",
        "memory",
        "show",
        {
            "show": "Print the memory and the paths of its files",
            "add": "Add a fact",
            "replace": "Change an entry",
            "remove": "Remove an entry; undo restores it",
            "history": "List every change, the latest first",
            "diff": "Show what a version changed",
            "undo": "Undo the latest change, or a given one",
            "proposals": "List changes that wait for your approval",
            "approve": "Apply a proposal",
            "reject": "Drop a proposal",
        },
    ),
    "skills": _family(
        "Skills",
        "skills",
        "list",
        {
            "list": "List all skills",
            "view": "Print a skill, or one of its files",
            "create": "Create your own skill",
            "install": "Show a skill from other people, then install it",
            "update": "Update an installed skill and show what changed",
            "remove": "Remove an installed skill, or one of the agent's",
            "enable": "Enable a disabled skill",
            "disable": "Disable a skill",
            "proposals": "List the agent's proposals",
            "diff": "Show a proposal, or the last change of a skill",
            "approve": "Approve a proposal",
            "reject": "Reject a proposal",
            "undo": "Undo the last change of a skill",
            "audit": "Check every digest and scan all skills again",
        },
    ),
    "approvals": _family(
        "Safety",
        "approvals",
        "list",
        {
            "list": "Show the questions that are waiting for you",
            "answer": "Allow or refuse a call",
            "grants": "List what you allowed with “always”",
            "revoke": "Revoke something you allowed with “always”",
        },
    ),
    "pairing": _family(
        "Safety",
        "pairing",
        "list",
        {
            "list": "Show who may talk to Hermes, and open requests",
            "invite": "Make a code that lets one person in, once",
            "owner": "Add your own account on a platform",
            "approve": "Accept a request",
            "dismiss": "Dismiss a request",
            "revoke": "Remove a person at once, and stop what runs for them",
        },
    ),
    "policy": _family(
        "Safety",
        "policy",
        "check",
        {
            "check": "Say what the policy does with a command; nothing runs",
        },
    ),
    "audit": _family(
        "Safety",
        "audit",
        "show",
        {
            "show": "Print what was done, for which person and who allowed it",
            "verify": "Check that the audit log was not changed",
        },
    ),
    "status": _single(
        "Maintenance",
        "maintenance.status",
        "Show the model, what is running and what waits for you",
    ),
    "logs": _single(
        "Maintenance", "maintenance.logs", "Print the log; -f keeps printing new lines"
    ),
    "insights": _single(
        "Maintenance", "maintenance.insights", "Show tokens, costs and tool calls, by day and more"
    ),
    "doctor": _single(
        "Maintenance", "doctor.doctor", "Check the installation and say how to fix what is wrong"
    ),
    "backup": _single(
        "Maintenance", "backup.backup", "Write everything into one file, also while Hermes runs"
    ),
    "restore": _single(
        "Maintenance", "backup.restore", "Restore a backup; the old files are kept in replaced/"
    ),
    "completion": _single(
        "Maintenance",
        "maintenance.completion",
        "Print a script that completes these commands in your shell",
    ),
    "uninstall": _single(
        "Maintenance",
        "maintenance.uninstall",
        "Remove Hermes from this computer; your data is kept",
    ),
    "demo": _family(
        "Maintenance",
        "demo",
        "crash",
        {
            "crash": "Kill a gateway during a command and watch the turn finish",
        },
    ),
}
# Without a word of its own, so it is not among the commands.
WINDOW = CommandEntry((), "Talk, in a window in this terminal", "hermes.cli.chat.window")
# The options that choose a conversation, those of the window, and those that say something.
CHOOSING = ("-c", "--continue", "--session")
WINDOW_OPTIONS = (*CHOOSING, "--plain")
SAYING = ("-q", "--query", "--file", "--image", "--json")


def commands() -> Iterator[CommandEntry]:
    """Yield all commands, in the order of --help."""
    for family in FAMILIES.values():
        yield from family.entries
