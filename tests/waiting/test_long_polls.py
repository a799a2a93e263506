"""Long polls through a real server: who is answered, when, and at what cost."""

import asyncio
import threading

import pytest

from runs.waiting.hub import Hub
from runs.waiting.reader import Answer
from runs.waiting.route import LongPolls, Message, Receive, Scope, Send
from tests.waiting.site import ROUTES, Serve, ThingReader, Things


def test_a_committed_decision_answers_the_waiter_at_once(things: Things, serve: Serve) -> None:
    things.add("int_1")

    async def scene() -> None:
        asked = asyncio.create_task(site.get("/api/v1/interrupts/int_1?wait_s=30"))
        await site.until(lambda: site.hub.waiting == 1)
        await asyncio.sleep(0.1)
        began = asyncio.get_running_loop().time()
        things.decide("int_1")
        things.notify("run_1", "int_1")
        reply = await asked

        assert reply.status == 200
        assert reply.body == {"id": "int_1", "state": "DECIDED", "seq": 2}
        assert asyncio.get_running_loop().time() - began < 0.5

    with serve() as site:
        asyncio.run(scene())


def test_an_answer_has_the_headers_of_the_api(things: Things, serve: Serve) -> None:
    things.add("int_1")
    things.decide("int_1")
    with serve() as site:
        reply = asyncio.run(site.get("/api/v1/interrupts/int_1?wait_s=30"))
    del reply.headers["date"]

    assert reply.headers == {
        "content-type": "application/json",
        "content-length": "45",
        "cache-control": "no-store",
        "connection": "close",
    }


def test_what_is_decided_already_is_answered_without_waiting(things: Things, serve: Serve) -> None:
    things.add("int_1")
    things.decide("int_1")
    with serve() as site:
        reply = asyncio.run(site.get("/api/v1/interrupts/int_1?wait_s=30"))

    assert (reply.status, reply.body["state"]) == (200, "DECIDED")
    assert reply.took_s < 1


def test_a_decision_between_the_first_look_and_the_wait_is_seen(
    things: Things, reader: ThingReader, serve: Serve
) -> None:
    """H-43: a decision committed between the check and the wait is seen within a second."""
    things.add("int_1")

    def decide_once() -> None:
        reader.after_answer = lambda: None
        things.decide("int_1")
        things.notify("int_1")

    reader.after_answer = decide_once
    with serve() as site:
        reply = asyncio.run(site.get("/api/v1/interrupts/int_1?wait_s=30"))

    assert (reply.status, reply.body["state"]) == (200, "DECIDED")
    assert reply.took_s < 1


def test_a_lost_wake_up_costs_about_a_second(things: Things, serve: Serve) -> None:
    things.add("int_1")

    async def scene() -> None:
        asked = asyncio.create_task(site.get("/api/v1/interrupts/int_1?wait_s=30"))
        await site.until(lambda: site.hub.waiting == 1)
        things.decide("int_1")
        reply = await asked

        assert (reply.status, reply.body["state"]) == (200, "DECIDED")
        assert reply.took_s < 2.5

    with serve(look_every_s=1.0) as site:
        asyncio.run(scene())


def test_when_the_time_is_up_the_pending_state_is_200(things: Things, serve: Serve) -> None:
    """H-43: a still pending answer is 200."""
    things.add("int_1")
    with serve() as site:
        reply = asyncio.run(site.get("/api/v1/interrupts/int_1?wait_s=1"))

    assert reply.status == 200
    assert reply.body == {"id": "int_1", "state": "PENDING", "seq": 1}
    assert 1 <= reply.took_s < 2


