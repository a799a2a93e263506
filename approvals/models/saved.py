"""What a tenant keeps as a file of rules: each save is a version, and a version never changes."""

from abc import abstractmethod
from typing import ClassVar, Self

from django.db import models, transaction

from audit.record import Actor, Draft, record_for_tenant
from identity.models import Tenant
from placet.protocol.canonical import canonical
from placet.protocol.digest import sha256_hex
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import Fault
from runs.rows import First, together


class Saved(models.Model):
    """One version of a document, in canonical form, in force until the next is saved."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    version = models.IntegerField()
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    EVENT: ClassVar[str]
    """The type of the event that records a save."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.tenant}@{self.version}"

    @staticmethod
    @abstractmethod
    def faults_of(document: JSONValue) -> tuple[Fault, ...]:
        """Everything that is wrong with a document; each kind of document has its own."""

    def content_digest(self) -> str:
        """The digest of the document as saved, which the record of the saving holds."""
        return sha256_hex(self.text)

    @classmethod
    def in_force(cls, tenant_id: int) -> Self | None:
        """The tenant's newest version; None where nothing was ever saved."""
        row: Self | None
        (row,) = together(cls.newest(tenant_id))
        return row

    @classmethod
    def newest(cls, tenant_id: int) -> First[Self]:
        """The search for the version that is in force."""
        return First(cls, "tenant_id = %s ORDER BY version DESC", [tenant_id])

    @classmethod
    def set(cls, tenant: Tenant, document: JSONValue, *, by: Actor) -> Self | tuple[Fault, ...]:
        """The next version of the tenant's document, or every fault of it."""
        if faults := cls.faults_of(document):
            return faults
        text = canonical(document)
        with transaction.atomic():
            Tenant.objects.select_for_update(of=("self",)).get(pk=tenant.pk)
            last = cls.in_force(tenant.pk)
            version = cls._default_manager.create(
                tenant=tenant, version=last.version + 1 if last else 1, text=text
            )
            record_for_tenant(
                tenant_id=tenant.pk,
                drafts=[
                    Draft(
                        type=cls.EVENT,
                        actor=by,
                        content_sha256=version.content_digest(),
                        detail={"version": version.version},
                    )
                ],
            )
        return version
