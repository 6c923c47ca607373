"""Skills and proposals as JSON documents."""

from collections.abc import Mapping

from msgspec.structs import asdict

from hermes.cli.output.times import iso
from hermes.ports.skills import SkillProposal, SkillRow


def skill_document(row: SkillRow) -> Mapping[str, object]:
    return {**asdict(row), "last_used_at": iso(row.last_used_at)}


def proposal_document(proposal: SkillProposal) -> Mapping[str, object]:
    return {**asdict(proposal), "at": iso(proposal.at)}
