"""The operator's commands: what they make, print once, and refuse."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from audit.models import Event
from audit.verify import verify
from identity.keys import key_digest
from identity.models import Agent, AgentKey, Group, Tenant, User
from tests.cast import Cast

pytestmark = pytest.mark.django_db


def run(*words: str) -> dict[str, Any]:
    out = StringIO()
    call_command(*words, "--json", stdout=out)
    told: dict[str, Any] = json.loads(out.getvalue())
    return told


@pytest.fixture
def acme() -> Tenant:
    run("create_tenant", "acme")
    return Tenant.objects.get(slug="acme")


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACET_PASSWORD", "correct horse battery")


def test_a_tenant_has_a_group_for_each_role(acme: Tenant) -> None:
    names = Group.objects.filter(tenant=acme, is_role=True).values_list("name", flat=True)

    assert sorted(names) == ["admin", "auditor", "member", "reviewer"]


@pytest.mark.parametrize("slug", ["", "Acme", "a b", "-a", "a" * 64])
def test_a_bad_slug_is_refused(slug: str) -> None:
    with pytest.raises(CommandError):
        call_command("create_tenant", slug)

    assert not Tenant.objects.exists()


def test_a_user_joins_role_and_groups(acme: Tenant) -> None:
    told = run("create_user", "rae", "--tenant", "acme", "--role", "reviewer", "--group", "finance")

    user = User.objects.get(username="rae")
    assert told == {"user": "rae", "id": user.public_id, "role": "reviewer"}
    sets = Group.objects.filter(auth_group__in=user.groups.all()).values_list("name", flat=True)
    assert sorted(sets) == ["finance", "reviewer"]
    assert user.check_password("correct horse battery")


def test_login_names_are_unique_over_all_tenants(acme: Tenant) -> None:
    run("create_tenant", "globex")
    run("create_user", "rae", "--tenant", "acme", "--role", "reviewer")

    with pytest.raises(CommandError, match="already exists"):
        call_command("create_user", "rae", "--tenant", "globex", "--role", "member")


def test_a_weak_password_is_refused(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACET_PASSWORD", "password")

    with pytest.raises(CommandError, match="too short"):
        call_command("create_user", "rae", "--tenant", "acme", "--role", "reviewer")


def test_a_key_is_printed_once_and_stored_as_a_digest(acme: Tenant) -> None:
    run("create_user", "alice", "--tenant", "acme", "--role", "member")

    told = run("create_agent", "bot", "--tenant", "acme", "--owner", "alice", "--scope", "ask")

    key = AgentKey.objects.get()
    assert key.digest == key_digest(told["key"])
    assert (key.scopes, key.agent.any_owner) == (["ask"], False)
    assert [user.username for user in key.agent.owners.all()] == ["alice"]
    record = json.dumps(list(Event.objects.values_list("detail", flat=True)))
    assert told["key"] not in record


def test_an_agent_needs_people_of_its_tenant(cast: Cast) -> None:
    with pytest.raises(CommandError, match="nobody with the login name"):
        call_command("create_agent", "bot", "--tenant", "acme", "--owner", "mallory")


@pytest.mark.parametrize(("what", "name"), [("user", "rae"), ("agent", "payer")])
def test_deactivating_twice_is_once(cast: Cast, what: str, name: str) -> None:
    first = run("deactivate", what, name, "--tenant", "acme")
    again = run("deactivate", what, name, "--tenant", "acme")

    assert (first["deactivated"], again["deactivated"]) == (True, False)
    assert Event.objects.filter(type=f"{what}.deactivated").count() == 1


def test_deactivating_reaches_nobody_of_another_tenant(cast: Cast) -> None:
    with pytest.raises(CommandError, match="has no user"):
        call_command("deactivate", "user", "mallory", "--tenant", "acme")

    assert User.objects.get(username="mallory").is_active


def test_people_and_agents_are_never_deleted(cast: Cast) -> None:
    """H-27: what they decided must name somebody for years."""
    for somebody in (cast.rae, cast.agent):
        with pytest.raises(Exception, match="deactivated, never deleted"):
            somebody.delete()

    assert User.objects.filter(pk=cast.rae.pk).exists()
    assert Agent.objects.filter(pk=cast.agent.pk).exists()


def test_what_the_commands_did_is_on_an_intact_record(cast: Cast) -> None:
    run("deactivate", "user", "bob", "--tenant", "acme")

    report = verify(cast.tenant.pk)

    assert report.is_intact
    types = set(Event.objects.filter(tenant_id=cast.tenant.pk).values_list("type", flat=True))
    assert types == {"tenant.created", "user.created", "agent.created", "user.deactivated"}
