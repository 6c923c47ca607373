"""Group tools into sets, and decide which tools a model is offered on a platform. Pure."""

from collections.abc import Iterable, Mapping

from hermes.settings.shape import ToolsSection

# A name that ends in * matches every name with that prefix.
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
OFF = (
    "The tool “{tool}” is switched off here. Nothing was run. Do without it, or tell the person "
    "that the owner can switch it on with: {fix}"
)
NOT_HANDED_ON = "The tool “{tool}” was not given to you for this task. Nothing was run."


def toolset_of(tool: str) -> str:
    """Return the tool's set; `other` for a tool in no set."""
    for name, members in TOOLSETS.items():
        if any(_fits(tool, member) for member in members):
            return name
    return OTHER


def offered(tools: ToolsSection, tool: str, platform: str) -> bool:
    """Return True if the model on this platform is offered the tool."""
    there = tools.platforms.get(platform)
    off = {*tools.disabled, *(there.disabled if there is not None else ())}
    return not off & {tool, toolset_of(tool)}


def refusal(
    tools: ToolsSection, tool: str, platforms: Iterable[str], only: Iterable[str] = ()
) -> str:
    """Why a model that speaks on these platforms may not use the tool. Empty: it may. `only` names
    the toolsets or tools that were handed on to it; nothing named means all."""
    for platform in sorted(platforms):
        if not offered(tools, tool, platform):
            there = f" --platform {platform}" if offered(tools, tool, "") else ""
            fix = f"hermes tools enable {_switch_of(tools, tool, platform)}{there}"
            return OFF.format(tool=tool, fix=fix)
    handed_on = set(only)
    if handed_on and not handed_on & {tool, toolset_of(tool)}:
        return NOT_HANDED_ON.format(tool=tool)
    return ""


def _switch_of(tools: ToolsSection, tool: str, platform: str) -> str:
    """The name under which it was switched off."""
    there = tools.platforms.get(platform)
    off = {*tools.disabled, *(there.disabled if there is not None else ())}
    return tool if tool in off else toolset_of(tool)


def _fits(tool: str, member: str) -> bool:
    return tool.startswith(member[:-1]) if member.endswith("*") else tool == member
