"""The road to webhooks: tenant first, and one answer for absent and foreign alike."""

from typing import Final

from django.http import Http404

from identity.models import User
from identity.roles import Role
from runs.ids import is_id
from webhooks.models import Delivery, Endpoint

SEE: Final = frozenset({Role.ADMIN, Role.AUDITOR})
CHANGE: Final = frozenset({Role.ADMIN})


def reach_endpoint(user: User, endpoint_id: str) -> Endpoint:
    """This endpoint of the person's tenant; Http404 where there is none."""
    row = None
    if is_id(endpoint_id):
        row = Endpoint.objects.filter(tenant_id=user.tenant_id, pk=endpoint_id).first()
    if row is None:
        raise Http404
    return row


def reach_delivery(endpoint: Endpoint, delivery_id: str) -> Delivery:
    """This delivery of an endpoint that was reached; Http404 where there is none."""
    row = None
    if is_id(delivery_id):
        row = Delivery.objects.filter(
            tenant_id=endpoint.tenant_id, endpoint=endpoint, pk=delivery_id
        ).first()
    if row is None:
        raise Http404
    return row
