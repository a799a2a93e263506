"""What all of them do: the order, its options, and how it ends."""

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from pay_vendor.ledger import Ledger
from placet import AsyncClient, AsyncRun


@dataclass(frozen=True, slots=True)
class Order:
    """An invoice to pay, on whose behalf, and the folder in which the agent keeps things."""

    invoice: str
    vendor_id: str
    amount_paise: int
    owner: str
    data: Path

    @classmethod
    def of(cls, program: str, description: str | None) -> "Order":
        """The order as the command line gives it."""
        parser = argparse.ArgumentParser(prog=f"adapters.{program}", description=description)
        parser.add_argument("--data", type=Path, required=True, help="folder of what is kept")
        parser.add_argument("--owner", default="alice", help="on whose behalf the agent acts")
        parser.add_argument("--invoice", default="INV-88412")
        parser.add_argument("--vendor-id", default="V-2291")
        parser.add_argument("--amount-paise", type=int, default=40_000_000)
        order = cls(**vars(parser.parse_args()))
        order.data.mkdir(parents=True, exist_ok=True)
        return order

    @property
    def text(self) -> str:
        """What the agent is told to do."""
        return f"Pay {self.invoice}: {self.amount_paise} paise to {self.vendor_id}."

    @property
    def args(self) -> dict[str, str | int]:
        """The call that the scripted model makes."""
        return {
            "vendor_id": self.vendor_id,
            "invoice": self.invoice,
            "amount_paise": self.amount_paise,
        }

    @property
    def ledger(self) -> Ledger:
        """The file that stands for a bank."""
        return Ledger(self.data / "ledger.json")

    @property
    def is_paid(self) -> bool:
        """Whether the bank has a payment of the invoice."""
        return any(each["invoice"] == self.invoice for each in self.ledger.payments().values())

    async def run(self, client: AsyncClient) -> AsyncRun:
        """The run of this invoice, the same one whenever the agent is started again."""
        return await client.create_run(
            title=f"Pay invoice {self.invoice}", owner=self.owner, external_id=self.invoice
        )

    async def end(self, run: AsyncRun, said: str) -> None:
        """Say how it went, and finish the run."""
        say(said)
        await run.finish("succeeded" if self.is_paid else "rejected")


def connect() -> AsyncClient:
    """The client of the server that the environment names."""
    try:
        return AsyncClient(os.environ["PLACET_URL"], os.environ["PLACET_KEY"])
    except KeyError as missing:
        sys.exit(f"Set {missing.args[0]}: the server's address, the agent's key.")


def say(text: str) -> None:
    """Tell it on the terminal at once."""
    print(text, flush=True)
