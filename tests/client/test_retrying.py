"""What is sent again, when, and for how long, without a server and without time passing."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

import placet
from placet import flows, requests
from placet.flows import Flow, Lost, Pause, Send
from placet.requests import Answer

OK = Answer(status=200, headers={}, body=b'{"n": 1}')
LOST = Lost(httpx.ConnectError("refused"))


def problem(status: int, code: str, **headers: str) -> Answer:
    body = f'{{"code": "{code}", "title": "No.", "status": {status}}}'.encode()
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(status=status, headers=named, body=body)


class World:
    """Carries a flow out: gives the answers in their order, the last one for ever."""

    def __init__(self, *answers: Answer | Lost) -> None:
        self.answers = list(answers)
        self.sent: list[requests.Request] = []
        self.pauses: list[float] = []
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def run(self, flow: Flow[Any]) -> Any:
        try:
            step = next(flow)
            while True:
                step = flow.send(self.outcome(step))
        except StopIteration as done:
            return done.value

    def outcome(self, step: flows.Step) -> Answer | Lost | None:
        if isinstance(step, Pause):
            self.pauses.append(step.seconds)
            self.now += step.seconds
            return None
        assert isinstance(step, Send)
        self.sent.append(step.request)
        self.now += 0.01
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def call(world: World, **members: Any) -> Any:
    return world.run(flows.call(requests.post("/runs"), clock=world.clock, **members))


@pytest.mark.parametrize(
    "trouble",
    [LOST, *(problem(status, "internal") for status in (500, 502, 503, 504))],
    ids=lambda trouble: "lost" if isinstance(trouble, Lost) else trouble.status,
)
def test_trouble_is_waited_out_with_the_same_request(trouble: Answer | Lost) -> None:
    world = World(trouble, trouble, trouble, OK)

    assert call(world) is OK
    assert len({request.idempotency_key for request in world.sent}) == 1
    assert len(world.sent) == 4
    assert all(
        low <= pause <= 2 * low for low, pause in zip((0.1, 0.2, 0.4), world.pauses, strict=True)
    )


def test_the_server_is_left_alone_as_long_as_it_asks() -> None:
    world = World(problem(429, "rate_limited", retry_after="7"), OK)

    assert call(world) is OK
    assert world.pauses == [7.0]


def test_a_longer_rest_than_there_is_patience_is_told_at_once() -> None:
    world = World(problem(429, "rate_limited", retry_after="90"))

    with pytest.raises(placet.Refused) as refused:
        call(world)

    assert (refused.value.code, refused.value.retry_after_s) == ("rate_limited", 90.0)
    assert world.pauses == []


@pytest.mark.parametrize("trouble", [LOST, Answer(status=502, headers={}, body=b"<html>")])
def test_patience_ends(trouble: Answer | Lost) -> None:
    world = World(trouble)

    with pytest.raises(placet.Unreachable):
        call(world, patience_s=60)

    assert 40 < world.now <= 60.1


@pytest.mark.parametrize("code", ["not_found", "lease_lost", "a_code_of_tomorrow"])
def test_a_refusal_is_not_asked_again(code: str) -> None:
    world = World(problem(409, code))

    with pytest.raises(placet.Refused) as refused:
        call(world)

    assert (refused.value.code, len(world.sent)) == (code, 1)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=200, headers={}, body=b"<html>"),
        Answer(status=302, headers={"location": "https://evil.example"}, body=b""),
        Answer(status=404, headers={}, body=b"<html>"),
        Answer(status=204, headers={}, body=b"{}"),
    ],
)
def test_what_no_server_of_placet_answers_is_no_answer(answer: Answer) -> None:
    with pytest.raises(placet.UnexpectedAnswer):
        call(World(answer))


def test_a_poll_may_take_longer_than_its_own_wait() -> None:
    assert requests.get_interrupt("int_1", wait_s=55).read_s > 60
    assert requests.get_interrupt("int_1").read_s == requests.READ_S


def test_ids_stay_in_their_place_of_the_path() -> None:
    assert requests.get_run("../../me?x").path == "/api/v1/runs/..%2F..%2Fme%3Fx"


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://a.example", "https://", "/api"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        placet.Client(url, "plk_key")


@pytest.mark.parametrize("key", ["", "plk_\n", "plk_\u00e9"])
def test_a_key_that_cannot_be_one_is_refused_at_once(key: str) -> None:
    with pytest.raises(ValueError, match="key"):
        placet.Client("http://localhost:8000", key)


def event(n: int, **members: Any) -> dict[str, Any]:
    return {
        "n": n,
        "run_seq": n,
        "type": "interrupt.decided",
        "at": "2026-11-30T12:00:00Z",
        "run_id": "run_1",
        "interrupt_id": "int_1",
        "action_id": None,
        "from": "PENDING",
        "a_member_of_tomorrow": 1,
        **members,
    }


def feed(
    pages: list[list[dict[str, Any]]], passed_over: int = 0
) -> tuple[list[str], Callable[..., httpx.Response]]:
    """What was asked for, and a transport's function that answers with these pages."""
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params["after"])
        items = pages.pop(0)
        last = items[-1]["n"] if items else int(asked[-1]) + passed_over
        return httpx.Response(200, json={"items": items, "next": last})

    return asked, answer


def test_events_go_on_behind_the_last_one() -> None:
    """And behind those of others, which were passed over for nothing."""
    asked, answer = feed([[event(5), event(6)], [], [event(17)]], passed_over=10)
    client = placet.Client("http://a.example", "plk_key", transport=httpx.MockTransport(answer))

    with client:
        events = client.events(after=4)
        told = [next(events) for _ in range(3)]

    assert [each.n for each in told] == [5, 6, 17]
    assert asked == ["4", "6", "16"]
    assert told[0].data["from"] == "PENDING"


def test_events_out_of_order_are_not_given() -> None:
    _, answer = feed([[event(5), event(5)]])
    client = placet.Client("http://a.example", "plk_key", transport=httpx.MockTransport(answer))

    with client, pytest.raises(placet.UnexpectedAnswer):
        list(client.events())
