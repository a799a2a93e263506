"""Bytes that are no UTF-8 are refused, never replaced by other characters."""

import pytest
from django.test import Client

from approvals.models import Decision
from tests.approvals.api import AgentHTTP, code
from tests.cast import EDITABLE, Cast, question

pytestmark = pytest.mark.django_db


def test_an_edit_with_other_bytes_is_refused(cast: Cast) -> None:
    interrupt = cast.ask(cast.run(), question(args_schema=EDITABLE))
    client = Client()
    client.force_login(cast.rae)

    response = client.post(
        f"/interrupts/{interrupt.pk}/decide/",
        b"decision=edit&revision=1&args=%7B%22to%22%3A%22a%ff%22%7D",
        content_type="application/x-www-form-urlencoded",
    )

    assert response.status_code == 422
    assert b'data-code="invalid_request"' in response.content
    assert not Decision.objects.exists()


def test_a_query_of_other_bytes_is_refused(cast: Cast) -> None:
    response = AgentHTTP(cast.key).get("/runs?external_id=%ff")

    assert code(response) == (422, "invalid_request")
