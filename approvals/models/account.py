"""Accounts that an admin registered for a person: at an origin they act as these and no others.

A shared login is no shared permission: an agent that acts for one person must not be led to
another's account of the same site.
"""

from typing import ClassVar

from django.db import models, transaction

from audit.record import Actor, Draft, record_for_tenant
from identity.models import Tenant, User
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import RefusalCode
from runs.rules.refusal import Refusal


class Account(models.Model):
    """One account of one person at one origin."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="accounts")
    origin = models.CharField(max_length=255)
    account = models.CharField(max_length=255)

    class Meta:
        db_table = "approvals_account"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "origin", "account"], name="account_once")
        ]

    def __str__(self) -> str:
        return f"{self.account} at {self.origin}"

    @classmethod
    def register(cls, user: User, *, origin: str, account: str, by: Actor) -> bool:
        """Say that this account is theirs, on record; False where it was said before."""
        with transaction.atomic():
            _, is_new = cls.objects.get_or_create(
                tenant_id=user.tenant_id, user=user, origin=origin, account=account
            )
            if is_new:
                detail: dict[str, JSONValue] = {
                    "user": user.public_id,
                    "name": user.username,
                    "origin": origin,
                    "account": account,
                }
                record_for_tenant(
                    tenant_id=user.tenant_id,
                    drafts=[Draft(type="account.registered", actor=by, detail=detail)],
                )
        return is_new


def foreign_account(tenant_id: int, owner_id: int, target: JSONValue) -> Refusal | None:
    """The refusal of a target with an account that is not the owner's, where theirs are known."""
    if not isinstance(target, dict) or "origin" not in target or "account" not in target:
        return None
    known = Account.objects.filter(
        tenant_id=tenant_id, user_id=owner_id, origin=str(target["origin"])
    )
    accounts = list(known.values_list("account", flat=True))  # an agent's value has no hash
    if not accounts or target["account"] in accounts:
        return None
    return Refusal(
        code=RefusalCode.NOT_PERMITTED,
        detail="This account is not registered for the run's owner at this origin.",
    )
