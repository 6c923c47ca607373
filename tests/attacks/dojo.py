"""Prints AgentDojo's ground truth as JSON: the calls of its tasks, and those its injections want.

A program of its own: its packages stay out of the tests' process. No model is asked, so nothing of
its clients for models is run; of the one module of those that the suites name, only constants are.
"""

import ast
import importlib
import importlib.util
import json
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

CANARY = "what-a-stranger-wrote"
PIPELINE = "agentdojo.agent_pipeline"
CLIENT = f"{PIPELINE}.llms.google_llm"  # the suites take one constant from it


def without_clients() -> None:
    _put(_spec(PIPELINE))  # its beginning imports every client that there is
    _put(_spec(f"{PIPELINE}.llms"))
    client = _put(_spec(CLIENT))
    assert client.__file__ is not None
    for node in ast.parse(Path(client.__file__).read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            [name] = node.targets
            assert isinstance(name, ast.Name)
            client.__dict__[name.id] = node.value.value


def _spec(name: str) -> ModuleSpec:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    return spec


def _put(spec: ModuleSpec) -> ModuleType:
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    return module


def injected(suite: Any) -> Any:
    """Return a world in which every place that a stranger can write to contains the canary."""
    vectors = suite.get_injection_vector_defaults()
    return suite.load_and_inject_default_environment(dict.fromkeys(vectors, CANARY))


def task_calls(suite: Any, world: Any, task: Any) -> list[dict[str, Any]]:
    """Return the calls of a task. `hostile`: the call's result shows a stranger's text."""
    world = task.init_environment(world)
    runtime = importlib.import_module("agentdojo.functions_runtime").FunctionsRuntime(suite.tools)
    found = []
    for call in task.ground_truth(world):
        result, _error = runtime.run_function(world, call.function, call.args)
        found.append(call_of(call) | {"hostile": CANARY in repr(result)})
    return found


def call_of(call: Any) -> dict[str, Any]:
    return {"tool": call.function, "arguments": dict(call.args)}


def told(suite: Any) -> dict[str, Any]:
    world = injected(suite)
    return {
        "tools": sorted(tool.name for tool in suite.tools),
        "tasks": [
            {
                "id": task.ID,
                "said": task.PROMPT,
                "calls": task_calls(suite, world.model_copy(deep=True), task),
            }
            for task in suite.user_tasks.values()
        ],
        "attacks": [
            {
                "id": task.ID,
                "calls": [call_of(call) for call in task.ground_truth(world.model_copy(deep=True))],
            }
            for task in suite.injection_tasks.values()
        ],
    }


def main(version: str) -> None:
    without_clients()
    suites = importlib.import_module("agentdojo.task_suite.load_suites").get_suites(version)
    json.dump({name: told(suite) for name, suite in suites.items()}, sys.stdout, default=str)


if __name__ == "__main__":
    main(sys.argv[1])
