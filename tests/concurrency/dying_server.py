"""The server as it is, in a process that kills itself where a request's header says so.

`X-Die: before-answer`: all is committed, no byte of the answer has left.
`X-Die: before-wake`: the transaction has just committed, nobody has been told.
`X-Die: before-commit`: the command has done all of its work, and none of it is committed.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from config import asgi
from config.bridge import WSGIBridge
from config.server import serve
from runs.models import turn
from runs.waiting.route import LongPolls

_request = threading.local()


def die() -> None:
    """What kill -9 does: no handler, no finally, no flush."""
    os.kill(os.getpid(), signal.SIGKILL)


def dying(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Django, which has done and committed everything when it returns."""
    _request.dies = environ.get("HTTP_X_DIE")
    response: Iterable[bytes] = asgi.django(environ, start_response)
    if _request.dies == "before-answer":
        die()
    return response


def wake(ids: Iterable[str], told: Callable[[Iterable[str]], None] = turn.wake) -> None:
    """The notifier, which is called after the commit and before anything else."""
    if _request.dies == "before-wake":
        die()
    told(ids)


def commit(self: BaseDatabaseWrapper) -> None:
    """The end of a transaction."""
    if getattr(_request, "dies", None) == "before-commit":
        die()
    committed(self)


committed = BaseDatabaseWrapper._commit


def main() -> None:
    """Serve on the port given, with everything else as `manage.py serve` has it."""
    turn.wake = wake
    BaseDatabaseWrapper._commit = commit
    bridge = WSGIBridge(dying, threads=asgi.THREADS, most_body_bytes=asgi.MOST_BODY_BYTES)
    app = LongPolls(bridge, hub=asgi.hub, routes=asgi.ROUTES, admit=asgi.admit)
    serve(app, hub=asgi.hub, host="127.0.0.1", port=int(sys.argv[1]))


if __name__ == "__main__":
    main()
