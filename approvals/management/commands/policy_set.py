from approvals.management.saving import SavingCommand
from approvals.models import PolicyVersion


class Command(SavingCommand):
    help = "Save the next version of a tenant's policy from a file with a JSON array of rules."
    model = PolicyVersion
    what = "policy"
