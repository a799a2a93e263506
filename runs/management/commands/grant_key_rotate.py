from typing import Any

from identity.management.reporting import ReportingCommand
from runs.models import SigningKey


class Command(ReportingCommand):
    help = "Sign grants with a new key; the old one stays published while its grants last."

    def handle(self, *args: Any, **options: Any) -> None:
        key = SigningKey.rotate()
        self.report(options, f"Grants are signed with the key {key.kid} from now on.", kid=key.kid)
