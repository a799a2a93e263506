import os
from typing import Any

from django.core.management import call_command
from django.core.management.commands.migrate import Command as Migrate
from django.db import connection

from config.database import runtime_role
from config.env import Env
from config.roles import APPEND_ONLY, apply_grants


class Command(Migrate):
    help = "Bring the schema to this version as the owner, and repeat the runtime role's rights."

    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **options)
        call_command("createcachetable", verbosity=0)
        apply_grants(connection, runtime_role(Env(os.environ)), append_only=APPEND_ONLY)
