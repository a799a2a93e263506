"""Named sets of people of a tenant.

`django.contrib.auth.Group`, by which guardian grants rights, has a name that is unique over the
whole database. Each of our groups owns one under an opaque name, so that two tenants may both
have a group "finance" and neither can learn of the other's.
"""

import secrets

from django.contrib.auth.models import Group as AuthGroup
from django.db import models


class Group(models.Model):
    """A set of users that policies name; each role of a tenant has one as well."""

    tenant = models.ForeignKey("identity.Tenant", on_delete=models.PROTECT, related_name="groups")
    name = models.CharField(max_length=100)
    is_role = models.BooleanField(default=False)
    auth_group = models.OneToOneField(AuthGroup, on_delete=models.PROTECT, related_name="set")

    class Meta:
        db_table = "identity_group"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "is_role", "name"], name="group_name_once_per_tenant"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def create(cls, *, tenant_id: int, name: str, is_role: bool = False) -> "Group":
        """A new empty group with an auth group of its own."""
        auth_group = AuthGroup.objects.create(name=secrets.token_hex(16))
        return cls.objects.create(
            tenant_id=tenant_id, name=name, is_role=is_role, auth_group=auth_group
        )

    @classmethod
    def named(cls, *, tenant_id: int, name: str) -> "Group":
        """The tenant's group of that name, made when it is not there yet."""
        found = cls.objects.filter(tenant_id=tenant_id, is_role=False, name=name).first()
        return found or cls.create(tenant_id=tenant_id, name=name)
