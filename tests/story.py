"""Events of the record with the times that a test chooses."""

from datetime import UTC, datetime, timedelta

from django.db import connection

from identity.models import User
from tests.cast import Cast

NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)

INSERT = """
INSERT INTO audit_event (tenant_id, run_id, run_seq, type, at, actor_kind, actor_id, actor_name,
    interrupt_id, agent_id, tool, detail, code, previous_hash, hash)
VALUES (%(tenant)s, %(run)s, %(seq)s, %(type)s, %(at)s, %(kind)s, %(id)s, %(name)s,
    %(interrupt)s, %(agent)s, %(tool)s, %(detail)s, %(code)s, '', '')
"""


class Story:
    """Writes events with the times that a test chooses."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.told = 0

    def tell(
        self,
        kind: str,
        at: datetime,
        *,
        by: User | str,
        interrupt: str | None = None,
        tool: str = "pay_vendor",
        detail: str = "{}",
        code: str | None = None,
    ) -> None:
        self.told += 1
        members: dict[str, int | str | datetime | None] = {
            "tenant": by.tenant_id if isinstance(by, User) else self.cast.tenant.pk,
            "run": f"run_{self.told}",
            "seq": 1,
            "type": kind,
            "at": at,
            "kind": "user" if isinstance(by, User) else by,
            "id": by.public_id if isinstance(by, User) else by,
            "name": by.username if isinstance(by, User) else by,
            "interrupt": interrupt,
            "agent": self.cast.agent.pk,
            "tool": tool,
            "detail": detail,
            "code": code,
        }
        with connection.cursor() as cursor:
            cursor.execute(INSERT, members)

    def answered(
        self,
        by: User,
        *,
        kind: str = "approve",
        waited_s: float = 60,
        looked_s: float | None = 10,
        at: datetime = NOON,
        tool: str = "pay_vendor",
        asked: bool = True,
        event: str = "interrupt.decided",
        interrupt: str | None = None,
    ) -> str:
        interrupt = interrupt or f"int_{self.told}"
        if asked:
            self.tell(
                "interrupt.asked",
                at - timedelta(seconds=waited_s),
                by="agent",
                interrupt=interrupt,
                tool=tool,
            )
        if looked_s is not None:
            shown_at = at - timedelta(seconds=looked_s)
            self.tell("interrupt.shown", shown_at, by=by, interrupt=interrupt, tool=tool)
        detail = f'{{"decision":"{kind}"}}' if event == "interrupt.decided" else "{}"
        self.tell(event, at, by=by, interrupt=interrupt, tool=tool, detail=detail)
        return interrupt