def test_a_run_is_waited_for_until_its_seq_passes(things: Things, serve: Serve) -> None:
    things.add("run_1")

    async def scene() -> None:
        at_once = await site.get("/api/v1/runs/run_1?wait_s=30&after_seq=0")
        asked = asyncio.create_task(site.get("/api/v1/runs/run_1?after_seq=1&wait_s=30"))
        await site.until(lambda: site.hub.waiting == 1)
        things.decide("run_1")
        things.notify("run_1")
        later = await asked

        assert (at_once.body["seq"], later.body["seq"]) == (1, 2)

    with serve() as site:
        asyncio.run(scene())


def test_refusals_are_not_waited_for(things: Things, serve: Serve) -> None:
    things.add("int_1")

    async def scene() -> None:
        stranger = await site.get("/api/v1/interrupts/int_1?wait_s=30", token="bad")
        nothing = await site.get("/api/v1/interrupts/int_2?wait_s=30")

        assert (stranger.status, stranger.body) == (401, {"code": "unauthenticated"})
        assert (nothing.status, nothing.body) == (404, {"code": "not_found"})

    with serve() as site:
        asyncio.run(scene())


def test_200_waiters_cost_no_thread_and_no_connection(
    things: Things, reader: ThingReader, serve: Serve
) -> None:
    """H-43: 200 waiters at once, no database connection held per waiter."""
    for number in range(200):
        things.add(f"int_{number}")

    async def scene() -> None:
        await site.get("/api/v1/interrupts/int_0?wait_s=1")
        threads, connections = threading.active_count(), things.count_connections()
        asked = [
            asyncio.create_task(site.get(f"/api/v1/interrupts/int_{number}?wait_s=50"))
            for number in range(200)
        ]
        await site.until(lambda: site.hub.waiting == 200)
        await asyncio.sleep(0.2)

        assert threading.active_count() == threads
        assert things.count_connections() <= connections + 1
        for number in range(200):
            things.decide(f"int_{number}")
        things.notify(*(f"int_{number}" for number in range(200)))
        replies = await asyncio.gather(*asked)
        assert {(reply.status, reply.body["state"]) for reply in replies} == {(200, "DECIDED")}
        assert {reply.body["id"] for reply in replies} == {f"int_{n}" for n in range(200)}
        assert len(reader.sizes) < 200

    with serve() as site:
        asyncio.run(scene())


def test_a_client_that_goes_away_is_forgotten(things: Things, serve: Serve) -> None:
    things.add("int_1")

    async def scene() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(
            b"GET /api/v1/interrupts/int_1?wait_s=50 HTTP/1.1\r\n"
            b"host: test\r\nauthorization: Bearer good\r\n\r\n"
        )
        await site.until(lambda: site.hub.waiting == 1)
        writer.close()
        await site.until(lambda: site.hub.waiting == 0, within_s=1)

    with serve() as site:
        asyncio.run(scene())


def test_a_listener_that_is_cut_off_listens_again_and_misses_nothing(
    things: Things, serve: Serve
) -> None:
    things.add("int_1")
    things.add("int_2")

    async def scene() -> None:
        missed = asyncio.create_task(site.get("/api/v1/interrupts/int_1?wait_s=30"))
        heard = asyncio.create_task(site.get("/api/v1/interrupts/int_2?wait_s=30"))
        await site.until(lambda: site.hub.waiting == 2)
        await asyncio.sleep(0.1)
        assert things.end_listeners() == 1
        things.decide("int_1")
        assert (await missed).body["state"] == "DECIDED"
        await site.until(lambda: things.count_listeners() == 1)
        things.decide("int_2")
        things.notify("int_2")
        assert (await heard).body["state"] == "DECIDED"

    with serve() as site:
        asyncio.run(scene())


def test_the_end_of_the_server_answers_everybody(things: Things, serve: Serve) -> None:
    for number in range(20):
        things.add(f"int_{number}")

    async def scene() -> None:
        asked = [
            asyncio.create_task(site.get(f"/api/v1/interrupts/int_{number}?wait_s=50"))
            for number in range(20)
        ]
        await site.until(lambda: site.hub.waiting == 20)
        site.server.should_exit = True
        replies = await asyncio.gather(*asked)

        assert {(reply.status, reply.body["state"]) for reply in replies} == {(200, "PENDING")}
        assert max(reply.took_s for reply in replies) < 2
        await site.until(lambda: not site.thread.is_alive())

    with serve() as site:
        asyncio.run(scene())


