"""The signed proof of what was shown: to whom, which question, whole, at which hand-back, when.

It is made only for a page that holds every value of the question, and an answer counts only with
the proof of the very question that it answers (contract §2, Bound answers).
"""

from typing import Final

from django.core import signing

from approvals.models import Interrupt
from approvals.rules.answering import Shown
from identity.models import User

SALT: Final = "placet.approvals.view"
VALID_S: Final = 24 * 3600


def proof_of_showing(interrupt: Interrupt, user: User) -> str:
    """The proof that this person has the whole of this question before them now."""
    return signing.dumps(
        [user.pk, interrupt.pk, interrupt.asked_sha256, interrupt.handback], salt=SALT
    )


def shown_by(token: str) -> Shown | None:
    """What a proof says; None where it is missing, altered, or older than a day."""
    try:
        user_id, interrupt_id, digest, handback = signing.loads(token, salt=SALT, max_age=VALID_S)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return Shown(user_id=user_id, interrupt_id=interrupt_id, asked_sha256=digest, handback=handback)
