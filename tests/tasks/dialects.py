"""How models write tool calls as text, one function a dialect.

Each returns the text of an answer that makes the calls, as the chat template of that family of
models would write it where a server does not parse it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Calls = Sequence[tuple[str, Mapping[str, Any]]]
Writer = Callable[[Calls], str]


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(value: object) -> str:
    return value if isinstance(value, str) else _dumped(value)


def _objects(calls: Calls, name: str = "name", arguments: str = "arguments") -> list[object]:
    return [{name: tool, arguments: dict(given)} for tool, given in calls]


def hermes(calls: Calls) -> str:
    return "\n".join(f"<tool_call>\n{_dumped(one)}\n</tool_call>" for one in _objects(calls))


def hermes_behind_prose(calls: Calls) -> str:
    return f"Let me look at that first.\n\n{hermes(calls)}"


def hermes_on_one_line(calls: Calls) -> str:
    each = "".join(f"<tool_call>{_dumped(one)}</tool_call>" for one in _objects(calls))
    return f"I'll do that now. {each}"


def hermes_unclosed(calls: Calls) -> str:
    """The closing tag is a stop token, so that it never arrives."""
    return hermes(calls).removesuffix("</tool_call>")


def qwen_coder(calls: Calls) -> str:
    return "\n".join(f"<tool_call>\n{_function(*call)}\n</tool_call>" for call in calls)


def qwen_coder_without_frame(calls: Calls) -> str:
    return "\n".join(_function(*call) for call in calls)


def _function(tool: str, given: Mapping[str, Any]) -> str:
    inner = "\n".join(f"<parameter={k}>\n{_text(v)}\n</parameter>" for k, v in given.items())
    return f"<function={tool}>\n{inner}\n</function>"


def llama(calls: Calls) -> str:
    joined = "; ".join(_dumped(one) for one in _objects(calls, arguments="parameters"))
    return f"<|python_tag|>{joined}<|eom_id|>"


def llama_function(calls: Calls) -> str:
    return "".join(f"<function={tool}>{_dumped(dict(given))}</function>" for tool, given in calls)


def llama_bare(calls: Calls) -> str:
    return "\n".join(_dumped(one) for one in _objects(calls, arguments="parameters"))


def pythonic(calls: Calls) -> str:
    return f"[{', '.join(_python(*call) for call in calls)}]"


def llama_4(calls: Calls) -> str:
    return f"<|python_start|>{pythonic(calls)}<|python_end|>"


def lfm(calls: Calls) -> str:
    return f"<|tool_call_start|>{pythonic(calls)}<|tool_call_end|>"


def olmo(calls: Calls) -> str:
    lines = "\n".join(_python(*call) for call in calls)
    return f"<function_calls>\n{lines}\n</function_calls>"


def gemma(calls: Calls) -> str:
    lines = "\n".join(_python(*call) for call in calls)
    return f"```tool_code\n{lines}\n```"


def _python(tool: str, given: Mapping[str, Any]) -> str:
    return f"{tool}({', '.join(f'{key}={value!r}' for key, value in given.items())})"


def mistral(calls: Calls) -> str:
    return f"[TOOL_CALLS] {_dumped(_objects(calls))}</s>"


def mistral_v11(calls: Calls) -> str:
    return "".join(f"[TOOL_CALLS]{tool}[ARGS]{_dumped(dict(given))}" for tool, given in calls)


def invoke(calls: Calls) -> str:
    return f"<function_calls>\n{_invokes(calls)}\n</function_calls>"


def minimax(calls: Calls) -> str:
    return f"<minimax:tool_call>\n{_invokes(calls)}\n</minimax:tool_call>"


def _invokes(calls: Calls) -> str:
    def one(tool: str, given: Mapping[str, Any]) -> str:
        pairs = [f'<parameter name="{k}">{_text(v)}</parameter>' for k, v in given.items()]
        inner = "\n".join(pairs)
        return f'<invoke name="{tool}">\n{inner}\n</invoke>'

    return "\n".join(one(*call) for call in calls)


def bare_json(calls: Calls) -> str:
    objects = _objects(calls)
    return _dumped(objects[0] if len(objects) == 1 else objects)


def fenced_json(calls: Calls) -> str:
    return "\n".join(f"```json\n{json.dumps(one, indent=2)}\n```" for one in _objects(calls))


def openai_json(calls: Calls) -> str:
    inner = [
        {
            "id": f"call_{n}",
            "type": "function",
            "function": {"name": tool, "arguments": _dumped(dict(given))},
        }
        for n, (tool, given) in enumerate(calls)
    ]
    return _dumped({"tool_calls": inner})


def deepseek(calls: Calls) -> str:
    each = "\n".join(
        f"<\uff5ctool▁call▁begin\uff5c>function<\uff5ctool▁sep\uff5c>{tool}\n```json\n{_dumped(dict(given))}\n"
        "```<\uff5ctool▁call▁end\uff5c>"
        for tool, given in calls
    )
    return f"<\uff5ctool▁calls▁begin\uff5c>{each}<\uff5ctool▁calls▁end\uff5c>"


def deepseek_v31(calls: Calls) -> str:
    each = "".join(
        f"<\uff5ctool▁call▁begin\uff5c>{tool}<\uff5ctool▁sep\uff5c>{_dumped(dict(given))}<\uff5ctool▁call▁end\uff5c>"
        for tool, given in calls
    )
    return f"I will check.<\uff5ctool▁calls▁begin\uff5c>{each}<\uff5ctool▁calls▁end\uff5c>"


def functionary(calls: Calls) -> str:
    return "".join(f">>>{tool}\n{_dumped(dict(given))}" for tool, given in calls)


def functionary_v2(calls: Calls) -> str:
    return "".join(
        f"<|from|>assistant\n<|recipient|>{tool}\n<|content|>{_dumped(dict(given))}<|stop|>"
        for tool, given in calls
    ).removeprefix("<|from|>assistant\n")


def command_r(calls: Calls) -> str:
    return (
        f"Action:```json\n{json.dumps(_objects(calls, 'tool_name', 'parameters'), indent=4)}\n```"
    )


def command_a(calls: Calls) -> str:
    objects = [
        {"tool_call_id": str(n), "tool_name": tool, "parameters": dict(given)}
        for n, (tool, given) in enumerate(calls)
    ]
    return f"<|START_ACTION|>{_dumped(objects)}<|END_ACTION|>"


def phi(calls: Calls) -> str:
    return f"<|tool_call|>{_dumped(_objects(calls))}<|/tool_call|>"


def granite(calls: Calls) -> str:
    return f"<|tool_call|>{_dumped(_objects(calls))}"


def functools(calls: Calls) -> str:
    return f"functools{_dumped(_objects(calls))}"


def nemotron(calls: Calls) -> str:
    return f"<TOOLCALL>{_dumped(_objects(calls))}</TOOLCALL>"


def glm(calls: Calls) -> str:
    def one(tool: str, given: Mapping[str, Any]) -> str:
        inner = "\n".join(
            f"<arg_key>{key}</arg_key>\n<arg_value>{_text(value)}</arg_value>"
            for key, value in given.items()
        )
        return f"<tool_call>{tool}\n{inner}\n</tool_call>"

    return "\n".join(one(*call) for call in calls)


def kimi(calls: Calls) -> str:
    each = "".join(
        f"<|tool_call_begin|>functions.{tool}:{n}<|tool_call_argument_begin|>"
        f"{_dumped(dict(given))}<|tool_call_end|>"
        for n, (tool, given) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{each}<|tool_calls_section_end|>"


def harmony(calls: Calls) -> str:
    return "<|start|>assistant".join(
        f"<|channel|>commentary to=functions.{tool} <|constrain|>json<|message|>"
        f"{_dumped(dict(given))}<|call|>"
        for tool, given in calls
    )


def react(calls: Calls) -> str:
    first = "Thought: I should look at it.\n"
    return first + "\n".join(
        f"Action: {tool}\nAction Input: {_dumped(dict(given))}" for tool, given in calls
    )


def qwen_agent(calls: Calls) -> str:
    return "\n".join(f"✿FUNCTION✿: {tool}\n✿ARGS✿: {_dumped(dict(given))}" for tool, given in calls)


def own_tags(calls: Calls) -> str:
    def one(tool: str, given: Mapping[str, Any]) -> str:
        inner = "\n".join(f"<{key}>{_text(value)}</{key}>" for key, value in given.items())
        return f"<{tool}>\n{inner}\n</{tool}>"

    return "\n".join(one(*call) for call in calls)


def name_tags(calls: Calls) -> str:
    return "\n".join(
        f"<tool_call>\n<name>{tool}</name>\n<arguments>{_dumped(dict(given))}</arguments>\n</tool_call>"
        for tool, given in calls
    )


def invoke_with_tags(calls: Calls) -> str:
    def one(tool: str, given: Mapping[str, Any]) -> str:
        inner = "\n".join(f"<{key}>{_text(value)}</{key}>" for key, value in given.items())
        return f'<invoke name="{tool}">\n{inner}\n</invoke>'

    return "\n".join(one(*call) for call in calls)


def internlm(calls: Calls) -> str:
    return "".join(
        f"<|action_start|><|plugin|>{_dumped(one)}<|action_end|>"
        for one in _objects(calls, arguments="parameters")
    )


def thinking(calls: Calls) -> str:
    return f"The person wants this done.\nI call the tool.\n</think>\n\n{hermes(calls)}"


DIALECTS: Mapping[str, Writer] = {
    writer.__name__: writer
    for writer in (
        hermes,
        hermes_behind_prose,
        hermes_on_one_line,
        hermes_unclosed,
        qwen_coder,
        qwen_coder_without_frame,
        llama,
        llama_function,
        llama_bare,
        pythonic,
        llama_4,
        lfm,
        olmo,
        gemma,
        mistral,
        mistral_v11,
        invoke,
        minimax,
        bare_json,
        fenced_json,
        openai_json,
        deepseek,
        deepseek_v31,
        functionary,
        functionary_v2,
        command_r,
        command_a,
        phi,
        granite,
        functools,
        nemotron,
        glm,
        kimi,
        harmony,
        react,
        qwen_agent,
        own_tags,
        name_tags,
        invoke_with_tags,
        internlm,
        thinking,
    )
}
