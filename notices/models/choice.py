"""What a person wants to be told of, and when not."""

from django.db import models

from identity.models import Tenant, User
from notices.rules.kinds import Kind


class Choice(models.Model):
    """A person's wishes; without a row everything is told at every hour.

    Quiet hours are by the clock of the person's zone; there are none where a bound is null.
    """

    user = models.OneToOneField(User, on_delete=models.PROTECT, primary_key=True, related_name="+")
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    asked = models.BooleanField(default=True)
    reminder = models.BooleanField(default=True)
    escalation = models.BooleanField(default=True)
    unknown = models.BooleanField(default=True)
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    escalation_wakes = models.BooleanField(default=False)

    class Meta:
        db_table = "notices_choice"

    def __str__(self) -> str:
        return str(self.pk)

    @classmethod
    def of(cls, user: User) -> "Choice":
        """The person's wishes, the default ones where none were stored."""
        found = cls.objects.filter(tenant_id=user.tenant_id, user=user).first()
        return found or cls(user=user, tenant_id=user.tenant_id)

    def wants(self, kind: Kind) -> bool:
        """Whether messages of this kind are wanted."""
        match kind:
            case Kind.ASKED | Kind.REOPENED:
                return self.asked
            case Kind.REMINDER:
                return self.reminder
            case Kind.ESCALATION:
                return self.escalation
            case Kind.UNKNOWN:
                return self.unknown
            case Kind.WEBHOOK | Kind.CODE | Kind.TEST:
                return True
