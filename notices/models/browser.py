"""Browsers that a person lets be woken (Web Push): where their push service takes messages."""

from typing import ClassVar

from django.db import models, transaction

from identity.models import Tenant, User

BROWSERS_MAX = 10


class Browser(models.Model):
    """One subscription: `endpoint` is a URL of the browser's choice, so a stranger's.

    `p256dh` and `auth` are the browser's key and secret for RFC 8291, base64url.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    endpoint = models.CharField(max_length=1000)
    p256dh = models.CharField(max_length=100)
    auth = models.CharField(max_length=40)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "notices_browser"
        constraints: ClassVar = [models.UniqueConstraint(fields=["endpoint"], name="browser_once")]
        indexes: ClassVar = [models.Index(fields=["user"], name="notices_browser_user")]

    def __str__(self) -> str:
        return f"{self.user_id}/{self.pk}"

    @classmethod
    def put(cls, user: User, *, endpoint: str, p256dh: str, auth: str) -> "Browser":
        """Store a subscription; whoever subscribes last in a browser has it alone.

        Only a browser itself knows its endpoint. Of more than ten the oldest go.
        """
        with transaction.atomic():
            cls.objects.filter(endpoint=endpoint).exclude(user=user).delete()
            row, _ = cls.objects.update_or_create(
                endpoint=endpoint,
                defaults={
                    "tenant_id": user.tenant_id,
                    "user": user,
                    "p256dh": p256dh,
                    "auth": auth,
                },
            )
            mine = cls.objects.filter(tenant_id=user.tenant_id, user=user)
            kept = list(mine.order_by("-pk").values_list("pk", flat=True)[:BROWSERS_MAX])
            mine.exclude(pk__in=kept).delete()
        return row
