"""What an open inbox is told while it waits: that something changed, and how many wait.

No arguments, names or ids: the page then asks for what it shows, as the person it is.
"""

import json

from approvals.access import waiting_in_time
from approvals.web.inbox_filter import COUNTED, state_of
from identity.access import session_holder
from identity.models import User
from runs.waiting.notifier import tenant_key
from runs.waiting.stream import RETRY, Telling


def telling(session_key: str) -> Telling | None:
    """What the person of this session is told now; None where the session has ended."""
    user = session_holder(session_key)
    if user is None:
        return None
    return Telling(who=user.public_id, key=tenant_key(user.tenant_id), text=_message(user))


def first_words(user: User) -> bytes:
    """What a stream begins with."""
    return RETRY + _message(user)


def _message(user: User) -> bytes:
    rows = list(
        waiting_in_time(user)
        .order_by("expires_at", "pk")
        .values_list("pk", "state", "approvals_so_far")[: COUNTED + 1]
    )
    data = json.dumps({"waiting": min(len(rows), COUNTED), "state": state_of(rows)})
    return f"event: inbox\ndata: {data}\n\n".encode()
