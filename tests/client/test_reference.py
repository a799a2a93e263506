"""The page of the client names what there is, and its example does what it says."""

import inspect
import re
from typing import Any

import pytest

import placet
from approvals.models import Interrupt
from tests.cast import PAYMENT
from tests.client.site import Aside, People, Site, until
from tests.docs.pages import all_blocks, text_of

TEXT = text_of("docs/reference/client.md")
PAIRS = (
    (placet.Client, placet.AsyncClient),
    (placet.Run, placet.AsyncRun),
    (placet.Lease, placet.AsyncLease),
)


def members(handle: type) -> set[str]:
    return {name for name in dir(handle) if not name.startswith("_")}


def test_every_public_name_is_told() -> None:
    words = set(re.findall(r"\w+", TEXT))

    assert set(placet.__all__) - words == {"AsyncRun"}


@pytest.mark.parametrize("handle", [pair[0] for pair in PAIRS])
def test_every_call_and_member_is_told(handle: type) -> None:
    words = set(re.findall(r"\w+", TEXT))

    assert members(handle) - words == set()


def test_every_member_of_a_question_is_told() -> None:
    words = set(re.findall(r"\w+", TEXT))

    assert set(inspect.signature(placet.Question).parameters) - words == set()


@pytest.mark.parametrize(("handle", "on_loop"), PAIRS)
def test_both_clients_have_the_same_names_and_parameters(handle: type, on_loop: type) -> None:
    def parameters(of: type) -> dict[str, list[str]]:
        calls = {name: getattr(of, name) for name in members(of)}
        return {
            name: list(inspect.signature(call).parameters) if callable(call) else []
            for name, call in calls.items()
        }

    assert parameters(handle) == parameters(on_loop)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("answer", "outcome"), [("approve", "succeeded"), ("reject", "rejected")])
def test_the_example_does_what_it_says(
    served: Site, client: placet.Client, key: str, people: People, *, answer: str, outcome: str
) -> None:
    (program,) = [block.text for block in all_blocks(TEXT) if block.how == "example"]
    paid: list[dict[str, Any]] = []

    def pay(args: dict[str, Any], *, idempotency_key: str, grant: str) -> str:
        paid.append(args)
        return "R-1"

    names: dict[str, Any] = {"base_url": served.url, "key": key, "pay": pay}
    running = Aside(lambda: exec(program, names))
    until(lambda: served.hub.waiting == 1)
    people.answer(Interrupt.objects.get().pk, answer, reason="Because.")
    running.join()

    (run,) = client.find_runs(external_id="order-17")
    assert run.view.outcome == outcome
    assert len(paid) == (answer == "approve")


@pytest.mark.django_db(transaction=True)
def test_a_restarted_agent_learns_what_became_of_its_action(
    client: placet.Client, people: People
) -> None:
    def begin() -> tuple[placet.Run, placet.Interrupt]:
        run = client.create_run(title="Pay", owner="alice", external_id="order-17")
        return run, run.ask("pay_vendor", PAYMENT, call_id="pay")

    run, asked = begin()
    people.answer(asked.id)
    with run.lease(holder="worker-1") as lease:
        lease.execute(run.wait(asked), lambda args, **_: "R-1")

    again, asked = begin()

    assert (again.id, asked.is_approved) == (run.id, True)
    assert asked.action_id is not None
    assert client.get_action(asked.action_id).result == "R-1"
    with again.lease(holder="worker-2") as lease, pytest.raises(placet.Refused) as refused:
        lease.execute(asked, lambda args, **_: pytest.fail("done twice"))
    assert refused.value.code == placet.RefusalCode.ALREADY_DISPATCHED
