"""What a key is and opens."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from approvals.api.answers import MeOut
from identity.roles import Scope
from runs.api.http import Reply, answer, require
from runs.api.problem import PROBLEMS

router = Router(tags=["me"])


@router.get("/me", response={200: MeOut, **PROBLEMS})
def get_me(request: HttpRequest) -> HttpResponse:
    """The key's tenant, agent, scopes, and the people it may act for; null owners: anybody."""
    key = require(request, *Scope)
    agent = key.agent
    owners = agent.owners.filter(is_active=True).order_by("username")
    return answer(
        Reply(
            200,
            {
                "tenant": agent.tenant.slug,
                "agent": {"kind": "agent", "id": agent.public_id, "name": agent.name},
                "scopes": list(key.scopes),
                "owners": None
                if agent.any_owner
                else list(owners.values_list("username", flat=True)),
            },
        )
    )
