from approvals.management.saving import SavingCommand
from approvals.models import DisplayVersion


class Command(SavingCommand):
    help = "Save the next version of a tenant's display hints from a file with a JSON array."
    model = DisplayVersion
    what = "display hints"
