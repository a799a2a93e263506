"""The tool of the documents acts once on each approval, and on nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import placet
from tests.cast import PAYMENT
from tests.client.site import People, Site
from tests.docs.pages import all_blocks, text_of

pytestmark = pytest.mark.django_db(transaction=True)

PAID = [("V-2291", 40_000_000)]


@pytest.fixture
def names() -> dict[str, Any]:
    """What the program of the document defines."""
    text = text_of("docs/howto/check-a-grant.md")
    (program,) = [block.text for block in all_blocks(text) if block.how == "tool"]
    names: dict[str, Any] = {"__name__": "tool"}
    exec(program, names)
    return names


@pytest.fixture
def tool(names: dict[str, Any], served: Site, tmp_path: Path) -> Any:
    """The tool, with the server's keys."""
    keys = f"{served.url}/.well-known/jwks.json"
    return names["PayVendor"](str(tmp_path / "tool.sqlite"), tenant="acme", jwks=keys)


@pytest.fixture
def asked(run: placet.Run, people: People) -> placet.Interrupt:
    """An approved payment."""
    asked = run.ask("pay_vendor", PAYMENT, call_id="call-1")
    people.answer(asked.id)
    return run.wait(asked)


def calling(tool: Any, grants: list[str]) -> Callable[..., Any]:
    """The work of an executor: hand the grant on, and note it."""

    def call(args: dict[str, Any], *, grant: str, idempotency_key: str) -> Any:
        grants.append(grant)
        return tool(args, grant=grant)

    return call


def test_an_approved_payment_is_paid_once(
    tool: Any, names: dict[str, Any], run: placet.Run, asked: placet.Interrupt
) -> None:
    grants: list[str] = []
    with run.lease(holder="worker-1") as lease:
        told = lease.execute(asked, calling(tool, grants))

    assert asked.decision is not None and asked.decision.idempotency_key is not None
    assert told == {"receipt": asked.decision.idempotency_key[-8:]}
    assert tool.payments() == PAID
    with pytest.raises(names["Replayed"]):
        tool(PAYMENT, grant=grants[0])
    assert tool.payments() == PAID


def test_other_arguments_are_not_paid(tool: Any, run: placet.Run, asked: placet.Interrupt) -> None:
    def greedy(args: dict[str, Any], *, grant: str, **_: str) -> Any:
        with pytest.raises(placet.InvalidGrant, match="not what was approved"):
            tool({**args, "amount_paise": 50_000_000}, grant=grant)
        raise placet.NotExecuted("The tool refused it.")

    with pytest.raises(placet.NotExecuted), run.lease(holder="worker-1") as lease:
        lease.execute(asked, greedy)

    assert tool.payments() == []


def test_the_same_effect_under_a_new_grant_is_answered_and_not_done_again(
    tool: Any, run: placet.Run, asked: placet.Interrupt, people: People
) -> None:
    """The tool paid, the executor thought that it had not, and was allowed to try again."""
    grants: list[str] = []

    def doubts(args: dict[str, Any], **given: Any) -> None:
        calling(tool, grants)(args, **given)
        raise placet.NotExecuted("I think that it was not sent.")

    with pytest.raises(placet.NotExecuted), run.lease(holder="worker-1") as lease:
        lease.execute(asked, doubts)
    first = run.refresh().actions[0]
    again = run.ask("pay_vendor", PAYMENT, call_id="call-1", retry_of=first.id)
    people.answer(again.id)

    with run.lease(holder="worker-1") as lease:
        told = lease.execute(run.wait(again), calling(tool, grants))

    assert len(set(grants)) == 2
    assert (told, tool.payments()) == ({"receipt": first.idempotency_key[-8:]}, PAID)
