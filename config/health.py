"""Whether the process lives, and whether it can serve."""

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from config.roles import APPEND_ONLY, weaknesses
from config.server import is_draining
from identity.middleware import public


@public
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": "ok"})


@public
def readyz(request: HttpRequest) -> JsonResponse:
    """The database answers, its schema is this version's, and nobody has asked us to end."""
    if is_draining():
        return JsonResponse({"status": "draining"}, status=503)
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
        weaker = weaknesses(connection, append_only=APPEND_ONLY)
    except Error:
        return JsonResponse({"status": "database unreachable"}, status=503)
    if pending:
        return JsonResponse({"status": "migrations pending"}, status=503)
    return JsonResponse({"status": "ok", "weaker": list(weaker)})
