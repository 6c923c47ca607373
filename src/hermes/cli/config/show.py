"""hermes config show: print all settings and where each comes from."""

from collections.abc import Mapping

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.config.tree import leaves, settings_tree, value_text
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.options import json_option
from hermes.settings import Settings
from hermes.settings.home import CONFIG, SECRETS
from hermes.settings.sources import overrides, read_config


def run(options: JsonOptions, context: CliContext) -> int:
    settings = context.settings()
    tree = settings_tree(settings)
    if options.json:
        context.console.document(tree)
        return DONE
    source = _Sources(context, settings)
    rows = [(".".join(path), value_text(value), source(path)) for path, value in leaves(tree)]
    context.console.table(("KEY", "VALUE", "FROM"), rows)
    return DONE


class _Sources:
    """Where each value came from."""

    def __init__(self, context: CliContext, settings: Settings) -> None:
        self._file = read_config(context.home / CONFIG)
        self._environ = context.environ
        _tree, self._origins = overrides(settings.secrets)

    def __call__(self, path: tuple[str, ...]) -> str:
        for length in range(len(path), 0, -1):
            variable = self._origins.get(".".join(path[:length]))
            if variable is not None:
                return variable if variable in self._environ else f"{SECRETS}: {variable}"
        node: object = self._file
        for name in path:
            if not isinstance(node, Mapping) or node.get(name) is None:
                return "default"
            node = node[name]
        return CONFIG


COMMAND = CliCommand(
    options=JsonOptions,
    run=run,
    arguments=json_option,
)
