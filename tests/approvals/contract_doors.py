"""The ways by which agents and people reach the product, each telling what came of it alike."""

import json
import re
from dataclasses import dataclass
from typing import Any

from django.test import Client

from approvals.models import Interrupt
from approvals.models.answering import decide
from approvals.models.asking import ask
from approvals.models.reconciling import Found, settle_outcome
from approvals.rules.answering import Answer, Shown
from approvals.web.view_token import proof_of_showing
from identity.models import User
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import DecisionKind, RunOutcome
from runs.models import Action, Run
from runs.rules.refusal import Refusal
from tests.approvals import contract_model as model
from tests.approvals.api import AgentHTTP
from tests.approvals.contract_strategies import as_json, new_question
from tests.cast import Cast

PANEL = re.compile(r'class="panel"[^>]* role="alert"[^>]* data-code="([a-z_]+)"')
BACKEND = "django.contrib.auth.backends.ModelBackend"
Told = list[tuple[str, bool]]


@dataclass(frozen=True)
class Asking:
    """One request to ask, with the ids of the actions that its questions repeat."""

    asked: list[model.Ask]
    retries: list[str | None]
    revision: int | None
    token: int | None


class Doors:
    """The command, the API and the page; a refusal is told by its code, success by None."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.http = AgentHTTP(cast.key)
        self.browsers: dict[str, Client] = {}

    def ask(self, pk: str, asking: Asking, door: str) -> Told | str:
        """Each question's id and whether it was created, or the code of the refusal."""
        if door == "http":
            return self._ask_over_http(pk, asking)
        told = ask(
            pk,
            [new_question(*each) for each in zip(asking.asked, asking.retries, strict=True)],
            agent=self.cast.agent,
            expected_revision=asking.revision,
            fencing_token=asking.token,
        )
        if isinstance(told, Refusal):
            return str(told.code)
        return [(row.pk, row.pk in told.created) for row in told.interrupts]

    def _ask_over_http(self, pk: str, asking: Asking) -> Told | str:
        body = {
            "interrupts": [
                as_json(*each) for each in zip(asking.asked, asking.retries, strict=True)
            ],
            "expected_revision": asking.revision,
            "fencing_token": asking.token,
        }
        reply = self.http.post(f"/runs/{pk}/interrupts", body)
        if reply.status_code >= 400:
            return str(reply.json()["code"])
        shapes = reply.json()["interrupts"]
        assert (reply.status_code == 201) == any(shape["created"] for shape in shapes)
        return [(shape["id"], shape["created"]) for shape in shapes]

    def answer(self, row: Interrupt, posted: model.Posted, door: str) -> str | None:
        """Post a person's answer."""
        given = self._as_posted(row, posted)
        if door == "page":
            return self._answer_by_page(row, posted, given)
        return code(decide(row.pk, row.run_id, user=self._user(posted), answer=given))

    def _as_posted(self, row: Interrupt, posted: model.Posted) -> Answer:
        revision = Run.objects.get(pk=row.run_id).revision
        is_own, is_this = posted.view != "another person's", posted.view != "another question's"
        shown = Shown(
            user_id=self._user(posted).pk if is_own else self.cast.mallory.pk,
            interrupt_id=row.pk if is_this else "int_other",
            asked_sha256=row.asked_sha256,
            handback=row.handback,
        )
        return Answer(
            decision=DecisionKind(posted.decision),
            revision=revision if posted.is_current else revision + 1,
            asked_sha256=row.asked_sha256 if posted.is_digest_right else "0" * 64,
            shown=None if posted.view == "none" else shown,
            reason=posted.reason,
            args=posted.args,  # type: ignore[arg-type]
            response=posted.response,
        )

    def _user(self, posted: model.Posted) -> User:
        user: User = getattr(self.cast, posted.user)
        return user

    def _answer_by_page(self, row: Interrupt, posted: model.Posted, given: Answer) -> str | None:
        form = {
            "decision": posted.decision,
            "revision": str(given.revision),
            "asked_sha256": given.asked_sha256,
            "view": (given.shown and _view(given.shown)) or "",
            "reason": posted.reason,
            "args": "" if posted.args is None else json.dumps(posted.args),
            "response": posted.response or "",
        }
        reply = self._browser(posted).post(f"/interrupts/{row.pk}/decide/", form)
        if reply.status_code in (303, 404):
            return None if reply.status_code == 303 else "not_found"
        (told,) = PANEL.findall(reply.content.decode())
        assert RefusalCode(told).status == reply.status_code
        return str(told)

    def _browser(self, posted: model.Posted) -> Client:
        if posted.user not in self.browsers:
            self.browsers[posted.user] = Client()
            self.browsers[posted.user].force_login(self._user(posted), backend=BACKEND)
        return self.browsers[posted.user]

    def cancel_question(self, pk: str, token: int | None, door: str) -> str | None:
        """Take a question back."""
        if door == "http":
            return code(self.http.post(f"/interrupts/{pk}/cancel", {"fencing_token": token}))
        row = Interrupt.objects.get(pk=pk)
        return code(row.cancel(agent=self.cast.agent, fencing_token=token))

    def end_run(self, pk: str, end: str, token: int | None, door: str) -> str | None:
        """Cancel a run, or finish it with an outcome."""
        run, agent = Run.objects.get(pk=pk), self.cast.agent
        match end, door:
            case "cancel", "http":
                return code(self.http.post(f"/runs/{pk}/cancel", {"reason": "stop"}))
            case "cancel", _:
                return code(run.cancel(by=agent))
            case _, "http":
                body = {"outcome": end, "fencing_token": token}
                return code(self.http.post(f"/runs/{pk}/finish", body))
            case _:
                return code(run.finish(RunOutcome(end), agent=agent, fencing_token=token))

    def act(self, path: str, body: dict[str, Any]) -> Any:
        """What an executor sends: the answer to it."""
        return self.http.post(path, body)

    def find_out(self, action: Action, found: Found, by: str) -> str | None:
        """Say what became of an action: a person, or the agent's key."""
        if by == "key":
            body: dict[str, Any] = {"outcome": found.finding}
            if found.evidence:
                body["evidence"] = {
                    "kind": found.evidence.kind,
                    "reference": found.evidence.reference,
                }
            return code(self.http.post(f"/actions/{action.pk}/reconcile", body))
        return code(settle_outcome(action, found, by=getattr(self.cast, by)))


def _view(shown: Shown) -> str:
    """The signed proof that would say this."""
    interrupt = Interrupt(
        id=shown.interrupt_id, asked_sha256=shown.asked_sha256, handback=shown.handback
    )
    return proof_of_showing(interrupt, User(pk=shown.user_id))


def code(told: Any) -> str | None:
    """The code of a refusal, by value or over HTTP; None where it is none."""
    if isinstance(told, Refusal):
        return str(told.code)
    if getattr(told, "status_code", 200) in (200, 201):
        return None
    return str(told.json()["code"])
