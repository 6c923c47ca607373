"""Every word of the command line: the commands, what they take, and what --help says of them.

Nothing is run and nothing heavy is loaded here, so that a question about usage is answered at once.
"""

from collections.abc import Mapping

from hermes.cli import approvals_grammar as approvals
from hermes.cli import audit_grammar as audit
from hermes.cli import backup_grammar as backup
from hermes.cli import config_grammar as config
from hermes.cli import demo_grammar as demo
from hermes.cli import doctor_grammar as doctor
from hermes.cli import gateway_grammar as gateway
from hermes.cli import insights_grammar as insights
from hermes.cli import memory_grammar as memory
from hermes.cli import model_grammar as model
from hermes.cli import pairing_grammar as pairing
from hermes.cli import policy_grammar as policy
from hermes.cli import prompt_grammar as prompt
from hermes.cli import sessions_grammar as sessions
from hermes.cli import setup_grammar as setup
from hermes.cli import skills_grammar as skills
from hermes.cli import talk_grammar as talk
from hermes.cli import tools_grammar as tools
from hermes.cli import turns_grammar as turns
from hermes.cli.command import Command

# In the order of --help, under their headings there.
HEADINGS: Mapping[str, tuple[Command[object], ...]] = {
    "Talk": (talk.CHAT, talk.SEND),
    "Set up": (setup.SETUP, *model.MODEL, *tools.TOOLS),
    "Gateway": gateway.GATEWAY,
    "Conversations": (*sessions.SESSIONS, *turns.TURNS),
    "Settings": (*config.CONFIG, prompt.SHOW),
    "Memory": memory.MEMORY,
    "Skills": skills.SKILLS,
    "Safety": (*approvals.APPROVALS, *pairing.PAIRING, policy.CHECK, *audit.AUDIT),
    "Care": (insights.INSIGHTS, doctor.DOCTOR, backup.BACKUP, backup.RESTORE, demo.CRASH),
}
COMMANDS = {command.words: command for group in HEADINGS.values() for command in group}
# What a family does when no word follows its name.
DEFAULTS = {
    "audit": "show",
    "approvals": "list",
    "pairing": "list",
    "gateway": "run",
    "sessions": "list",
    "turns": "list",
    "config": "show",
    "demo": "crash",
    "memory": "show",
    "model": "choose",
    "policy": "check",
    "prompt": "show",
    "skills": "list",
    "tools": "list",
}
