from webhooks.models.delivery import Attempt, Cursor, Delivery
from webhooks.models.endpoint import Endpoint

__all__ = ["Attempt", "Cursor", "Delivery", "Endpoint"]
