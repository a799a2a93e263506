"""A tenant's policy: the rules by which questions are put to people."""

from functools import lru_cache
from typing import ClassVar

from django.db import models

from approvals.models.saved import Saved
from approvals.rules.policy import DEFAULT_RULE, Rule
from approvals.rules.policy_file import read_policy
from placet.protocol.reading import JSONValue, read_json
from placet.protocol.refusals import Fault


class PolicyVersion(Saved):
    """The rules that were in force from one save to the next."""

    EVENT = "policy.saved"

    class Meta:
        db_table = "approvals_policyversion"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "version"], name="policy_version_once")
        ]

    @staticmethod
    def faults_of(document: JSONValue) -> tuple[Fault, ...]:
        """Everything that is wrong with a policy file."""
        return read_policy(document)[1]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in their order."""
        return parsed_rules(self.text)

    def rule(self, rule_id: str) -> Rule:
        """The rule of this id; the default one has no place in any file."""
        return next((rule for rule in self.rules if rule.id == rule_id), DEFAULT_RULE)


@lru_cache(maxsize=256)
def parsed_rules(text: str) -> tuple[Rule, ...]:
    """The rules of a stored version's text; kept, since a version never changes."""
    rules, _ = read_policy(read_json(text.encode()))
    return rules
