"""The API documents itself, without scripts and without anything from elsewhere."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def test_the_page_lists_every_call_of_the_openapi_document() -> None:
    client = Client()
    document = client.get("/api/v1/openapi.json").json()

    page = client.get("/api/v1/docs").content.decode()

    for path, operations in document["paths"].items():
        for method in operations:
            assert f"{method.upper()} {path}" in page
    assert "//cdn" not in page
    assert "<script>" not in page
