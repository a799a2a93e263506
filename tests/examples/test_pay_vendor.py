"""The example agent pays what was approved, once, and nothing else."""

import signal

from approvals.models import Interrupt
from placet.protocol.states import DecisionKind
from runs.models import Run
from tests.cast import PASSWORD
from tests.examples.browser import Browser, hidden
from tests.examples.conftest import Stage

ASKED = {"vendor_id": "V-2291", "invoice": "INV-88412", "amount_paise": 40_000_000}


def outcomes() -> list[tuple[str, str | None]]:
    """How all runs stand."""
    return list(Run.objects.order_by("pk").values_list("state", "outcome"))


def test_an_approved_payment_is_made_once(stage: Stage) -> None:
    agent = stage.start_agent("--act", "1")
    asked = stage.interrupt()
    assert (asked.content["args"], stage.payments()) == (ASKED, [])
    assert asked.run.title == "Pay invoice INV-88412"

    stage.cast.decide(asked, stage.cast.rae)

    assert agent.ended() == 0, agent.said
    assert "Got: approve by rae at" in agent.said
    assert stage.payments() == [ASKED]
    assert outcomes() == [("DONE", "succeeded")]


def test_an_edited_payment_is_made_with_the_amount_of_the_person(stage: Stage) -> None:
    agent = stage.start_agent("--act", "1")
    less = {**ASKED, "amount_paise": 39_900_000}

    stage.cast.decide(stage.interrupt(), stage.cast.rae, decision=DecisionKind.EDIT, args=less)

    assert agent.ended() == 0, agent.said
    assert "Paid 399,000.00 rupees (39900000 paise) to V-2291 for INV-88412." in agent.said
    assert stage.payments() == [less]


def test_a_rejected_payment_is_not_made_and_the_agent_gets_the_reason(stage: Stage) -> None:
    agent = stage.start_agent("--act", "1")

    stage.cast.decide(
        stage.interrupt(), stage.cast.rae, decision=DecisionKind.REJECT, reason="Paid in May."
    )

    assert agent.ended() == 0, agent.said
    assert "Not paid: rae rejected it. “Paid in May.”" in agent.said
    assert stage.payments() == []
    assert outcomes() == [("DONE", "rejected")]


def test_an_answer_for_the_vendor_of_the_old_plan_is_refused(stage: Stage) -> None:
    rae = Browser.of(stage.server.address, "rae", PASSWORD)
    agent = stage.start_agent("--act", "2", "--replan-after-s", "2")
    old = stage.interrupt()
    left_open = hidden(rae.open(stage.page(old))[1])
    agent.says("Now go back to the page that you left open")

    status, page = rae.open(f"{stage.page(old)}decide/", {**left_open, "decision": "approve"})

    new = stage.interrupt()
    assert (old.content["args"]["vendor_id"], new.content["args"]["vendor_id"]) == (
        "V-2291",
        "V-3107",
    )
    assert (status, 'data-code="superseded"' in page, stage.page(new, site="") in page) == (
        409,
        True,
        True,
    )
    assert stage.payments() == []
    form = hidden(rae.open(stage.page(new))[1])
    rae.open(f"{stage.page(new)}decide/", {**form, "decision": "approve"})
    assert agent.ended() == 0, agent.said
    assert stage.payments() == [new.content["args"]]


def test_a_killed_agent_waits_again_for_the_same_answer(stage: Stage) -> None:
    first = stage.start_agent("--act", "1")
    first.says("I wait.")
    first.kill()
    second = stage.start_agent("--act", "1")
    second.says("and wait again")
    second.ended(signal.SIGTERM)
    asked = Interrupt.objects.get()
    stage.cast.decide(asked, stage.cast.rae)

    third = stage.start_agent("--act", "1")

    third.says("Dispatched: the approval is used up, and permits paying once.")
    assert third.ended() == 0, third.said
    assert Interrupt.objects.get().pk == asked.pk
    assert stage.payments() == [ASKED]


def test_a_server_that_is_away_is_waited_for(stage: Stage) -> None:
    agent = stage.start_agent("--act", "1")
    agent.says("I wait.")
    server = stage.server
    assert server.program.ended(signal.SIGTERM) == 0, server.program.said
    agent.says("does not answer; I keep trying.")
    stage.cast.decide(stage.interrupt(), stage.cast.rae)
    assert stage.payments() == []

    server.start()

    assert agent.ended() == 0, agent.said
    assert stage.payments() == [ASKED]
