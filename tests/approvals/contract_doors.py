"""The ways by which agents and people reach the product, each telling what came of it alike."""

import json
import re
from typing import Any

from django.test import Client

from approvals.models import Interrupt
from approvals.models.answering import decide
from approvals.models.asking import ask
from approvals.rules.answering import Answer, Shown
from approvals.web.view_token import proof_of_showing
from identity.models import User
from placet.protocol.refusals import RefusalCode
from placet.protocol.states import DecisionKind, RunOutcome
from runs.models import Run
from runs.rules.refusal import Refusal
from tests.approvals import contract_model as model
from tests.approvals.api import AgentHTTP
from tests.approvals.contract_strategies import as_json, new_question
from tests.cast import Cast

PANEL = re.compile(r'class="panel"[^>]* role="alert"[^>]* data-code="([a-z_]+)"')
BACKEND = "django.contrib.auth.backends.ModelBackend"
Told = list[tuple[str, bool]]


class Doors:
    """The command, the API and the page; a refusal is told by its code, success by None."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.http = AgentHTTP(cast.key)
        self.browsers: dict[str, Client] = {}

    def ask(self, pk: str, asked: list[model.Ask], revision: int | None, door: str) -> Told | str:
        """Each question's id and whether it was created, or the code of the refusal."""
        if door == "http":
            return self._ask_over_http(pk, asked, revision)
        told = ask(
            pk,
            [new_question(ask) for ask in asked],
            agent=self.cast.agent,
            expected_revision=revision,
        )
        if isinstance(told, Refusal):
            return str(told.code)
        return [(row.pk, row.pk in told.created) for row in told.interrupts]

    def _ask_over_http(self, pk: str, asked: list[model.Ask], revision: int | None) -> Told | str:
        body = {"interrupts": [as_json(ask) for ask in asked], "expected_revision": revision}
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

    def cancel_question(self, pk: str, door: str) -> str | None:
        """Take a question back."""
        if door == "http":
            return code(self.http.post(f"/interrupts/{pk}/cancel"))
        return code(Interrupt.objects.get(pk=pk).cancel(agent=self.cast.agent))

    def end_run(self, pk: str, end: str, door: str) -> str | None:
        """Cancel a run, or finish it with an outcome."""
        run, agent = Run.objects.get(pk=pk), self.cast.agent
        match end, door:
            case "cancel", "http":
                return code(self.http.post(f"/runs/{pk}/cancel", {"reason": "stop"}))
            case "cancel", _:
                return code(run.cancel(by=agent))
            case _, "http":
                return code(self.http.post(f"/runs/{pk}/finish", {"outcome": end}))
            case _:
                return code(run.finish(RunOutcome(end), agent=agent))


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
    if getattr(told, "status_code", 200) == 200:
        return None
    return str(told.json()["code"])
