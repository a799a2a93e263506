from notices.models.address import Address, Confirmation
from notices.models.browser import Browser
from notices.models.choice import Choice
from notices.models.outbox import Cursor, Due, Notice

__all__ = ["Address", "Browser", "Choice", "Confirmation", "Cursor", "Due", "Notice"]
