"""What a question says: the half of an interrupt that never changes once stored.

A trigger refuses any change of these columns, and the record of the asking holds their digest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models

from approvals.models.policy import PolicyVersion
from approvals.rules.policy import DEFAULT_RULE, Rule
from placet.protocol.canonical import canonical
from placet.protocol.digest import canonical_asked, sha256_hex
from placet.protocol.reading import JSONValue, read_json
from placet.protocol.states import DecisionKind, InterruptKind
from runs.models import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class NewQuestion:
    """One question as an agent asks it, already read strictly and checked for its shape."""

    call_id: str
    kind: InterruptKind
    tool: str
    args: Mapping[str, JSONValue]
    target: Mapping[str, JSONValue] | None = None
    description: str = ""
    args_schema: dict[str, JSONValue] | None = None
    response_schema: dict[str, JSONValue] | None = None
    allowed_decisions: frozenset[DecisionKind] | None = None
    expires_in_s: int | None = None
    observation_max_age_s: int | None = None
    sensitive: tuple[str, ...] = ()
    handoff_url: str | None = None
    retry_of: str | None = None

    @property
    def asked(self) -> str:
        """The canonical text that the digest covers (contract §4)."""
        return canonical_asked(tool=self.tool, args=self.args, target=self.target)

    @property
    def asked_value(self) -> dict[str, JSONValue]:
        """`{tool, args, target}`, to which rules are matched."""
        target = None if self.target is None else dict(self.target)
        return {"tool": self.tool, "args": dict(self.args), "target": target}


class Content(models.Model):
    """The immutable columns of an interrupt; texts of JSON are in canonical form."""

    id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey("identity.Tenant", on_delete=models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="interrupts")
    agent = models.ForeignKey(  # the run's, so that its open questions are counted by an index
        "identity.Agent",
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    call_id = models.CharField(max_length=255)
    attempt = models.IntegerField()
    kind = models.CharField(max_length=16)
    round = models.IntegerField()
    tool = models.CharField(max_length=128)
    asked = models.TextField()
    asked_sha256 = models.CharField(max_length=64)
    requested_sha256 = models.CharField(max_length=64)
    description = models.TextField(blank=True)
    args_schema = models.TextField(null=True)
    response_schema = models.TextField(null=True)
    allowed_decisions = ArrayField(models.CharField(max_length=16))
    sensitive = ArrayField(models.TextField())
    observation_max_age_s = models.IntegerField(null=True)
    policy = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, null=True, related_name="+")
    policy_version = models.IntegerField()
    policy_rule = models.CharField(max_length=64)
    required = models.IntegerField()
    warnings = ArrayField(models.CharField(max_length=64))
    retry_of = models.CharField(max_length=40, null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        abstract = True

    UNTIMED: ClassVar = (
        "id",
        "tenant_id",
        "run_id",
        "call_id",
        "attempt",
        "kind",
        "round",
        "tool",
        "asked",
        "asked_sha256",
        "requested_sha256",
        "description",
        "args_schema",
        "response_schema",
        "allowed_decisions",
        "sensitive",
        "observation_max_age_s",
        "policy_id",
        "policy_version",
        "policy_rule",
        "required",
        "warnings",
        "retry_of",
    )

    @property
    def content(self) -> dict[str, JSONValue]:
        """`{tool, args, target}`, read anew from the stored canonical text."""
        value = read_json(self.asked.encode())
        assert isinstance(value, dict)
        return value

    @property
    def rule(self) -> Rule:
        """The rule that binds this question, of the version in force when it was asked."""
        rule = self.policy.rule(self.policy_rule) if self.policy else DEFAULT_RULE
        return rule.for_kind(InterruptKind(self.kind))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules of the version that binds this question."""
        return self.policy.rules if self.policy else ()

    @property
    def rule_actor_id(self) -> str:
        """How an event names the rule: `<rule>@<version>`."""
        return f"{self.policy_rule}@{self.policy_version}"

    def content_digest(self) -> str:
        """The digest of all of this, which the record of the asking holds."""
        members: dict[str, JSONValue] = {name: getattr(self, name) for name in self.UNTIMED}
        members["created_at"] = self.created_at.astimezone(UTC).isoformat()
        members["expires_at"] = self.expires_at.astimezone(UTC).isoformat()
        return sha256_hex(canonical(members))


def stored_schema(schema: dict[str, JSONValue] | None) -> str | None:
    """A schema as it is stored."""
    return None if schema is None else canonical(schema)


def schema_value(text: str | None) -> dict[str, JSONValue] | None:
    """A stored schema's value."""
    if text is None:
        return None
    value = read_json(text.encode())
    assert isinstance(value, dict)
    return value
