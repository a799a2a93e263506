"""People. A user is deactivated, never deleted: decisions must name somebody for years.

Losing a right (deactivation, a role, a group) writes the user's own row, so that a decision,
which holds that row FOR SHARE until it commits, either came before or sees the loss.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.core.validators import RegexValidator
from django.db import models, transaction

from audit.record import Actor, ActorKind, Draft, record_for_tenant
from identity.languages import language_rule, zone_rule
from identity.models.group import Group
from identity.models.tenant import Tenant
from identity.roles import Role

login_rule = RegexValidator(
    r"\A[A-Za-z0-9][A-Za-z0-9.@_+-]{0,149}\Z",
    "A login name is 1 to 150 of A-Z, a-z, 0-9 and .@_+- and starts with a letter or digit.",
)


class UserManager(BaseUserManager["User"]):
    """Finds people by login name, ignoring nothing: names are compared exactly."""


class User(AbstractBaseUser, PermissionsMixin):
    """A person of one tenant; login names are unique over all tenants."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="users")
    username = models.CharField(max_length=150, unique=True, validators=[login_rule])
    email = models.EmailField(blank=True)
    role = models.CharField(max_length=16, choices=[(role.value, role.value) for role in Role])
    is_active = models.BooleanField(default=True)
    language = models.CharField(
        max_length=16, blank=True, default="", db_default="", validators=[language_rule]
    )
    time_zone = models.CharField(
        max_length=64, blank=True, default="", db_default="", validators=[zone_rule]
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"

    class Meta:
        db_table = "identity_user"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(is_superuser=False), name="nobody_is_above_the_tenants"
            )
        ]

    def __str__(self) -> str:
        return self.username

    @property
    def public_id(self) -> str:
        """The id by which the API, events and exports name this person."""
        return f"usr_{self.pk}"

    def as_actor(self) -> Actor:
        """This person as the one who did something, name as it is now."""
        return Actor(kind=ActorKind.USER, id=self.public_id, name=self.username)

    @classmethod
    def create(
        cls,
        username: str,
        *,
        tenant: Tenant,
        role: Role,
        groups: Iterable[str] = (),
        password: str,
        email: str = "",
        by: Actor,
    ) -> "User":
        """A new active person; ValidationError for a bad or taken login name."""
        user = cls(tenant=tenant, username=username, role=role.value, email=email)
        user.set_password(password)
        user.full_clean()
        names = sorted(set(groups))
        with transaction.atomic():
            user.save()
            user.join(names)
            record_for_tenant(
                tenant_id=tenant.pk,
                drafts=[
                    Draft(
                        type="user.created",
                        actor=by,
                        detail={
                            "user": user.public_id,
                            "name": username,
                            "role": role.value,
                            "groups": [*names],
                        },
                    )
                ],
            )
        return user

    def join(self, names: Iterable[str]) -> None:
        """Put a person just made into the group of the role and into the groups named."""
        mine = [Group.named(tenant_id=self.tenant_id, name=name) for name in names]
        role = Group.objects.get(tenant_id=self.tenant_id, is_role=True, name=self.role)
        self.groups.set([group.auth_group_id for group in (*mine, role)])

    def read_in(self, *, language: str, time_zone: str) -> None:
        """Keep the language and time zone in which this person reads pages and messages.

        "" leaves the language to the browser, and the times in UTC. ValidationError for what is
        neither. It changes no right, so it goes on no record.
        """
        self.language, self.time_zone = language, time_zone
        self.clean_fields(exclude={f.name for f in self._meta.fields} - {"language", "time_zone"})
        User.objects.filter(pk=self.pk).update(language=language, time_zone=time_zone)

    def deactivate(self, *, by: Actor) -> bool:
        """End this person's access from the next request on; False when it had ended before."""
        with transaction.atomic():
            row = User.objects.select_for_update(of=("self",)).get(pk=self.pk)
            if not row.is_active:
                return False
            User.objects.filter(pk=self.pk).update(is_active=False)
            record_for_tenant(
                tenant_id=row.tenant_id,
                drafts=[
                    Draft(
                        type="user.deactivated",
                        actor=by,
                        detail={"user": row.public_id, "name": row.username},
                    )
                ],
            )
        self.is_active = False
        return True

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Refused: the record names this person; deactivate instead."""
        raise models.ProtectedError("People are deactivated, never deleted.", {self})
