"""A second, small telling of contract §3 in plain Python, against which the product is held.

It shares no code with the product. Time is told, not read: a question or an approval is *due*
when the test says that its instant has passed, and every command settles first what is due.
Policy and people are fixed, so that who may answer what can be written down as sets of names.
"""

from dataclasses import dataclass, field

Args = dict[str, object]
OPEN = "PENDING"
WAITING = ("PENDING", "HANDED_BACK")
FREE = ("UNKNOWN", "DONE", "CANCELLED")
TERMINAL = ("DONE", "CANCELLED")
STAKES = {"alice", "bob"}
"""The owner of every run and the agent's responsible user."""

POLICY = [
    {
        "id": "never",
        "tools": ["pay"],
        "when": {"properties": {"args": {"properties": {"amount": {"const": 666}}}}},
        "deny": True,
    },
    {
        "id": "free",
        "tools": ["pay"],
        "when": {"properties": {"args": {"properties": {"amount": {"const": 0}}}}},
        "approvals": [],
    },
    {
        "id": "two",
        "tools": ["pay"],
        "when": {"properties": {"args": {"properties": {"amount": {"minimum": 1000}}}}},
        "approvals": [{"from": {"roles": ["reviewer"]}, "count": 2}],
        "owner_counts": False,
        "idempotent": True,
    },
    {
        "id": "pair",
        "tools": ["wire"],
        "approvals": [{"from": {"owner": True}}, {"from": {"groups": ["finance"]}}],
    },
    {"id": "strict", "tools": ["mail*"], "reason_required": True, "idempotent": True},
]
IDEMPOTENT = ("two", "strict")
ASKED_BY_DEFAULT = frozenset({"alice", "bob", "rae", "rob"})
ASKED = {
    "default": ASKED_BY_DEFAULT,
    "strict": ASKED_BY_DEFAULT,
    "two": frozenset({"rae", "rob"}),
    "pair": frozenset({"alice", "rae"}),
}
REQUIRED = {"default": 1, "strict": 1, "two": 2, "pair": 2}


def rule_of(tool: str, args: Args) -> str:
    """The first rule of the policy that is about this call."""
    amount = args["amount"]
    if tool == "pay" and amount == 666:
        return "never"
    if tool == "pay" and amount == 0:
        return "free"
    if tool == "pay" and isinstance(amount, int) and amount >= 1000:
        return "two"
    return {"wire": "pair", "mail.send": "strict"}.get(tool, "default")


@dataclass(frozen=True)
class Ask:
    """One question as the agent writes it."""

    call_id: str
    kind: str
    tool: str
    amount: int
    has_schema: bool
    allowed: frozenset[str] | None
    is_retry: bool = False
    """Names the action of the last attempt, where there is one, as what it repeats."""

    @property
    def args(self) -> Args:
        return {"amount": self.amount}

    @property
    def rule(self) -> str:
        return rule_of(self.tool, self.args)

    def offered(self) -> set[str]:
        """The answers that people are offered."""
        if self.kind == "question":
            found = {"respond", "reject"}
        elif self.kind == "handoff":
            found = {"done", "reject"}
        else:
            found = {"approve", "reject"} | ({"edit"} if self.has_schema else set())
            found |= {"respond"} if self.allowed and "respond" in self.allowed else set()
        return found if self.allowed is None else found & self.allowed


@dataclass(frozen=True)
class Posted:
    """What a person posts, with what is true of it instead of the bytes."""

    user: str
    decision: str
    is_current: bool = True
    """The revision is the one the run has when this is posted."""
    is_digest_right: bool = True
    view: str = "own"
    """Whose page of which question proves the showing; "own" is the right one."""
    reason: str = ""
    args: object = None
    response: str | None = None


