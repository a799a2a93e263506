"""A tenant's display hints: each save is a version, and a version never changes."""

from functools import lru_cache
from typing import ClassVar

from django.db import models, transaction

from approvals.rules.display import Hint, read_hints
from audit.record import Actor, Draft, record_for_tenant
from identity.models import Tenant
from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex
from placet.protocol.reading import JSONValue, read_json
from placet.protocol.refusals import Fault


class DisplayVersion(models.Model):
    """The hints that were in force from one save to the next."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="display_versions")
    version = models.IntegerField()
    hints_text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "approvals_displayversion"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "version"], name="display_version_once")
        ]

    def __str__(self) -> str:
        return f"{self.tenant}@{self.version}"

    def content_digest(self) -> str:
        """The digest of the hints as saved, which the record of the saving holds."""
        return sha256_hex(self.hints_text)

    @classmethod
    def in_force(cls, tenant_id: int) -> "DisplayVersion | None":
        """The tenant's newest version; None where no hint was ever saved."""
        return cls.objects.filter(tenant_id=tenant_id).order_by("-version").first()

    @classmethod
    def hints_of(cls, tenant_id: int) -> tuple[Hint, ...]:
        """The tenant's hints in their order."""
        version = cls.in_force(tenant_id)
        return parsed_hints(version.hints_text) if version else ()

    @classmethod
    def set(
        cls, tenant: Tenant, document: JSONValue, *, by: Actor
    ) -> "DisplayVersion | tuple[Fault, ...]":
        """The next version of the tenant's hints, or every fault of the file."""
        _, faults = read_hints(document)
        if faults:
            return faults
        text = canonical(document)
        with transaction.atomic():
            Tenant.objects.select_for_update(of=("self",)).get(pk=tenant.pk)
            last = cls.in_force(tenant.pk)
            version = cls.objects.create(
                tenant=tenant, version=last.version + 1 if last else 1, hints_text=text
            )
            record_for_tenant(
                tenant_id=tenant.pk,
                drafts=[
                    Draft(
                        type="display.saved",
                        actor=by,
                        content_sha256=version.content_digest(),
                        detail={"version": version.version},
                    )
                ],
            )
        return version


@lru_cache(maxsize=256)
def parsed_hints(text: str) -> tuple[Hint, ...]:
    """The hints of a stored version's text; kept, since a version never changes."""
    hints, _ = read_hints(read_json(text.encode()))
    return hints
