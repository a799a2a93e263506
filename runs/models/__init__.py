from runs.models.action import Action
from runs.models.idempotency import IdempotencyRecord
from runs.models.run import NewRun, Run
from runs.models.signing_key import SigningKey
from runs.models.turn import Turn

__all__ = ["Action", "IdempotencyRecord", "NewRun", "Run", "SigningKey", "Turn"]
