"""Who has no business here gets nowhere, on every route there is (contract §2.9, §8)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from django.test import Client

from approvals.models import Interrupt
from config import asgi
from runs.models import Action, Run
from runs.waiting.reader import Wait
from tests.cast import Cast, question
from tests.contract.routes import (
    AGENTS,
    OPERATORS,
    OUTSIDE_DJANGO,
    PAGES,
    PUBLIC,
    filled,
    mounted,
)
from tests.contract.snapshot import RECORD, recorded_of, snapshot

pytestmark = pytest.mark.django_db

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
SECRET = "Acme's secret plan"


@dataclass(frozen=True)
class Scene:
    """A run and a question of Acme, which nobody else may learn of."""

    cast: Cast
    run: Run
    interrupt: Interrupt
    action: Action

    def at(self, path: str) -> str:
        return filled(
            path,
            run_id=self.run.pk,
            interrupt_id=self.interrupt.pk,
            action_id=self.action.pk,
        )

    def secrets(self) -> list[str]:
        return [
            SECRET,
            self.run.pk,
            self.interrupt.pk,
            self.action.pk,
            self.interrupt.asked_sha256,
            "alice",
        ]


@pytest.fixture
def scene(cast: Cast) -> Scene:
    run = cast.run(title=SECRET, external_id="order-1")
    return Scene(cast, run, cast.ask(run, question(description=SECRET)), cast.act())


def send(client: Client, method: str, path: str, key: str | None = None) -> Any:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = b"{}" if path.startswith("/api/") else b""
    kind = "application/json" if body else "application/x-www-form-urlencoded"
    return client.generic(method, path, body, content_type=kind, headers=headers)


def browser(user: Any) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def test_every_route_is_in_a_list() -> None:
    """H-11: a new route fails here until somebody says who may reach it."""
    assert mounted() == (PUBLIC | PAGES | AGENTS.keys() | OPERATORS) - OUTSIDE_DJANGO


@pytest.mark.parametrize("path", sorted(PUBLIC))
def test_a_public_route_is_open_to_strangers(scene: Scene, path: str) -> None:
    response = send(Client(), "GET", path)
    response.close()

    assert response.status_code == 200


@pytest.mark.parametrize("path", sorted(PAGES))
def test_a_page_leads_strangers_and_keys_to_the_sign_in(scene: Scene, path: str) -> None:
    """H-11: no session, no page; an agent's key opens none."""
    before = snapshot()

    for method, key in product(METHODS, (None, scene.cast.key, "plk_nonsense")):
        response = send(Client(), method, scene.at(path), key)
        assert response.status_code == 302, method
        assert response["Location"].startswith("/login/?next=")
        assert not_told(scene, response.content)

    assert snapshot() == before


@pytest.mark.parametrize(("token", "status"), [(None, 404), ("the-operators-token", 401)])
@pytest.mark.parametrize("path", sorted(OPERATORS))
def test_what_is_the_operators_is_closed_to_keys_and_sessions(
    scene: Scene, path: str, token: str | None, status: int, settings: Any
) -> None:
    settings.PLACET_METRICS_TOKEN = token

    for client in (Client(), browser(scene.cast.ada)):
        for key in (None, scene.cast.key):
            assert send(client, "GET", path, key).status_code == status


@pytest.mark.parametrize("path", sorted(AGENTS))
def test_the_api_is_closed_to_strangers_and_sessions(scene: Scene, path: str) -> None:
    """H-11: no key, no call; a session, of an admin even, opens none."""
    clients: list[tuple[Client, str | None]] = [
        (Client(), None),
        (Client(), "plk_nonsense"),
        (browser(scene.cast.alice), None),
        (browser(scene.cast.ada), "plk_nonsense"),
    ]
    before = snapshot()

    for client, key in clients:
        for method in METHODS:
            response = send(client, method, scene.at(path), key)
            is_call = method in AGENTS[path].split()
            expected = 404 if not AGENTS[path] else 401 if is_call else 405
            assert response.status_code == expected, (method, response.content)
            assert not_told(scene, response.content)

    assert snapshot() == before


