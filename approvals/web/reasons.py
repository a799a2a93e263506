"""Why somebody is asked, and by which rule, in words."""

from collections.abc import Iterator, Sequence

from approvals.rules.answering import Right
from approvals.rules.people import Clause, is_admitted
from approvals.rules.policy import Rule


def why_me(right: Right, rule: Rule) -> list[str]:
    """Every reason for which the rule, or a stake in the run, lets this person answer."""
    found: list[str] = []
    for clause in rule.clauses:
        found.extend(reason for reason in _by(clause, right) if reason not in found)
    admitted = is_admitted(
        rule.clauses, right.person, stakes=right.stakes, owner_counts=rule.owner_counts
    )
    if right.stakes.has(right.person) and not admitted:
        return ["You have a stake in this run: you may reject, but others have to approve."]
    return found if admitted else []


def who_approves(rule: Rule) -> list[str]:
    """What the rule asks for, a line for each of its clauses."""
    if not rule.clauses:
        return ["Nobody: the rule approves by itself."]
    asked = [_needed(clause) for clause in rule.clauses]
    if not rule.owner_counts:
        asked.append("Not counted: the run's owner and the person responsible for the agent.")
    return asked


def _by(clause: Clause, right: Right) -> Iterator[str]:
    person, stakes = right.person, right.stakes
    if clause.owner and person.id == stakes.owner_id:
        yield "You own this run."
    if clause.responsible and person.id == stakes.responsible_id:
        yield "You are responsible for this agent."
    if person.name in clause.users:
        yield "The rule names you."
    if person.role in clause.roles:
        yield f"You are {_a(person.role)}."
    for group in sorted(person.groups & clause.groups):
        yield f"You are in the group “{group}”."


def _needed(clause: Clause) -> str:
    sources = [
        *(["the run's owner"] if clause.owner else []),
        *(["the person responsible for the agent"] if clause.responsible else []),
        *sorted(clause.users),
        *(f"anyone who is {_a(role)}" for role in sorted(clause.roles)),
        *(f"the group “{name}”" for name in sorted(clause.groups)),
    ]
    what = "1 approval" if clause.count == 1 else f"{clause.count} approvals"
    return f"{what} from {_either(sources)}."


def _either(sources: Sequence[str]) -> str:
    if len(sources) < 2:
        return "".join(sources)
    return f"{', '.join(sources[:-1])} or {sources[-1]}"


def _a(role: str) -> str:
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"
