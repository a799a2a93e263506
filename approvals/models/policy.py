"""A tenant's policy: each save is a version, and a version never changes."""

from functools import lru_cache
from typing import ClassVar

from django.db import models, transaction

from approvals.rules.policy import DEFAULT_RULE, Rule
from approvals.rules.policy_file import read_policy
from audit.record import Actor, Draft, record_for_tenant
from identity.models import Tenant
from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex
from placet.protocol.reading import JSONValue, read_json
from placet.protocol.refusals import Fault


class PolicyVersion(models.Model):
    """The rules that were in force from one save to the next."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="policy_versions")
    version = models.IntegerField()
    rules_text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "approvals_policyversion"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "version"], name="policy_version_once")
        ]

    def __str__(self) -> str:
        return f"{self.tenant}@{self.version}"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in their order."""
        return parsed_rules(self.rules_text)

    def content_digest(self) -> str:
        """The digest of the rules as saved, which the record of the saving holds."""
        return sha256_hex(self.rules_text)

    def rule(self, rule_id: str) -> Rule:
        """The rule of this id; the default one has no place in any file."""
        return next((rule for rule in self.rules if rule.id == rule_id), DEFAULT_RULE)

    @classmethod
    def in_force(cls, tenant_id: int) -> "PolicyVersion | None":
        """The tenant's newest version; None where no policy was ever saved."""
        return cls.objects.filter(tenant_id=tenant_id).order_by("-version").first()

    @classmethod
    def set(
        cls, tenant: Tenant, document: JSONValue, *, by: Actor
    ) -> "PolicyVersion | tuple[Fault, ...]":
        """The next version of the tenant's policy, or every fault of the file."""
        _, faults = read_policy(document)
        if faults:
            return faults
        text = canonical(document)
        with transaction.atomic():
            Tenant.objects.select_for_update(of=("self",)).get(pk=tenant.pk)
            last = cls.in_force(tenant.pk)
            version = cls.objects.create(
                tenant=tenant, version=last.version + 1 if last else 1, rules_text=text
            )
            record_for_tenant(
                tenant_id=tenant.pk,
                drafts=[
                    Draft(
                        type="policy.saved",
                        actor=by,
                        content_sha256=version.content_digest(),
                        detail={"version": version.version},
                    )
                ],
            )
        return version


@lru_cache(maxsize=256)
def parsed_rules(text: str) -> tuple[Rule, ...]:
    """The rules of a stored version's text; kept, since a version never changes."""
    rules, _ = read_policy(read_json(text.encode()))
    return rules
