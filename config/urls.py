from django.urls import URLPattern, URLResolver, include, path

from config import health
from config.metrics import metrics
from runs.api.jwks import jwks

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics),
    path(".well-known/jwks.json", jwks),
    path("", include("identity.web.urls")),
    path("", include("approvals.web.urls")),
    path("", include("notices.web.urls")),
    path("", include("webhooks.web.urls")),
    path("api/v1/", include("approvals.api.urls")),
]

handler400 = "config.errors.bad_request"
handler404 = "config.errors.not_found"
handler500 = "config.errors.broken"
