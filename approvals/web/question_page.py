"""Everything that the page of one question says, read once, masked before anything is shown."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from approvals.access import right_to_answer, visible_interrupts
from approvals.models import Approval, Decision, Interrupt
from approvals.rules.answering import Right
from approvals.rules.asking import APPROVING
from approvals.rules.presentation import Change, Notice, Tree, notice, pretty, tree
from approvals.rules.visible import Segment, visible_json
from approvals.sentences import sentence
from approvals.web.actions import same_content
from approvals.web.edit_form import EditForm
from approvals.web.handoff import Handoff
from approvals.web.offer import Offer, offer
from approvals.web.panel import Panel, Way, content_changes, decided_changes, panel, way_on
from approvals.web.queue import Queue, queue_after
from approvals.web.reasons import who_approves, why_me
from approvals.web.spans import left
from approvals.web.standing import did, outcome_of, recorded, standing
from approvals.web.view_token import proof_of_showing
from approvals.web.words import Line, lines
from audit.reading import run_events
from identity.models import User
from placet.protocol.reading import JSONValue
from placet.protocol.states import DecisionKind, InterruptState
from runs.clock import database_now
from runs.models import Action
from runs.rules.refusal import Refusal

SAME_MAX = 10


@dataclass(frozen=True, slots=True)
class Typed:
    """What a person typed into a form that comes back to them."""

    reason: str = ""
    args: str = ""
    response: str = ""


@dataclass(frozen=True, slots=True)
class Same:
    """Another question with exactly the same content, and how it stands in words."""

    interrupt: Interrupt
    standing: str


@dataclass
class QuestionPage:
    """One question for one person at one instant; the parts are read when the page needs them."""

    interrupt: Interrupt
    user: User
    now: datetime
    right: Right
    approvals: list[Approval]
    offer: Offer
    is_revealed: bool = False
    panel: Panel | None = None
    typed: Typed = Typed()
    preview_panel: Panel | None = None
    preview: tuple[Change, ...] | None = None
    preview_sha256: str = ""
    edit_form: EditForm | None = None

    @classmethod
    def of(cls, interrupt: Interrupt, user: User) -> "QuestionPage":
        """The page of a question that this person may look at."""
        now = database_now()
        right = right_to_answer(user, interrupt)
        approvals = list(interrupt.approvals.select_related("user").order_by("at"))
        offered = offer(interrupt, right, approvals, now=now)
        return cls(interrupt, user, now, right, approvals, offered)

    @cached_property
    def content(self) -> dict[str, JSONValue]:
        """`{tool, args, target}` as asked."""
        return self.interrupt.content

    @property
    def told_asked(self) -> str:
        """The canonical text that the page tells: what was approved, else what was asked."""
        decision = self.decision
        return (decision.approved_asked if decision else None) or self.interrupt.asked

    @property
    def told_sha256(self) -> str:
        """Its digest."""
        return (self.decision.approved_sha256 if self.decision else None) or (
            self.interrupt.asked_sha256
        )

    @cached_property
    def args(self) -> Tree:
        """The arguments told, masked where the agent said so, unless revealed."""
        hidden = () if self.is_revealed else self.interrupt.sensitive
        approved = self.decision.args if self.decision else None
        told = self.content["args"] if approved is None else approved
        return tree(told, at=("args",), sensitive=hidden)

    @cached_property
    def target(self) -> Tree | None:
        """Where the tool would act, where that was said."""
        target = self.content["target"]
        return None if target is None else tree(target, at=("target",))

    @property
    def is_whole(self) -> bool:
        """Whether every value that the digest covers is on the page."""
        return self.args.is_whole

    @property
    def is_answerable(self) -> bool:
        """Whether the form belongs on the page."""
        return self.offer.is_open and self.is_whole

    @property
    def is_panel_in_form(self) -> bool:
        """Whether the panel stands beside the form that it is about, not above the page."""
        return self.panel is not None and self.panel.is_about_the_form and self.is_answerable

    @property
    def offer_refusal(self) -> str:
        """Why not every answer is offered."""
        refusal = self.offer.refusal
        return "" if refusal is None else sentence(refusal.sentence)

    @property
    def proof(self) -> str:
        """The hidden proof of showing; asked for only inside the form."""
        assert self.is_answerable
        return proof_of_showing(self.interrupt, self.user)

    @property
    def notices(self) -> list[Notice]:
        """What hides or misleads in what the agent sent."""
        found = [*self.args.notices, *(self.target.notices if self.target else ())]
        words = notice(self.interrupt.description)
        return [*found, words] if words else found

    @property
    def exact_text(self) -> tuple[Segment, ...]:
        """The text that the digest covers, hidden characters as JSON escapes."""
        return visible_json(self.told_asked)

    @property
    def args_text(self) -> str:
        """The arguments for the edit box: what was typed, else what was asked."""
        return self.typed.args or pretty(self.content["args"])

    @property
    def args_asked(self) -> str:
        """The arguments as they were asked, to tell whether the edit box holds others."""
        return pretty(self.content["args"])

    @property
    def is_edited(self) -> bool:
        """Whether the edit box holds anything else than the arguments asked."""
        typed = self.typed.args.replace("\r\n", "\n").strip()
        return bool(typed) and typed != pretty(self.content["args"])

    @property
    def args_rows(self) -> int:
        """How many lines the edit box shows; it scrolls and grows."""
        return min(max(self.args_text.count("\n") + 2, 5), 30)

    @property
    def decisions(self) -> list[str]:
        """The answers offered, by name."""
        return [decision.value for decision in self.offer.decisions]

    @property
    def why_me(self) -> list[str]:
        """Why this person is asked."""
        return why_me(self.right, self.interrupt.rule)

    @property
    def who_approves(self) -> list[str]:
        """Whom the rule asks."""
        return who_approves(self.interrupt.rule)

    @property
    def time_left(self) -> str:
        """How long there is to answer."""
        return left(self.interrupt.expires_at, self.now)

    @property
    def seconds_left(self) -> int:
        """The same for the page's clock; 0 where nothing is awaited."""
        if not InterruptState(self.interrupt.state).is_open:
            return 0
        return max(0, int((self.interrupt.expires_at - self.now).total_seconds()))

    @property
    def is_late(self) -> bool:
        """Whether the time is over and nothing settled it yet."""
        is_open = InterruptState(self.interrupt.state).is_open
        return is_open and self.interrupt.expires_at <= self.now

    @property
    def state(self) -> str:
        """How the question stands at this instant."""
        return "EXPIRED" if self.is_late else self.interrupt.state

    @cached_property
    def decision(self) -> Decision | None:
        """The outcome, where there is one."""
        return outcome_of(self.interrupt)

    @property
    def outcome(self) -> str:
        """Who did what, where the question is decided."""
        return did(self.decision) if self.decision else ""

    @property
    def is_mine(self) -> bool:
        """Whether this person gave the outcome."""
        return self.decision is not None and self.decision.by_id == self.user.public_id

    @property
    def my_approval(self) -> Approval | None:
        """The approval of this person that counts, while others are awaited."""
        return next((one for one in self.approvals if one.user_id == self.user.pk), None)

    @property
    def missing(self) -> int:
        """How many approvals are still needed."""
        return max(0, self.interrupt.required - self.interrupt.approvals_so_far)

    @cached_property
    def decided_changes(self) -> tuple[Change, ...] | None:
        """What a person changed before approving; None where nobody did."""
        return decided_changes(self.interrupt, self.decision) if self.decision else None

    @property
    def recorded(self) -> str:
        """What is on record of this person's answer, for a page that lost the reply."""
        return recorded(
            self.interrupt,
            self.user,
            approvals=self.approvals,
            following=self.following,
            now=self.now,
        )

    def panel_of(self, refusal: Refusal, *, given_sha256: str = "") -> Panel:
        """What a refusal of this question says on this page."""
        return panel(
            refusal,
            self.interrupt,
            self.user,
            is_open=self.is_answerable,
            queue=self.queue,
            given_sha256=given_sha256,
        )

    @cached_property
    def queue(self) -> Queue:
        """What else waits for this person."""
        return queue_after(self.interrupt.pk, self.user)

    @property
    def way(self) -> Way:
        """Where to go on from a question that is over."""
        return way_on(self.queue)

    @cached_property
    def last_attempt(self) -> Interrupt | None:
        """The attempt before this one, where this person may see it."""
        mine = visible_interrupts(self.user).filter(run_id=self.interrupt.run_id)
        wanted = mine.filter(call_id=self.interrupt.call_id, attempt=self.interrupt.attempt - 1)
        found = wanted.select_related("run", "decision")
        return found.first() if self.interrupt.attempt > 1 else None

    @property
    def last_standing(self) -> str:
        """How that attempt stands, in words."""
        return standing(self.last_attempt, self.now) if self.last_attempt else ""

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What changed since that attempt."""
        return content_changes(self.last_attempt, self.interrupt) if self.last_attempt else ()

    @cached_property
    def following(self) -> Interrupt | None:
        """The question that took this one's place, where this person may see it."""
        wanted = visible_interrupts(self.user).filter(pk=self.interrupt.superseded_by_id)
        return wanted.first() if self.interrupt.superseded_by_id else None

    @property
    def following_changes(self) -> tuple[Change, ...]:
        """What is different in it."""
        return content_changes(self.interrupt, self.following) if self.following else ()

    @cached_property
    def same(self) -> list[Same]:
        """Other questions with exactly the same content, newest first; one more than are told."""
        same = visible_interrupts(self.user).filter(asked_sha256=self.interrupt.asked_sha256)
        others = same.exclude(pk=self.interrupt.pk).select_related("run", "decision")
        found = others.defer("asked", "description").order_by("-pk")[: SAME_MAX + 1]
        return [Same(other, standing(other, self.now)) for other in found]

    @property
    def same_told(self) -> list[Same]:
        """Those that the page lists."""
        return self.same[:SAME_MAX]

    @property
    def has_more_same(self) -> bool:
        """Whether there are older ones that it does not list."""
        return len(self.same) > SAME_MAX

    @cached_property
    def acted(self) -> list[Action]:
        """Actions of exactly this content that came of other questions, the worst first."""
        i, may_approve = self.interrupt, not APPROVING.isdisjoint(self.offer.decisions)
        rows = same_content(self.user, i.asked_sha256, but=i.pk, may_approve=may_approve)
        return list(rows[:SAME_MAX])

    @cached_property
    def used_as(self) -> Action | None:
        """The action that used this approval."""
        return Action.by_interrupt([self.interrupt.pk]).get(self.interrupt.pk)

    @cached_property
    def handoff(self) -> Handoff | None:
        """What a person has to do at a page, where this question is a handoff."""
        return Handoff.of(
            self.interrupt,
            self.content["target"],
            state=self.state,
            may_hand_back=DecisionKind.DONE in self.offer.decisions,
        )

    @cached_property
    def history(self) -> list[Line]:
        """What happened to this question so far."""
        events = run_events(
            tenant_id=self.interrupt.tenant_id,
            run_id=self.interrupt.run_id,
            interrupt_ids=[self.interrupt.pk],
        )
        return lines(events)
