"""What an executor believes of its lease, told by a clock that does not run by itself."""

import json
from typing import Any

import httpx
import pytest

import placet
from placet.flows import Lost, Pause, Send, Step
from placet.models import Control
from placet.requests import Answer
from placet.tenure import Tenure

LOST = Lost(httpx.ConnectError("refused"))


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tenure(clock: Clock) -> Tenure:
    """A lease of a minute that was just taken."""
    tenure = Tenure("run_1", holder="w", ttl_s=60, clock=clock)
    tenure.confirm(control(), sent_at=clock.now)
    return tenure


def control(**members: Any) -> Control:
    return Control(
        **{
            "fencing_token": 3,
            "holder": "w",
            "expires_at": None,
            "cancel_requested": False,
            **members,
        }
    )


def renewed(**members: Any) -> Answer:
    body = {"fencing_token": 3, "holder": "w", "expires_at": None, "cancel_requested": False}
    return Answer(status=200, headers={}, body=json.dumps({**body, **members}).encode())


def refused(code: str) -> Answer:
    return Answer(status=409, headers={}, body=json.dumps({"code": code}).encode())


def keep(tenure: Tenure, clock: Clock, *answers: Answer | Lost) -> list[float]:
    """When renewals were sent, from the start, until the keeper ended or the answers did."""
    sent, flow, left = [], tenure.keep(), list(answers)
    step: Step = next(flow)
    try:
        while True:
            if isinstance(step, Pause):
                clock.now += step.seconds
                step = flow.send(None)
                continue
            assert isinstance(step, Send)
            sent.append(clock.now - 1000)
            if not left:
                return sent
            step = flow.send(left.pop(0))
    except StopIteration:
        return sent


def test_it_is_renewed_when_a_third_is_over(tenure: Tenure, clock: Clock) -> None:
    assert keep(tenure, clock, renewed(), renewed()) == [20.0, 40.0, 60.0]
    assert tenure.why is None


def test_silence_makes_it_try_more_often_and_stop_before_the_end(
    tenure: Tenure, clock: Clock
) -> None:
    sent = keep(tenure, clock, *[LOST] * 100)

    assert sent[:3] == [20.0, 21.0, 22.0] and sent[-1] < 54
    assert tenure.why is placet.StopReason.UNCONFIRMED
    assert 54 <= clock.now - 1000 < 56


def test_a_confirmation_after_silence_counts_from_when_it_was_asked_for(
    tenure: Tenure, clock: Clock
) -> None:
    assert keep(tenure, clock, LOST, renewed(), renewed()) == [20.0, 21.0, 41.0, 61.0]
    assert tenure.left_s == pytest.approx(41 + 54 - 61)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("lease_lost", placet.StopReason.LOST),
        ("outcome_unknown", placet.StopReason.LOST),
        ("not_found", placet.StopReason.LOST),
        ("unauthenticated", placet.StopReason.LOST),
        ("cancelled", placet.StopReason.STOP_ASKED),
        ("run_closed", placet.StopReason.STOP_ASKED),
    ],
)
def test_a_refused_renewal_stops_the_work(
    tenure: Tenure, clock: Clock, code: str, why: placet.StopReason
) -> None:
    told: list[bool] = []
    tenure.on_stop = lambda: told.append(True)

    assert keep(tenure, clock, refused(code)) == [20.0]
    with pytest.raises(placet.LeaseLost) as lost:
        tenure.check()
    assert lost.value.why is why and told


def test_a_stop_that_was_asked_for_is_heard_with_the_renewal(tenure: Tenure, clock: Clock) -> None:
    assert keep(tenure, clock, renewed(cancel_requested=True)) == [20.0]
    assert (tenure.why, tenure.is_held) == (placet.StopReason.STOP_ASKED, True)


def test_even_if_nobody_renews_it_is_over_in_time(tenure: Tenure, clock: Clock) -> None:
    clock.now += 53.9
    tenure.check()

    clock.now += 0.2
    with pytest.raises(placet.LeaseLost, match="could not be reached"):
        tenure.check()


def test_once_it_has_to_stop_nothing_makes_it_go_on(tenure: Tenure, clock: Clock) -> None:
    tenure.stop(placet.StopReason.LOST)

    tenure.confirm(control(), sent_at=clock.now)
    tenure.stop(placet.StopReason.RELEASED)

    assert tenure.why is placet.StopReason.LOST
