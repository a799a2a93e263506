"""The public keys by which anybody can check a grant (RFC 7517)."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from identity.middleware import public
from placet.protocol.canonical import canonical
from runs import grant
from runs.models import SigningKey

FRESH_S = 60


@public
@require_safe
def jwks(request: HttpRequest) -> HttpResponse:
    """The JWK Set of the key in use, and of those whose last grant has not run out."""
    keys = [(key.kid, key.private) for key in SigningKey.published()]
    return HttpResponse(
        canonical(grant.key_set(keys)),
        content_type="application/jwk-set+json",
        headers={"Cache-Control": f"public, max-age={FRESH_S}"},
    )
