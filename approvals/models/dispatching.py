"""Dispatch: the one command that uses up an approval, and the only license to act.

It happens under the run's lock, with the approved digest, under a living lease, and inserts the
action whose unique interrupt holds "at most once" even against code that forgets all this.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import transaction

from approvals.models.account import foreign_account
from approvals.models.decision import Decision, actor_value
from approvals.models.interrupt import Interrupt
from approvals.models.observation import Observation
from approvals.models.policy import PolicyVersion
from approvals.rules.dispatching import Approval, Dispatch, judge_dispatch
from approvals.rules.observing import differences, is_recent
from approvals.rules.policy import names_tool, rule_for
from audit.chain import instant
from identity.access import lock_standing
from identity.models import Agent
from placet.protocol.digest import canonical_asked, sha256_hex
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import InterruptState
from runs import grant
from runs.ids import new_id
from runs.models import Action, Run, SigningKey, Turn
from runs.models.action import Approved
from runs.rows import First, by_key, together
from runs.rules.lease import NewLease
from runs.rules.refusal import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an executor asks to do: with the token that it holds, or a lease to be taken now."""

    interrupt_id: str
    args: dict[str, JSONValue]
    fencing_token: int | None = None
    lease: NewLease | None = None
    observation_id: str | None = None
    refs: JSONValue = None

    def given(self) -> dict[str, JSONValue]:
        """What a refusal's record says was given: no argument values."""
        return {
            "fencing_token": self.fencing_token,
            "holder": self.lease.holder if self.lease else None,
            "observation_id": self.observation_id,
        }


def dispatch(run_id: str, wanted: Wanted, *, agent: Agent) -> Action | Refusal:
    """Use up an approval for exactly what was approved, or say why not."""
    with transaction.atomic():
        turn = Run.take(run_id)
        use = Use.of(turn, wanted, agent=agent)
        if refusal := use.refusal():
            return turn.refuse(
                refusal,
                by=agent.as_actor(),
                command="dispatch",
                object_id=wanted.interrupt_id,
                given=wanted.given(),
                digest=use.sha256,
                tool=use.interrupt.tool,
            )
        action = use.carry_out()
        turn.close()
    return action