@pytest.mark.parametrize("path", sorted(PAGES - {"/logout/"}))
def test_a_page_tells_another_tenant_nothing(scene: Scene, path: str) -> None:
    """H-03: a reviewer of another tenant, who holds every right there."""
    client = browser(scene.cast.mallory)
    before, recorded = snapshot(without=RECORD), recorded_of(scene.cast.tenant.pk)

    for method in METHODS:
        response = send(client, method, scene.at(path))
        if "<" in path:
            is_way_back = response.status_code == 303  # a GET of a form's address
            assert is_way_back or response.status_code in (404, 405), method
        assert response.status_code < 500
        assert not_told(scene, response.content)

    assert snapshot(without=RECORD) == before
    assert recorded_of(scene.cast.tenant.pk) == recorded


@pytest.mark.parametrize("path", sorted(AGENTS))
def test_the_api_tells_another_agent_nothing(scene: Scene, path: str) -> None:
    """H-03: an agent of another tenant with a valid key."""
    before, recorded = snapshot(without=RECORD), recorded_of(scene.cast.tenant.pk)

    for method in METHODS:
        response = send(Client(), method, scene.at(path), scene.cast.other_key)
        if "<" in path and method in AGENTS[path].split():
            assert response.status_code in (404, 422), (method, response.content)
        assert response.status_code < 500
        assert not_told(scene, response.content)

    assert snapshot(without=RECORD) == before
    assert recorded_of(scene.cast.tenant.pk) == recorded


@pytest.mark.parametrize("kind", ["interrupt", "run"])
def test_whoever_waits_is_asked_for_the_key_as_well(scene: Scene, kind: str) -> None:
    """H-03, H-11: the hub answers long polls before Django is asked."""
    object_id = scene.run.pk if kind == "run" else scene.interrupt.pk
    reader = READERS[kind]()
    tokens = ["plk_nonsense", scene.cast.other_key, scene.cast.key]

    answers = reader.answer([Wait(token, kind, object_id, after_seq=10**6) for token in tokens])

    assert [answer.status for answer in answers] == [401, 404, 200]
    assert [answer.is_final for answer in answers] == [True, True, False]
    assert all(not_told(scene, answer.body) for answer in answers[:2])


def test_every_route_of_the_hub_is_a_call_of_the_api(scene: Scene) -> None:
    """H-11: nothing waits that cannot be read."""
    reads = [scene.at(path) for path, methods in AGENTS.items() if "GET" in methods]
    for route in asgi.ROUTES:
        assert any(route.path.fullmatch(path) for path in reads), route.path.pattern
        assert route.kind in READERS
        assert not any(route.path.fullmatch(scene.at(path)) for path in PAGES | PUBLIC)


def test_every_stream_is_a_page_and_asks_for_the_session_itself(scene: Scene) -> None:
    """H-03, H-11: the hub tells before Django is asked, and nobody without a session."""
    users = (scene.cast.rae, scene.cast.mallory)
    sessions = [browser(user).session.session_key for user in users]

    for route in asgi.STREAMS:
        assert route.path in PAGES
        told = [route.tell(str(key)) for key in ("nonsense", scene.cast.key, *sessions)]
        assert told[:2] == [None, None]
        assert [one.who for one in told if one] == [user.public_id for user in users]
        assert all(not_told(scene, one.text) for one in told if one)
        for user in users:
            user.deactivate(by=scene.cast.ada.as_actor())
        assert [route.tell(str(key)) for key in sessions] == [None, None]


READERS: dict[str, Callable[[], Any]] = {
    "interrupt": asgi.InterruptReader,
    "run": asgi.RunReader,
    "events": asgi.EventsReader,
}


def not_told(scene: Scene, content: bytes) -> bool:
    """Whether nothing of Acme's stands in an answer, beyond the id that was asked for."""
    text = content.decode()
    return not any(secret in text for secret in scene.secrets())