NO_LONG_POLL = [
    "wait_s=-1",
    "wait_s=abc",
    "wait_s=",
    "wait_s=0",
    "wait_s=1.5",
    "wait_s=%2B1",
    "wait_s=%C2%B2",
    "wait_s=30&wait_s=30",
    "wait_s=30&after_seq=x",
    "wait_s=30&x=%FF",
    "after_seq=1",
]


@pytest.mark.parametrize("query", NO_LONG_POLL)
def test_what_is_no_long_poll_is_left_to_django(things: Things, serve: Serve, query: str) -> None:
    """H-43: `-1` and `abc` are `invalid_request`."""
    things.add("int_1")
    with serve() as site:
        reply = asyncio.run(site.get(f"/api/v1/interrupts/int_1?{query}"))

    assert site.passed == [f"GET {query}"]
    assert (reply.status, reply.body) == (422, {"code": "invalid_request"})


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Authorization: Basic x",
        "Authorization: Bearer",
        "Authorization: Bearer a b",
        "Authorization: Bearer a\r\nAuthorization: Bearer b",
    ],
)
def test_who_names_no_key_is_left_to_django(serve: Serve, authorization: str) -> None:
    lines = ["GET /api/v1/runs/run_1?wait_s=30 HTTP/1.1", "Host: test", "Connection: close"]
    request = "\r\n".join([*lines, *filter(None, [authorization]), "", ""]).encode()
    with serve() as site:
        reply = asyncio.run(site.send(request))

    assert (reply.status, site.passed) == (422, ["GET wait_s=30"])


def test_a_head_request_does_not_wait(things: Things, serve: Serve) -> None:
    things.add("int_1")
    with serve() as site:
        asyncio.run(site.get("/api/v1/interrupts/int_1?wait_s=30", method="HEAD"))

    assert site.passed == ["HEAD wait_s=30"]


def test_seconds_beyond_the_longest_wait_still_wait(things: Things, serve: Serve) -> None:
    """H-43: `?wait_s=100000` waits."""
    things.add("int_1")

    async def scene() -> None:
        asked = asyncio.create_task(site.get("/api/v1/interrupts/int_1?wait_s=100000"))
        await site.until(lambda: site.hub.waiting == 1)
        things.decide("int_1")
        things.notify("int_1")
        assert (await asked).body["state"] == "DECIDED"

    with serve() as site:
        asyncio.run(scene())


def test_a_route_without_an_id_is_woken_by_its_kind(things: Things, serve: Serve) -> None:
    things.add("events")

    async def scene() -> None:
        asked = asyncio.create_task(site.get("/api/v1/events?after=7&wait_s=30"))
        await site.until(lambda: site.hub.waiting == 1)
        things.decide("events")
        things.notify("events")
        assert (await asked).body["id"] == "events"

    with serve() as site:
        asyncio.run(scene())


def test_who_is_over_the_rate_is_sent_away_before_waiting() -> None:
    limited = Answer(429, b"{}", ((b"retry-after", b"1"),), is_final=True)
    asked: list[str] = []

    def admit(token: str) -> Answer | None:
        asked.append(token)
        return limited

    async def scene() -> list[Message]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request"}

        async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
            raise AssertionError("this was a long poll")

        polls = LongPolls(app, hub=Hub({}), routes=ROUTES, admit=admit)
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/api/v1/runs/run_1",
            "query_string": b"wait_s=5",
            "headers": [(b"authorization", b"bearer key")],
        }
        await polls(scope, receive, send)
        return sent

    start, body = asyncio.run(scene())
    assert (start["status"], body["body"], asked) == (429, b"{}", ["key"])
