"""Logs: one JSON line an event, names and ids only, never arguments, keys or bodies.

What an exception says may carry values and its local variables do, so of an exception only its
type and its places in the code are told.
"""

import logging
import sys
import traceback
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger


def configure(_settings: dict[str, Any]) -> None:
    """Send structlog's and the libraries' lines to standard error."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        tell_exception,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
            foreign_pre_chain=shared,
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    # Django's own handlers would tell an error again, with values and to other places.
    for name in ("django", "django.server"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
    # Refused requests are recorded as events; Django's own lines would repeat their paths.
    logging.getLogger("django.request").setLevel(logging.ERROR)
    logging.getLogger("django.security").setLevel(logging.ERROR)
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    # Apprise tells addresses and what receivers answered; the courier says what is to be known.
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    logging.getLogger("apprise").propagate = False


def tell_exception(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Put an exception's type and frames, `file:line`, in the place of the exception."""
    given = event.pop("exc_info", None)
    error = given[1] if isinstance(given, tuple) else given
    if given is True:
        error = sys.exc_info()[1]
    if isinstance(error, BaseException):
        frames = traceback.walk_tb(error.__traceback__)
        event["exception"] = {
            "type": type(error).__qualname__,
            "frames": [f"{frame.f_code.co_filename}:{line}" for frame, line in frames],
        }
    return event
