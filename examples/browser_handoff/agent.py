"""The agent: hands over the login, asks for the transfer, and does what was approved, once.

Three things are kept apart, and none stands in for another: what the page shows is read from the
page, whose turn it is says the lease, and what is allowed says the approval.
"""

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Error as BrowserError

from browser_handoff.browser import SESSION, BankRefused, Tab
from browser_handoff.placet import Placet, Refused

HOLDER = "browser_handoff"
FRESH_S = 30
"""How old the last look may be when the approval is used."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """What the agent was told to do; the order names it, so that it is done once."""

    order: str
    payee: str
    amount_cents: int


class Ended(Exception):
    """There is nothing more to do in this run, for this reason."""

    def __init__(self, outcome: str, why: str) -> None:
        super().__init__(why)
        self.outcome = outcome


class OutcomeUnknown(Exception):
    """The form may or may not have been sent; nobody sends it again without finding out."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One transfer, on behalf of one person, in one tab."""

    placet: Placet
    tab: Tab
    bank_url: str
    owner: str
    account: str
    transfer: Transfer

    @property
    def target(self) -> dict[str, str]:
        """Where and as whom: every member has to be seen, character by character."""
        return {
            "origin": self.bank_url,
            "account": self.account,
            "page": "/transfer",
            "session": SESSION,
        }

    def work(self) -> None:
        """Do it all; started again with the same order, it goes on where it was."""
        order, title = self.transfer.order, f"Transfer for order {self.transfer.order}"
        run = self.placet.begin_run(title=title, owner=self.owner, external_id=order)["id"]
        try:
            self._hand_over(run, 1)
            receipt = self._act(run, self._ask(run))
        except Ended as ended:
            say(f"{ended}")
            self.placet.finish_run(run, ended.outcome)
        else:
            say(f"Transferred: receipt {receipt}.")
            self.placet.finish_run(run, "succeeded")

    def _hand_over(self, run: str, number: int) -> None:
        """Let a person log in, until the page shows what is needed.

        Nobody holds the lease meanwhile: the browser is the person's. Their “done” wakes the
        agent and no more; what the tab shows then is what decides.
        """
        handoff = self._ask_to_log_in(run, number)
        if handoff["state"] in {"PENDING", "HANDED_BACK"} and not handoff["created"]:
            self.placet.take_back(handoff)  # it leads to a browser that is gone
            handoff = self._ask_to_log_in(run, number)
        if handoff["state"] == "PENDING":
            say(f"I need {self.account} to log in. Take over from here:\n  {handoff['url']}")
        while (handoff := self.placet.wait(handoff))["state"] == "HANDED_BACK":
            self._check(run, handoff)
        raise_unless(handoff, "done")

    def _ask_to_log_in(self, run: str, number: int) -> dict[str, Any]:
        return self.placet.ask(
            run,
            call_id=f"login-{number}",
            kind="handoff",
            tool="browser.login",
            args={},
            target=self.target,
            description="Log in, stay on the page for new transfers, then press Done here.",
            handoff_url=self.tab.takeover_url,
        )

    def _check(self, run: str, handoff: dict[str, Any]) -> None:
        """Look at the tab and say what is there; the server compares."""
        with self.placet.lease(run, HOLDER) as token:
            try:
                seen = self.tab.look().body()
                checked = self.placet.observe_handback(handoff, token, seen)
            except Refused as refused:  # the person said no after all, or the time was over
                say(f"That look came too late: {refused}")
                return
        if checked["matched"]:
            say(f"The page shows {self.account} at {self.target['page']}. I go on.")
        else:
            say(f"Not what I need; it differs in: {', '.join(checked['differs'])}. I wait.")

    def _ask(self, run: str) -> dict[str, Any]:
        """Ask whether to transfer: that somebody logged in permits nothing."""
        transfer = self.transfer
        asked = self.placet.ask(
            run,
            call_id=f"transfer-{transfer.order}",
            tool="bank.transfer",
            args={"payee": transfer.payee, "amount_cents": transfer.amount_cents},
            target=self.target,
            observation_max_age_s=FRESH_S,
            allowed_decisions=["approve", "reject"],
        )
        if asked["state"] == "PENDING":
            say(f"Asked whether to transfer:\n  {asked['url']}")
        if asked["action_id"]:  # given out before this agent was started again
            raise OutcomeUnknown(f"{asked['action_id']} was dispatched before; I send nothing.")
        decided = self.placet.wait(asked)
        raise_unless(decided, "approve")
        return decided

    def _act(self, run: str, approved: dict[str, Any]) -> str:
        """Look again, use the approval, and send the form.

        Whoever was logged in when the question was asked need not be now. If the look is not of
        the target, the server does not give out the approval: then the login is handed over again.
        """
        number = 1
        while True:
            with self.placet.lease(run, HOLDER) as token:
                look_id = self.placet.observe(run, token, self.tab.look().body())
                try:
                    action = self.placet.dispatch(run, approved, token, look_id)
                except Refused as refused:
                    if refused.code != "page_not_verified":
                        raise
                    say("The page is no longer what was approved; I hand it over again.")
                else:
                    return self._send(action, token)
            number += 1
            self._hand_over(run, number)

    def _send(self, action: dict[str, Any], token: int) -> str:
        """Send the form, and report what is certain; all else is unknown, and never a failure."""
        args, key = action["args"], action["idempotency_key"]
        try:
            self.tab.fill_in(args["payee"], args["amount_cents"], key)
            is_there = self.tab.look().shows(action["target"])
        except BrowserError:
            is_there = False
        if not is_there:  # nothing was sent yet
            self.placet.report(action, token, "not_executed", None)
            raise Ended("failed", "The page changed under my hands; I sent nothing.")
        try:
            receipt = self.tab.submit()
        except BankRefused as refusal:
            self.placet.report(action, token, "failed", {"bank": str(refusal)})
            raise Ended("failed", f"The bank refused: {refusal}") from None
        except BrowserError as error:
            self.placet.report_unknown(action, token, "The bank's answer was not seen.")
            raise OutcomeUnknown(f"{action['id']}: I saw no answer, and send nothing.") from error
        self.placet.report(action, token, "succeeded", {"receipt": receipt})
        return receipt


def raise_unless(interrupt: dict[str, Any], wanted: str) -> None:
    """End the run unless the question was decided in this way."""
    decision = interrupt["decision"]
    if decision is None:
        raise Ended("failed", f"The question is {interrupt['state']}.")
    if decision["kind"] != wanted:
        by, reason = decision["decided_by"]["name"], decision["reason"]
        raise Ended("rejected", f"Rejected by {by}: “{reason}”")


def say(text: str) -> None:
    """Print what the agent does; never the link by which the tab is taken over."""
    print(text, flush=True)
