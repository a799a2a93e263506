"""Acting under a lease: once, stopped in time, and honest about what nobody knows."""

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import placet
from placet import tenure
from runs.models import Action
from tests.cast import PAYMENT
from tests.client.site import Aside, People, Site

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def approved(run: placet.Run, people: People) -> placet.Interrupt:
    """A payment that Rae approved."""
    asked = run.ask("pay_vendor", PAYMENT, call_id="call-1")
    people.answer(asked.id)
    return run.wait(asked)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renew ten times a second."""
    monkeypatch.setattr(tenure, "RENEW_AT", 600)


def paid(args: dict[str, Any], *, idempotency_key: str, grant: str) -> str:
    return "paid"


def never(args: dict[str, Any], **_: str) -> None:
    raise AssertionError("this must not be done")


def test_what_is_not_approved_is_not_begun(run: placet.Run, people: People) -> None:
    asked = run.ask("pay_vendor", PAYMENT, call_id="call-1")
    people.answer(asked.id, "reject", reason="no")

    with run.lease(holder="worker-1") as lease, pytest.raises(placet.Refused) as refused:
        lease.execute(asked, never)

    assert refused.value.code == placet.RefusalCode.NOT_APPROVED
    assert not Action.objects.exists()


def test_an_approval_is_used_once(run: placet.Run, approved: placet.Interrupt) -> None:
    with run.lease(holder="worker-1") as lease:
        lease.execute(approved, paid)
        with pytest.raises(placet.Refused) as refused:
            lease.execute(approved, never)

    assert refused.value.code == placet.RefusalCode.ALREADY_DISPATCHED
    assert refused.value.current == {"action": run.refresh().actions[0].id}


def test_an_exception_after_the_dispatch_leaves_the_outcome_unknown(
    run: placet.Run, approved: placet.Interrupt, people: People
) -> None:
    def breaks(args: dict[str, Any], **_: str) -> None:
        raise ConnectionResetError("the bank hung up")

    with pytest.raises(ConnectionResetError), run.lease(holder="worker-1") as lease:
        lease.execute(approved, breaks)

    assert (people.action(run.id).state, people.state(run.id)) == ("UNKNOWN", "UNKNOWN")


def test_what_leaves_the_program_leaves_the_outcome_unknown_too(
    run: placet.Run, approved: placet.Interrupt, people: People
) -> None:
    def interrupted(args: dict[str, Any], **_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), run.lease(holder="worker-1") as lease:
        lease.execute(approved, interrupted)

    assert people.state(run.id) == "UNKNOWN"


def test_a_work_that_sent_nothing_says_so(
    run: placet.Run, approved: placet.Interrupt, people: People
) -> None:
    def checks(args: dict[str, Any], **_: str) -> None:
        raise placet.NotExecuted("The account is closed.")

    with pytest.raises(placet.NotExecuted), run.lease(holder="worker-1") as lease:
        lease.execute(approved, checks)

    action = run.refresh().actions[0]
    assert (action.state, action.result) == ("NOT_EXECUTED", {"reason": "The account is closed."})
    again = run.ask("pay_vendor", PAYMENT, call_id="call-1", retry_of=action.id)
    people.answer(again.id)
    decision = run.wait(again).decision
    assert decision is not None and decision.idempotency_key == action.idempotency_key


def test_a_target_that_said_no_is_a_failure(run: placet.Run, approved: placet.Interrupt) -> None:
    def refused(args: dict[str, Any], **_: str) -> None:
        raise placet.Failed({"error": "insufficient funds"})

    with pytest.raises(placet.Failed), run.lease(holder="worker-1") as lease:
        lease.execute(approved, refused)

    action = run.refresh().actions[0]
    assert (action.state, action.result) == ("FAILED", {"error": "insufficient funds"})


@pytest.mark.parametrize("result", [{1, 2}, float("nan"), "x" * 70_000], ids=["set", "nan", "long"])
def test_a_result_that_cannot_travel_does_not_undo_what_was_done(
    run: placet.Run, approved: placet.Interrupt, result: Any
) -> None:
    with run.lease(holder="worker-1") as lease, pytest.warns(RuntimeWarning, match="without"):
        assert lease.execute(approved, lambda args, **_: result) is result

    action = run.refresh().actions[0]
    assert (action.state, action.result) == ("SUCCEEDED", None)


def test_of_two_executors_one_has_control(
    client: placet.Client, run: placet.Run, approved: placet.Interrupt
) -> None:
    other = client.get_run(run.id)

    with run.lease(holder="worker-1"):
        with pytest.raises(placet.Refused) as refused, other.lease(holder="worker-2"):
            pass
        assert refused.value.code == placet.RefusalCode.LEASE_HELD
        assert refused.value.current["holder"] == "worker-1"

    with other.lease(holder="worker-2") as lease:
        assert lease.execute(approved, paid) == "paid"


def test_an_executor_that_was_replaced_begins_nothing(
    client: placet.Client, run: placet.Run, approved: placet.Interrupt, people: People
) -> None:
    with run.lease(holder="worker-1") as first:
        people.lapse(run.id)
        with client.get_run(run.id).lease(holder="worker-2") as second:
            with pytest.raises(placet.LeaseLost) as lost:
                first.execute(approved, never)
            assert (lost.value.why, first.should_stop) == (placet.StopReason.LOST, True)
            assert second.fencing_token == first.fencing_token + 1
            assert second.execute(approved, paid) == "paid"


def test_a_result_after_the_lease_was_lost_is_kept_and_does_not_count(
    run: placet.Run, approved: placet.Interrupt, people: People
) -> None:
    def slow(args: dict[str, Any], **_: str) -> str:
        people.lapse(run.id)
        return "paid"

    with pytest.raises(placet.LeaseLost) as lost, run.lease(holder="worker-1") as lease:
        lease.execute(approved, slow)

    action = run.refresh().actions[0]
    assert (lost.value.kept, action.state, run.state) == (True, "UNKNOWN", "UNKNOWN")
    assert [report["outcome"] for report in action.late_reports] == ["succeeded"]


def test_a_work_hears_that_control_is_lost(
    run: placet.Run, approved: placet.Interrupt, people: People, quick: None
) -> None:
    with pytest.raises(placet.LeaseLost), run.lease(holder="worker-1") as lease:

        def works(args: dict[str, Any], *, stop: threading.Event, **_: str) -> None:
            assert not stop.is_set()
            people.lapse(run.id)
            assert stop.wait(20)
            lease.check()

        lease.execute(approved, works)

    assert lease.should_stop and people.state(run.id) == "UNKNOWN"


def test_a_work_hears_that_a_stop_was_asked_for_and_ends_the_run_honestly(
    run: placet.Run, approved: placet.Interrupt, people: People, quick: None
) -> None:
    with pytest.raises(placet.NotExecuted), run.lease(holder="worker-1") as lease:

        def works(args: dict[str, Any], *, stop: threading.Event, **_: str) -> None:
            people.cancel(run.id)
            assert stop.wait(20)
            with pytest.raises(placet.LeaseLost) as told:
                lease.check()
            assert told.value.why is placet.StopReason.STOP_ASKED
            raise placet.NotExecuted("Asked to stop before anything was sent.")

        lease.execute(approved, works)

    assert (people.action(run.id).state, people.state(run.id)) == ("NOT_EXECUTED", "CANCELLED")


def test_a_work_that_is_done_all_the_same_is_told_as_done(
    run: placet.Run, approved: placet.Interrupt, people: People
) -> None:
    def works(args: dict[str, Any], **_: str) -> str:
        people.cancel(run.id)
        return "paid"

    with run.lease(holder="worker-1") as lease:
        assert lease.execute(approved, works) == "paid"

    assert (people.action(run.id).state, people.state(run.id)) == ("SUCCEEDED", "CANCELLED")


def test_a_long_work_keeps_its_lease(
    run: placet.Run, approved: placet.Interrupt, people: People, quick: None
) -> None:
    with run.lease(holder="worker-1", ttl_s=10) as lease:

        def works(args: dict[str, Any], **_: str) -> str:
            before = run.refresh().lease
            renewed = Aside(lambda: _until_renewed(run, before))
            renewed.join()
            return "paid"

        assert lease.execute(approved, works) == "paid"


def _until_renewed(run: placet.Run, before: Any) -> None:
    while (now := run.refresh().lease) is not None and now.expires_at == before.expires_at:
        pass
    assert now is not None


def test_renewing_and_giving_back_by_hand(run: placet.Run, client: placet.Client) -> None:
    with run.lease(holder="worker-1") as lease:
        lease.renew()
        lease.release()
        with pytest.raises(placet.LeaseLost) as lost:
            lease.check()
        assert lost.value.why is placet.StopReason.RELEASED
        with client.get_run(run.id).lease(holder="worker-2"):
            pass


def test_a_lease_is_not_given_back_while_an_action_is_open(
    run: placet.Run, approved: placet.Interrupt
) -> None:
    with run.lease(holder="worker-1") as lease:

        def works(args: dict[str, Any], **_: str) -> None:
            with pytest.raises(placet.Refused, match="wrong_state"):
                lease.release()

        lease.execute(approved, works)


class Losing(httpx.BaseTransport):
    """A network that loses the first answer to a request whose path ends so."""

    def __init__(self, ending: str) -> None:
        self.ending = ending
        self.lost = 0
        self.inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.inner.handle_request(request)
        if self.ending and request.url.path.endswith(self.ending) and not self.lost:
            self.lost += 1
            response.read()
            raise httpx.ReadError("the answer got lost", request=request)
        return response

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def losing(served: Site, key: str) -> Iterator[Any]:
    """Give a function that makes a client on such a network."""
    clients: list[placet.Client] = []

    def losing(ending: str) -> tuple[placet.Client, Losing]:
        transport = Losing(ending)
        clients.append(placet.Client(served.url, key, transport=transport))
        return clients[-1], transport

    yield losing
    for client in clients:
        client.close()


def test_a_dispatch_whose_answer_got_lost_permits_nothing(
    losing: Any, run: placet.Run, approved: placet.Interrupt, people: People
) -> None:
    client, network = losing("/dispatch")

    with pytest.raises(placet.NotExecuted), client.get_run(run.id).lease(holder="w") as lease:
        lease.execute(approved, never)

    assert network.lost == 1
    assert (people.action(run.id).state, people.state(run.id)) == ("NOT_EXECUTED", "READY")


@pytest.mark.parametrize("ending", ["/result", "/lease", "/lease/release"])
def test_every_other_answer_may_get_lost(
    losing: Any, run: placet.Run, approved: placet.Interrupt, people: People, ending: str
) -> None:
    client, network = losing(ending)

    with client.get_run(run.id).lease(holder="w") as lease:
        assert lease.execute(approved, paid) == "paid"

    assert network.lost == 1
    assert (people.action(run.id).state, people.state(run.id)) == ("SUCCEEDED", "READY")
    assert run.refresh().lease is None


def test_an_outcome_that_nobody_knew_is_cleared_with_evidence(
    client: placet.Client, run: placet.Run, approved: placet.Interrupt
) -> None:
    def breaks(args: dict[str, Any], **_: str) -> None:
        raise OSError

    with pytest.raises(OSError), run.lease(holder="w") as lease:
        lease.execute(approved, breaks)
    action = run.refresh().actions[0]

    evidence = {"kind": "target_object", "reference": "payment 17"}
    told = client.reconcile(action.id, "executed", evidence=evidence)

    assert (told.state, run.refresh().state) == ("SUCCEEDED", "READY")


class Altering(httpx.BaseTransport):
    """Somebody in between who changes the amount in answers about this."""

    def __init__(self, ending: str) -> None:
        self.ending = ending
        self.inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.inner.handle_request(request)
        raw = response.read()
        if self.ending in request.url.path:
            raw = raw.replace(b"40000000", b"90000000")
        return httpx.Response(response.status_code, content=raw)

    def close(self) -> None:
        self.inner.close()


@pytest.mark.parametrize(("about", "actions"), [("/interrupts/", []), ("/dispatch", ["begun"])])
def test_arguments_that_were_changed_on_their_way_are_not_used(
    served: Site,
    key: str,
    run: placet.Run,
    approved: placet.Interrupt,
    *,
    about: str,
    actions: list[str],
) -> None:
    with (
        placet.Client(served.url, key, transport=Altering(about)) as client,
        pytest.raises(placet.Refused) as refused,
        client.get_run(run.id).lease(holder="w") as lease,
    ):
        lease.execute(approved, never)

    assert refused.value.code == placet.RefusalCode.DIGEST_MISMATCH
    told = run.refresh().actions
    assert [action.state for action in told] == ["NOT_EXECUTED" for _ in actions]


def test_a_result_that_cannot_be_told_says_that_the_work_had_ended(
    run: placet.Run, approved: placet.Interrupt, people: People
) -> None:
    def works(args: dict[str, Any], **_: str) -> str:
        people.lapse(run.id)
        return "paid"

    with pytest.raises(placet.LeaseLost) as lost, run.lease(holder="worker-1") as lease:
        lease.execute(approved, works)

    assert "had ended well" in lost.value.__notes__[0]


def test_an_exception_that_cannot_be_told_says_so(
    served: Site, key: str, run: placet.Run, approved: placet.Interrupt, people: People
) -> None:
    """The interrupted program does not wait for a server that is away."""

    class Away(Losing):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path.endswith("/unknown"):
                raise httpx.ConnectError("away", request=request)
            return super().handle_request(request)

    def interrupted(args: dict[str, Any], **_: str) -> None:
        raise KeyboardInterrupt

    with (
        placet.Client(served.url, key, transport=Away("")) as client,
        pytest.raises(KeyboardInterrupt) as error,
        client.get_run(run.id).lease(holder="w") as lease,
    ):
        lease.execute(approved, interrupted)

    assert "could not be reported" in error.value.__notes__[0]
    assert people.state(run.id) == "IN_FLIGHT"
    people.lapse(run.id)
    assert run.refresh().state == "UNKNOWN"
