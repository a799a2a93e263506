"""Where the example pays: a file that stands for a bank."""

import json
import os
from pathlib import Path
from typing import Any


class Ledger:
    """Payments by idempotency key; a key is honored once, as a careful bank does."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def payments(self) -> dict[str, Any]:
        """Give all payments, by key."""
        return json.loads(self._path.read_text()) if self._path.exists() else {}

    def pay(self, key: str, payment: dict[str, Any]) -> bool:
        """Book a payment; False when this key was honored before, which changes nothing."""
        payments = self.payments()
        if key in payments:
            return False
        fresh = self._path.with_suffix(".new")
        with fresh.open("w") as file:
            json.dump({**payments, key: payment}, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        return True
