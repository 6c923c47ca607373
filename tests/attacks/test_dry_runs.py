"""POL-7: “always” for a dry run is no “always” for the real one. Nothing here is run."""

import pytest

from hermes.core.grants import Template
from hermes.tools.shell.grants import template_of
from hermes.tools.shell.paths import CommandPlace
from hermes.tools.shell.verdict import judge

PLACE = CommandPlace(root="/srv/project", cwd="/srv/project", home="/home/user")


def template(command: str) -> Template | None:
    return template_of(judge(command, PLACE), PLACE)


@pytest.mark.parametrize(
    ("granted", "called"),
    [
        ("git push --dry-run origin main", "git push origin main"),
        ("git clean -n -d", "git clean -d"),
        ("git clean -nfd", "git clean -fd"),
        ("git commit --dry-run -a", "git commit -a"),
        ("make -n install", "make install"),
        ("make --dry-run", "make"),
        ("rm -i build/x", "rm build/x"),
        ("rm --interactive=always -r build", "rm -r build"),
        ("npm run build --dry-run", "npm run build"),
        ("apt install -s x", "apt install x"),
        ("terraform apply -refresh-only", "terraform apply"),
        ("kubectl delete --dry-run=client pod x", "kubectl delete pod x"),
        ("helm upgrade --dry-run x", "helm upgrade x"),
        ("patch --dry-run a b", "patch a b"),
        ("mv -n build/a build/b", "mv build/a build/b"),
        ("touch -c build/x", "touch build/x"),
    ],
)
def test_pol_07_a_grant_for_a_dry_run_does_not_cover_the_real_command(
    granted: str, called: str
) -> None:
    grant, call = template(granted), template(called)
    if grant is None:
        return  # “always” is not even offered
    assert call is None or not grant.covers(call)
    assert call is None or not call.covers(grant)
