"""Why somebody is asked, and by which rule, in words."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from approvals.names import Words, named
from approvals.rules.answering import Right
from approvals.rules.people import Clause, is_admitted
from approvals.rules.policy import Rule
from identity.roles import Role

YOU_ARE: Words = {
    Role.MEMBER: gettext_lazy("You are a member."),
    Role.REVIEWER: gettext_lazy("You are a reviewer."),
    Role.ADMIN: gettext_lazy("You are an admin."),
    Role.AUDITOR: gettext_lazy("You are an auditor."),
}
ANYONE: Words = {
    Role.MEMBER: gettext_lazy("anyone who is a member"),
    Role.REVIEWER: gettext_lazy("anyone who is a reviewer"),
    Role.ADMIN: gettext_lazy("anyone who is an admin"),
    Role.AUDITOR: gettext_lazy("anyone who is an auditor"),
}


def why_me(right: Right, rule: Rule) -> list[str]:
    """Every reason for which the rule, or a stake in the run, lets this person answer."""
    found: list[str] = []
    for clause in rule.clauses:
        found.extend(reason for reason in _by(clause, right) if reason not in found)
    admitted = is_admitted(
        rule.clauses, right.person, stakes=right.stakes, owner_counts=rule.owner_counts
    )
    if right.stakes.has(right.person) and not admitted:
        return [_("You have a stake in this run: you may reject, but others have to approve.")]
    return found if admitted else []


def who_approves(rule: Rule) -> list[str]:
    """What the rule asks for, a line for each of its clauses."""
    if not rule.clauses:
        return [_("Nobody: the rule approves by itself.")]
    asked = [_needed(clause) for clause in rule.clauses]
    if not rule.owner_counts:
        asked.append(_("Not counted: the run's owner and the person responsible for the agent."))
    return asked


def _by(clause: Clause, right: Right) -> Iterator[str]:
    person, stakes = right.person, right.stakes
    if clause.owner and person.id == stakes.owner_id:
        yield _("You own this run.")
    if clause.responsible and person.id == stakes.responsible_id:
        yield _("You are responsible for this agent.")
    if person.name in clause.users:
        yield _("The rule names you.")
    if person.role in clause.roles:
        yield named(YOU_ARE, person.role)
    for group in sorted(person.groups & clause.groups):
        yield _("You are in the group “{group}”.").format(group=group)


def _needed(clause: Clause) -> str:
    sources = [
        *([_("the run's owner")] if clause.owner else []),
        *([_("the person responsible for the agent")] if clause.responsible else []),
        *sorted(clause.users),
        *(named(ANYONE, role) for role in sorted(clause.roles)),
        *(_("the group “{group}”").format(group=name) for name in sorted(clause.groups)),
    ]
    needed = ngettext(
        "{count} approval from {people}.", "{count} approvals from {people}.", clause.count
    )
    return needed.format(count=clause.count, people=_either(sources))


def _either(sources: Sequence[str]) -> str:
    if len(sources) < 2:
        return "".join(sources)
    first = pgettext("between the parts of a list", ", ").join(sources[:-1])
    return _("{first} or {last}").format(first=first, last=sources[-1])
