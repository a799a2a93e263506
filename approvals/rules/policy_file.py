"""How a policy file is read: every member is known and well-formed, or the file is refused whole.

A rule without `approvals` asks the same people as the default rule; an empty list asks nobody
and approves by policy, so it has to be written out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from approvals.rules.people import Clause
from approvals.rules.policy import DEFAULT_RULE, Escalation, Rule
from approvals.rules.schema import keyword_faults, schema_faults
from placet.protocol import limits
from placet.protocol.pointers import pointer
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import Fault
from placet.protocol.states import DecisionKind

Path = tuple[str | int, ...]

RULE_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
TOOL_GLOB = re.compile(rf"{limits.TOOL_PATTERN}\*?|\*")
SOURCES = ("groups", "users", "roles")
ROLES = frozenset({"member", "reviewer", "admin"})
COUNT_MAX = 20
RULE_MEMBERS = frozenset(
    {
        "id",
        "tools",
        "when",
        "approvals",
        "owner_counts",
        "deny",
        "allowed_decisions",
        "reason_required",
        "expires_in_s",
        "approval_valid_s",
        "idempotent",
        "observation_max_age_s",
        "remind_before_s",
        "escalate",
    }
)


@dataclass(slots=True)
class _Reader:
    """Collects the faults of one policy file while its rules are read."""

    faults: list[Fault] = field(default_factory=list)

    def fault(self, path: Path, message: str) -> None:
        self.faults.append(Fault(pointer(path), message))

    def rules(self, document: JSONValue) -> Iterator[Rule]:
        if not isinstance(document, list):
            self.fault((), "A policy is a JSON array of rules.")
            return
        seen: set[str] = set()
        for index, item in enumerate(document):
            rule = self.rule(item, (index,))
            if rule.id in seen:
                self.fault((index, "id"), "Two rules have this id.")
            seen.add(rule.id)
            yield rule

    def rule(self, item: JSONValue, at: Path) -> Rule:
        members = self.members(item, at, RULE_MEMBERS)
        rule_id = members.get("id")
        if not isinstance(rule_id, str) or not RULE_ID.fullmatch(rule_id) or rule_id == "default":
            self.fault(
                (*at, "id"), "An id is 1 to 64 of A-Z, a-z, 0-9, “_”, “.”, “-”, not “default”."
            )
        clauses = self.clauses(members, (*at, "approvals"))
        return Rule(
            id=str(rule_id),
            tools=self.tools(members, at),
            when=self.when(members, at),
            clauses=clauses,
            owner_counts=self.boolean(members, at, "owner_counts", default=True),
            deny=self.boolean(members, at, "deny", default=False),
            allowed_decisions=self.decisions(members, at),
            reason_required=self.boolean(members, at, "reason_required", default=False),
            expires_in_s=self.seconds(
                members, at, "expires_in_s", limits.EXPIRES_IN_MIN_S, limits.EXPIRES_IN_MAX_S
            ),
            approval_valid_s=self.seconds(
                members, at, "approval_valid_s", 1, limits.EXPIRES_IN_MAX_S
            )
            or limits.APPROVAL_VALID_DEFAULT_S,
            idempotent=self.boolean(members, at, "idempotent", default=False),
            observation_max_age_s=self.seconds(
                members, at, "observation_max_age_s", 1, limits.EXPIRES_IN_MAX_S
            ),
            remind_before_s=self.seconds(
                members, at, "remind_before_s", 1, limits.EXPIRES_IN_MAX_S
            ),
            escalate=self.escalation(members, (*at, "escalate"), clauses),
        )

    def members(self, item: JSONValue, at: Path, known: frozenset[str]) -> dict[str, JSONValue]:
        if not isinstance(item, dict):
            self.fault(at, "This has to be an object.")
            return {}
        for name in sorted(item.keys() - known):
            self.fault((*at, name), "Nothing of this name is known here.")
        return item

    def boolean(self, members: dict[str, JSONValue], at: Path, name: str, *, default: bool) -> bool:
        value = members.get(name, default)
        if not isinstance(value, bool):
            self.fault((*at, name), "This has to be true or false.")
            return default
        return value

    def seconds(
        self,
        members: dict[str, JSONValue],
        at: Path,
        name: str,
        least: int,
        most: int,
    ) -> int | None:
        if name not in members:
            return None
        value = members[name]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.fault((*at, name), f"This has to be {least} to {most} whole seconds.")
            return None
        return value

    def texts(self, value: JSONValue, at: Path) -> tuple[str, ...]:
        if not isinstance(value, list) or not value or not all(isinstance(x, str) for x in value):
            self.fault(at, "This has to be a list of at least one text.")
            return ()
        return tuple(str(item) for item in value)

    def tools(self, members: dict[str, JSONValue], at: Path) -> tuple[str, ...]:
        if "tools" not in members:
            return ("*",)
        names = self.texts(members["tools"], (*at, "tools"))
        for index, name in enumerate(names):
            if not TOOL_GLOB.fullmatch(name):
                self.fault((*at, "tools", index), "This is no tool name and no “prefix*”.")
        return names

    def when(self, members: dict[str, JSONValue], at: Path) -> dict[str, JSONValue] | None:
        if "when" not in members:
            return None
        schema = members["when"]
        found = (*schema_faults(schema), *keyword_faults(schema))
        prefix = pointer((*at, "when"))
        self.faults.extend(Fault(prefix + fault.pointer, fault.message) for fault in found)
        # A rule without its condition holds for every call, also in a version stored earlier.
        return schema if isinstance(schema, dict) else None

    def clauses(self, members: dict[str, JSONValue], at: Path) -> tuple[Clause, ...]:
        if "approvals" not in members:
            return DEFAULT_RULE.clauses
        value = members["approvals"]
        if not isinstance(value, list):
            self.fault(at, "This has to be a list.")
            return ()
        return tuple(self.clause(item, (*at, index)) for index, item in enumerate(value))

    def clause(self, item: JSONValue, at: Path) -> Clause:
        members = self.members(item, at, frozenset({"from", "count"}))
        count = members.get("count", 1)
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= COUNT_MAX:
            self.fault((*at, "count"), f"A count is 1 to {COUNT_MAX}.")
            count = 1
        where = (*at, "from")
        source = self.members(members.get("from"), where, frozenset({*SOURCES, "owner"}))
        owner = self.boolean(source, where, "owner", default=False)
        named = {
            name: frozenset(self.texts(source[name], (*where, name)))
            for name in SOURCES
            if name in source
        }
        if not owner and not any(named.values()):
            self.fault(where, "This names nobody.")
        for role in sorted(named.get("roles", frozenset()) - ROLES):
            self.fault((*where, "roles"), f"“{role}” is no role that answers.")
        return Clause(
            count=count,
            owner=owner,
            groups=named.get("groups", frozenset()),
            users=named.get("users", frozenset()),
            roles=named.get("roles", frozenset()),
        )

    def escalation(
        self, members: dict[str, JSONValue], at: Path, clauses: tuple[Clause, ...]
    ) -> Escalation | None:
        """A group that the rule asks anyway, told late; somebody else has to be told at first."""
        if "escalate" not in members:
            return None
        given = self.members(members["escalate"], at, frozenset({"after_s", "group"}))
        after_s = self.seconds(given, at, "after_s", 1, limits.EXPIRES_IN_MAX_S)
        if "after_s" not in given:
            self.fault((*at, "after_s"), "This says after how many seconds.")
        group = given.get("group")
        if not isinstance(group, str) or not any(group in clause.groups for clause in clauses):
            self.fault((*at, "group"), "This is no group that the rule's approvals name.")
            return None
        if not any(_asks_others(clause, group) for clause in clauses):
            self.fault((*at, "group"), "The approvals name nobody but this group.")
        return None if after_s is None else Escalation(after_s, group)

    def decisions(self, members: dict[str, JSONValue], at: Path) -> frozenset[DecisionKind] | None:
        if "allowed_decisions" not in members:
            return None
        names = self.texts(members["allowed_decisions"], (*at, "allowed_decisions"))
        for index, name in enumerate(names):
            if name not in list(DecisionKind):
                self.fault((*at, "allowed_decisions", index), "This is no decision.")
        return frozenset(DecisionKind(name) for name in names if name in list(DecisionKind))


def _asks_others(clause: Clause, group: str) -> bool:
    named = clause.users | clause.roles | (clause.groups - {group})
    return bool(named) or clause.owner or clause.responsible


def read_policy(document: JSONValue) -> tuple[tuple[Rule, ...], tuple[Fault, ...]]:
    """The rules of a policy file and every fault in it; the rules hold only without faults."""
    reader = _Reader()
    rules = tuple(reader.rules(document))
    return rules, tuple(reader.faults)