@dataclass
class Question:
    """One attempt."""

    name: str
    ask: Ask
    args: Args
    requested: Args
    attempt: int
    round: int
    rule: str
    state: str = OPEN
    approved_by: list[str] = field(default_factory=list)
    decision: tuple[str, str, object] | None = None
    """Kind, by whom, and the approved args or the response."""
    superseded_by: str | None = None
    is_due: bool = False
    is_valid: bool = True
    handback: int = 0
    key: str | None = None
    """The name of the question whose approval made the idempotency key."""
    retries: "Action | None" = None
    action: "Action | None" = None
    sent_again: bool = False
    """Whether a person's order made this attempt, who is counted without having approved it."""

    @property
    def is_open(self) -> bool:
        return self.state in WAITING

    @property
    def approved_args(self) -> object:
        """What may be dispatched, or None."""
        is_approval = self.decision is not None and self.decision[0] in ("approve", "edit")
        return self.decision[2] if self.decision and is_approval else None

    @property
    def asked_people(self) -> frozenset[str]:
        """Who may approve; of a rule that asks nobody only a question is put to the default."""
        if self.rule == "free" and self.ask.kind == "approval":
            return frozenset()
        return ASKED.get(self.rule, ASKED_BY_DEFAULT)

    @property
    def required(self) -> int:
        if self.rule == "free":
            return 0 if self.ask.kind == "approval" else 1
        return REQUIRED[self.rule]

    @property
    def is_unused_approval(self) -> bool:
        return self.approved_args is not None and self.action is None


@dataclass
class Action:
    """One use of an approval."""

    name: str
    question: Question
    token: int
    state: str = "IN_FLIGHT"
    late: set[tuple[str, int]] = field(default_factory=set)
    """The reports that were refused and are kept, each once."""
    evidence: tuple[str, str | None] | None = None
    """The finding that ended it, and the kind of evidence that it rests on."""