@dataclass(slots=True)
class Use:
    """A locked approval, what an executor wants to do with it, and everything read for it."""

    turn: Turn
    agent: Agent
    wanted: Wanted
    interrupt: Interrupt
    target: dict[str, JSONValue] | None
    sha256: str
    """The digest of the arguments given, with the stored tool and target."""
    used_by: Action | None
    policy: PolicyVersion | None
    """What is in force now; the approval is bound to what was when it was asked for."""

    @classmethod
    def of(cls, turn: Turn, wanted: Wanted, *, agent: Agent) -> "Use":
        """Lock the interrupt, and read with it all that decides over its use."""
        asked = [wanted.interrupt_id]
        interrupt, decision, used_by, policy = together(
            by_key(Interrupt, wanted.interrupt_id),
            First(Decision, "interrupt_id = %s", asked),
            First(Action, "interrupt_id = %s", asked),
            PolicyVersion.newest(turn.run.tenant_id),
        )
        if decision is not None:
            interrupt.decision = decision
        target = interrupt.content["target"]
        assert target is None or isinstance(target, dict)
        text = canonical_asked(tool=interrupt.tool, args=wanted.args, target=target)
        return cls(turn, agent, wanted, interrupt, target, sha256_hex(text), used_by, policy)

    def refusal(self) -> Refusal | None:
        """The first reason why not, rights read after the lock."""
        return self._no_right() or judge_dispatch(
            self.turn.facts,
            self._approval(),
            Dispatch(
                sha256=self.sha256,
                fencing_token=self.wanted.fencing_token,
                forbidden_by=self._forbidden_by(),
                is_page_verified=self._is_page_verified(),
                now=self.turn.now,
            ),
        )

    def _no_right(self) -> Refusal | None:
        run = self.turn.run
        standing, persons = lock_standing(self.agent.pk, run.tenant_id, [run.owner_id])
        if not standing.is_active:
            return Refusal(code=RefusalCode.UNAUTHENTICATED)
        if not persons[run.owner_id].is_active or not self.agent.is_named_for(run.owner_id):
            return Refusal(
                code=RefusalCode.NOT_PERMITTED,
                detail="This agent may no longer act for the run's owner.",
            )
        return foreign_account(run.tenant_id, run.owner_id, self.target)

    def _approval(self) -> Approval:
        interrupt = self.interrupt
        is_decided = interrupt.state == InterruptState.DECIDED
        approved = interrupt.decision.approved_asked if is_decided else None
        return Approval(
            interrupt_id=interrupt.pk,
            state=InterruptState(interrupt.state),
            superseded_by=interrupt.superseded_by_id,
            ending=interrupt.ending(),
            approved_sha256=None if approved is None else sha256_hex(approved),
            valid_until=interrupt.decision.valid_until if is_decided else None,
            action_id=self.used_by.pk if self.used_by else None,
        )

    def _forbidden_by(self) -> str | None:
        """The rule in force, or the run's own list, by which the call is forbidden today."""
        run, tool = self.turn.run, self.interrupt.tool
        if run.allowed_tools is not None and not names_tool(run.allowed_tools, tool):
            return "the run's allowed_tools"
        asked: dict[str, JSONValue] = {
            "tool": tool,
            "args": self.wanted.args,
            "target": self.target,
        }
        rule = rule_for(self.policy.rules if self.policy else (), asked)
        return f"the rule “{rule.id}”" if rule.deny else None

    def _is_page_verified(self) -> bool:
        """Whether a look that is named or needed was under the lease that lives, and at the target.

        How long ago it may have been is asked only where something limits it.
        """
        max_age_s, run = self.interrupt.observation_max_age_s, self.turn.run
        if self.wanted.observation_id is None:
            return max_age_s is None
        if self.wanted.lease is not None:
            return False
        seen = Observation.objects.filter(run_id=run.pk, pk=self.wanted.observation_id).first()
        return (
            seen is not None
            and seen.fencing_token == run.fencing_token
            and is_recent(seen.received_at, max_age_s=max_age_s, now=self.turn.now)
            and not differences(self.target, seen.members())
        )

    def carry_out(self) -> Action:
        """Take the lease where that was asked for, sign the grant, and store the action."""
        turn, wanted, decision = self.turn, self.wanted, self.interrupt.decision
        if wanted.lease is not None:
            turn.start_lease(wanted.lease)
        assert decision.approved_asked is not None and decision.idempotency_key is not None
        approved = Approved(
            interrupt_id=self.interrupt.pk,
            tool=self.interrupt.tool,
            asked=decision.approved_asked,
            sha256=self.sha256,
            idempotency_key=decision.idempotency_key,
        )
        action_id, ends_at = new_id("act"), self._grant_ends_at()
        return Action.dispatch(
            turn,
            approved,
            by=self.agent.as_actor(),
            action_id=action_id,
            grant=self._grant(action_id, approved, ends_at),
            grant_ends_at=ends_at,
            observation_id=wanted.observation_id,
            refs=wanted.refs,
        )

    def _grant_ends_at(self) -> datetime:
        whole = datetime.fromtimestamp(grant.seconds(self.turn.now), UTC)
        return whole + timedelta(seconds=settings.PLACET_GRANT_TTL_S)

    def _grant(self, action_id: str, approved: Approved, ends_at: datetime) -> str:
        run, decision, key = self.turn.run, self.interrupt.decision, SigningKey.in_use()
        claims: dict[str, JSONValue] = {
            "iss": settings.PLACET_BASE_URL,
            "aud": f"{self.agent.tenant.slug}/{approved.tool}",
            "sub": self.agent.public_id,
            "jti": action_id,
            "iat": grant.seconds(self.turn.now),
            "exp": grant.seconds(ends_at),
            "run": run.pk,
            "interrupt": self.interrupt.pk,
            "tool": approved.tool,
            "approved_sha256": approved.sha256,
            "decided_by": actor_value(decision.actor),
            "decided_at": instant(decision.decided_at),
            "idempotency_key": approved.idempotency_key,
            "fencing_token": run.fencing_token,
        }
        return grant.sign(claims, kid=key.kid, private=key.private)
