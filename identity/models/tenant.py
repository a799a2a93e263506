"""The isolation boundary: everything else belongs to exactly one tenant."""

from collections.abc import Iterator

from django.core.validators import RegexValidator
from django.db import models, transaction

from audit.record import Actor, Draft, record_for_tenant
from identity.models.group import Group
from identity.roles import Role

slug_rule = RegexValidator(
    r"\A[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z",
    "A tenant's slug is 1 to 63 of a-z, 0-9 and '-', and starts and ends with a letter or digit.",
)


class Tenant(models.Model):
    """One organization on this server."""

    slug = models.CharField(max_length=63, unique=True, validators=[slug_rule])
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "identity_tenant"

    def __str__(self) -> str:
        return self.slug

    @classmethod
    def create(cls, slug: str, *, by: Actor) -> "Tenant":
        """A new tenant with a group for each role; ValidationError for a bad or taken slug."""
        tenant = cls(slug=slug)
        tenant.full_clean()
        with transaction.atomic():
            tenant.save()
            for role in Role:
                Group.create(tenant_id=tenant.pk, name=role.value, is_role=True)
            record_for_tenant(
                tenant_id=tenant.pk,
                drafts=[Draft(type="tenant.created", actor=by, detail={"slug": slug})],
            )
        return tenant


def tenant_slugs() -> Iterator[tuple[int, str]]:
    """Every tenant's id and slug, for the verifier."""
    return Tenant.objects.order_by("pk").values_list("pk", "slug").iterator()