@dataclass
class Run:
    """One run with all its attempts, oldest first."""

    name: str
    parent: "Run | None" = None
    state: str = "READY"
    revision: int = 0
    outcome: str | None = None
    questions: list[Question] = field(default_factory=list)
    children: list["Run"] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    cancel_requested: bool = False
    token: int = 0
    is_held: bool = False
    is_lease_due: bool = False

    def last(self, call_id: str) -> Question | None:
        return next((q for q in reversed(self.questions) if q.ask.call_id == call_id), None)

    def is_last(self, question: Question) -> bool:
        return self.last(question.ask.call_id) is question

    def move(self, state: str) -> None:
        self.state, self.revision = state, self.revision + 1
        self.is_held = self.is_held and state not in FREE

    def settle(self) -> None:
        """Let the deadlines that have passed take effect."""
        due = [q for q in self.questions if q.is_open and q.is_due]
        for question in due:
            question.state = "EXPIRED"
        if due:
            self.rest()
        if self.is_held and self.is_lease_due:
            for action in self.actions:
                if action.state == "IN_FLIGHT":
                    action.state = "UNKNOWN"
            self.rest_actions()
            self.is_held = False

    def rest_actions(self) -> None:
        """Go on, stand still or stop where nothing that was dispatched is under way any more."""
        states = [action.state for action in self.actions]
        if self.state not in ("IN_FLIGHT", "UNKNOWN") or "IN_FLIGHT" in states:
            return
        if "UNKNOWN" not in states:
            self.move("CANCELLED" if self.cancel_requested else "READY")
        elif self.state == "IN_FLIGHT":
            self.move("UNKNOWN")

    def stands(self) -> str | None:
        """The code of what takes no dispatch and no question."""
        if self.state in TERMINAL:
            return "run_closed"
        if self.cancel_requested:
            return "cancelled"
        return "outcome_unknown" if self.state == "UNKNOWN" else None

    def no_control(self, token: int | None) -> str | None:
        """The code for who does not carry the token of a lease that lives."""
        if token is None:
            return "lease_held" if self.is_held else None
        return None if self.is_held and token == self.token else "lease_lost"

    def rest(self) -> None:
        """Go on where nothing of the round is open any more."""
        mine = [q for q in self.questions if q.round == self.revision]
        if self.state != "WAIT_USER" or any(q.is_open for q in mine):
            return
        is_expired = any(q.state == "EXPIRED" and self.is_last(q) for q in mine)
        self.move("EXPIRED" if is_expired else "READY")

    def begin_child(self, name: str) -> "Run | str":
        self.settle()
        if self.state in TERMINAL or self.cancel_requested:
            return "run_closed" if self.state in TERMINAL else "cancelled"
        child = type(self)(name, parent=self)
        self.children.append(child)
        return child

    def ask(  # noqa: PLR0911
        self, asks: list[Ask], expected: int | None, token: int | None, name: str
    ) -> list[Question] | str:
        """The questions that answer the request; new ones have names made from `name`."""
        self.settle()
        plans = [(ask, self.last(ask.call_id)) for ask in asks]
        for ask, last in plans:
            if ask.is_retry and last and repeated(last) and not is_same(last, ask):
                return "invalid_request"
        is_new = [not (last and self._answers(last, ask)) for ask, last in plans]
        if any(is_new):
            if refusal := self.stands():
                return refusal
            if expected is not None and expected != self.revision:
                return "stale_revision"
            if refusal := self.no_control(token):
                return refusal
            if self.state == "IN_FLIGHT":
                return "wrong_state"
            if any(new and ask.rule == "never" for new, ask in zip(is_new, asks, strict=True)):
                return "tool_not_allowed"
        fresh = [
            Question(f"{name}.{place}", ask, ask.args, ask.args, 0, 0, ask.rule)
            for place, ask in enumerate(asks)
        ]
        if any(
            new and not question.required and "approve" not in question.ask.offered()
            for new, question in zip(is_new, fresh, strict=True)
        ):
            return "invalid_request"
        if self.state != "WAIT_USER" and any(
            new and question.required for new, question in zip(is_new, fresh, strict=True)
        ):
            self.move("WAIT_USER")
        found = []
        for (_, last), new, question in zip(plans, is_new, fresh, strict=True):
            if new:
                self._follow(last, question)
            found.append(question if new else last)
        self.rest()
        return [question for question in found if question]

    def _answers(self, last: Question, ask: Ask) -> bool:
        if last.state != "DECIDED":
            return last.is_open and is_same(last, ask)
        if last.action is not None:
            is_again = ask.is_retry and last.action.state in ("FAILED", "NOT_EXECUTED")
            return is_same(last, ask) and not is_again
        return is_same(last, ask) and (last.is_valid or not last.is_unused_approval)

    def _follow(self, last: Question | None, new: Question) -> None:
        new.attempt = last.attempt + 1 if last else 1
        new.round = self.revision
        if last and new.ask.is_retry and last.ask is not new.ask:
            new.retries = repeated(last)
        if last and last.is_open:
            last.state, last.superseded_by = "SUPERSEDED", new.name
        elif last and last.state == "DECIDED" and last.is_unused_approval and last.is_valid:
            last.superseded_by = new.name
        self.questions.append(new)
        if not new.required:
            self._decide(new, ("approve", new.rule, new.args))

    def cancel_question(self, question: Question, token: int | None) -> str | None:
        self.settle()
        if question.state == "CANCELLED":
            return None
        if not question.is_open:
            return ended(question)
        if refusal := self.no_control(token):
            return refusal
        question.state = "CANCELLED"
        self.rest()
        return None

    def cancel(self) -> str | None:
        self.settle()
        if self.state in TERMINAL:
            return None if self.state == "CANCELLED" else "run_closed"
        if self.cancel_requested:
            return None
        for question in self.questions:
            if question.is_open:
                question.state = "CANCELLED"
        if self.state in ("IN_FLIGHT", "UNKNOWN"):
            self.cancel_requested = True
        else:
            self.move("CANCELLED")
        for child in self.children:
            if child.state not in TERMINAL:
                child.cancel()
        return None

    def finish(self, outcome: str, token: int | None) -> str | None:
        self.settle()
        if self.state == "DONE" and self.outcome == outcome:
            return None
        if self.state in TERMINAL:
            return "run_closed"
        if self.state == "UNKNOWN":
            return "outcome_unknown"
        if refusal := self.no_control(token):
            return refusal
        if self.state not in ("READY", "EXPIRED"):
            return "wrong_state"
        self.move("DONE")
        self.outcome = outcome
        return None

    def answer(self, question: Question, posted: Posted, name: str) -> str | None:
        """The code of the refusal, or None where the answer counts; `name` is for an attempt."""
        self.settle()
        if refusal := self._refusal(question, posted):
            return refusal
        args = question.args if posted.decision == "approve" else posted.args
        if posted.decision == "reject":
            self._decide(question, ("reject", posted.user, None))
        elif posted.decision == "respond":
            self._decide(question, ("respond", posted.user, posted.response))
        elif posted.decision == "done":
            question.state, question.handback = "HANDED_BACK", question.handback + 1
        elif args == question.args:
            self._approve(question, posted.user)
        else:
            assert isinstance(args, dict)
            self._edit(question, posted.user, args, name)
        self.rest()
        return None

    def _refusal(self, question: Question, posted: Posted) -> str | None:  # noqa: PLR0911, PLR0912
        is_asked = posted.user in question.asked_people
        if not is_asked and not (posted.user in STAKES and posted.decision == "reject"):
            return "self_approval" if posted.user in STAKES else "not_permitted"
        if posted.decision == "done" and question.ask.kind == "handoff" and posted.user != "alice":
            return "not_owner"
        if not question.is_open:
            return ended(question)
        if not posted.is_current:
            return "stale_revision"
        if question.state == "HANDED_BACK" and posted.decision != "reject":
            return "wrong_state"
        if not posted.is_digest_right:
            return "digest_mismatch"
        if posted.view != "own":
            return "not_shown"
        edited = posted.args if posted.decision == "edit" else None
        if isinstance(edited, dict) and rule_of(question.ask.tool, edited) == "never":
            return "tool_not_allowed"
        if posted.decision not in question.ask.offered():
            return "decision_not_allowed"
        if posted.decision in ("approve", "edit") and posted.user in question.approved_by:
            return "duplicate_approver"
        if (posted.decision == "reject" or question.rule == "strict") and not posted.reason.strip():
            return "reason_required"
        if posted.decision == "edit" and not is_valid_edit(edited):
            return "invalid_edit"
        if posted.decision == "approve" and posted.args not in (None, question.args):
            return "invalid_edit"
        if posted.decision == "respond" and not posted.response:
            return "invalid_edit"
        return None

    def _decide(self, question: Question, decision: tuple[str, str, object]) -> None:
        question.state, question.decision = "DECIDED", decision
        if question.approved_args is not None:
            question.key = question.name
            before = question.retries and question.retries.question
            if before and before.approved_args == question.approved_args:
                question.key = before.key

    def _approve(self, question: Question, user: str, args: Args | None = None) -> None:
        question.approved_by.append(user)
        if len(question.approved_by) == question.required:
            is_edit = args is not None
            self._decide(
                question,
                ("edit" if is_edit else "approve", user, args if is_edit else question.args),
            )

    def _edit(self, question: Question, user: str, args: Args, name: str) -> None:
        rule = rule_of(question.ask.tool, args)
        if rule == question.rule and question.required == 1:
            self._approve(question, user, args)
            return
        new = Question(name, question.ask, args, question.requested, 0, 0, rule)
        self._follow(question, new)
        if new.state == OPEN and user in new.asked_people:
            self._approve(new, user)


def is_same(last: Question, ask: Ask) -> bool:
    """Whether this asks what that attempt was asked for, whatever a person made of it."""
    return (last.ask.kind, last.ask.tool, last.requested) == (ask.kind, ask.tool, ask.args)


def repeated(last: Question) -> Action | None:
    """The action that a retry names: of the last attempt, or what that one repeats itself."""
    return last.action or last.retries


def ended(question: Question) -> str:
    """The code that tells how a question ended."""
    return {"DECIDED": "already_decided"}.get(question.state, question.state.lower())


def is_valid_edit(args: object) -> bool:
    """Whether the args schema of the test takes these arguments."""
    return isinstance(args, dict) and isinstance(args.get("amount"), int) and args["amount"] >= 0
