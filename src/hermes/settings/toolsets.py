"""Which tools belong together, and which of them a model is offered on a platform. Pure."""

from collections.abc import Mapping

from hermes.settings.shape import ToolsSection

# A name that ends in * stands for all that begin so.
TOOLSETS: Mapping[str, tuple[str, ...]] = {
    "terminal": ("terminal", "process"),
    "files": ("read_file", "write_file", "patch", "search_files"),
    "code": ("execute_code",),
    "todo": ("todo",),
    "memory": ("memory",),
    "skills": ("skills_list", "skill_view", "skill_manage"),
    "recall": ("session_search",),
    "sending": ("send_message",),
    "schedules": ("cronjob",),
    "delegation": ("delegate_task",),
    "questions": ("clarify",),
    "web": ("web_search", "web_extract"),
    "browser": ("browser_*",),
    "vision": ("vision_analyze",),
    "voice": ("text_to_speech",),
    "mcp": ("mcp_*",),
}
OTHER = "other"


def toolset_of(tool: str) -> str:
    """Its set; one that is in none is in `other`."""
    for name, members in TOOLSETS.items():
        if any(_fits(tool, member) for member in members):
            return name
    return OTHER


def offered(tools: ToolsSection, tool: str, platform: str) -> bool:
    """Is the model on this platform told of the tool?"""
    there = tools.platforms.get(platform)
    off = {*tools.disabled, *(there.disabled if there is not None else ())}
    return not off & {tool, toolset_of(tool)}


def _fits(tool: str, member: str) -> bool:
    return tool.startswith(member[:-1]) if member.endswith("*") else tool == member
