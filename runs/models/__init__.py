from runs.models.idempotency import IdempotencyRecord
from runs.models.run import NewRun, Run
from runs.models.turn import Turn

__all__ = ["IdempotencyRecord", "NewRun", "Run", "Turn"]
