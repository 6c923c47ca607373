"""All tasks, in the order in which they are reported."""

from collections.abc import Mapping

from tests.tasks.minding import CHARACTER, KEEPING
from tests.tasks.task import Task
from tests.tasks.working import FILES, SHELL

TASKS: Mapping[str, Task] = {task.name: task for task in (*FILES, *SHELL, *KEEPING, *CHARACTER)}
