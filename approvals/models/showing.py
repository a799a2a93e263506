"""Who was shown what: one row a person, question and hand-back, and once more when revealed."""

from typing import Any, ClassVar

from django.db import models, transaction

from approvals.models.interrupt import Interrupt
from identity.models import User
from runs.models import Run


class Showing(models.Model):
    """A question was whole on a person's page; the record holds when."""

    interrupt = models.ForeignKey(Interrupt, on_delete=models.PROTECT, related_name="showings")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    handback = models.IntegerField()
    is_revealed = models.BooleanField()

    class Meta:
        db_table = "approvals_showing"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["interrupt", "user", "handback", "is_revealed"], name="shown_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.interrupt_id} → {self.user_id}"

    @classmethod
    def note(cls, interrupt: Interrupt, *, to: User, is_revealed: bool) -> None:
        """Record that this person has the question before them, unless that is on record.

        Looking is no command: what is due in the run stays so until a command or the sweeper comes.
        """
        seen: dict[str, Any] = {"handback": interrupt.handback, "is_revealed": is_revealed}
        if cls.objects.filter(interrupt=interrupt, user=to, **seen).exists():
            return
        with transaction.atomic():
            turn = Run.hold(interrupt.run_id)
            # Two tabs at once: the run's lock makes the second see the first one's row.
            _, is_first = cls.objects.get_or_create(interrupt=interrupt, user=to, **seen)
            if is_first:
                turn.note(
                    interrupt.event(
                        "interrupt.shown",
                        by=to.as_actor(),
                        from_state=interrupt.state,
                        revision=turn.run.revision,
                        detail={"handback": interrupt.handback, "revealed": is_revealed},
                    )
                )
            turn.close()
