"""Through what a person can be asked: their role, their groups, and the rules that name them."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from approvals.models import PolicyVersion
from approvals.names import ROLES, named
from approvals.rules.policy import DEFAULT_RULE, Rule
from identity.access import people
from identity.models import User
from identity.person import Person
from identity.roles import Role


@dataclass(frozen=True, slots=True)
class Way:
    """One rule by which a person is asked: the tools it is about, and why it means them."""

    rule: str
    tools: tuple[str, ...]
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ways:
    """Everything by which a person can be asked; `by_default` where no rule matches a call."""

    can_answer: bool
    groups: tuple[str, ...]
    rules: tuple[Way, ...]
    by_default: bool


def ways(user: User) -> Ways:
    """Through what this person can be asked, by the policy in force."""
    person = people(user.tenant_id, [user.pk])[user.pk]
    policy = PolicyVersion.in_force(user.tenant_id)
    rules = [rule for rule in (policy.rules if policy else ()) if not rule.deny]
    found = ((rule, _why(rule, person)) for rule in rules)
    return Ways(
        can_answer=user.role != Role.AUDITOR,
        groups=tuple(sorted(person.groups)),
        rules=tuple(Way(rule.id, rule.tools, why) for rule, why in found if why),
        by_default=bool(_why(DEFAULT_RULE, person)) and user.role == Role.REVIEWER,
    )


def _why(rule: Rule, person: Person) -> tuple[str, ...]:
    """Why a rule means this person, whoever owns the run."""
    found: list[str] = []
    for clause in rule.clauses:
        if person.name in clause.users:
            found.append(_("names you"))
        if person.role in clause.roles:
            found.append(_("as {role}").format(role=named(ROLES, person.role)))
        for group in sorted(person.groups & clause.groups):
            found.append(_("through the group “{group}”").format(group=group))
        if clause.owner:
            found.append(_("for runs that you own"))
    return tuple(dict.fromkeys(found))
