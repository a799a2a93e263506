#!/usr/bin/env python3
"""Runs a command of the server; `python3 bootstrap.py manage …` does so in its environment."""

import os
import sys

from config.database import database_running
from config.env import ConfigError, Env


def main() -> None:
    """Run the command with its database running."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line
    from django.db import connections

    try:
        with database_running(Env(os.environ)):
            try:
                execute_from_command_line(sys.argv)
            finally:
                connections.close_all()
    except KeyboardInterrupt:
        sys.exit(130)
    except ConfigError as error:
        sys.exit(f"placet: {error}")


if __name__ == "__main__":
    main()
