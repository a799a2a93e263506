"""The client for programs that work in threads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import httpx

from placet import flows, requests
from placet.calls import RunCalls
from placet.driving import Threaded, options, site
from placet.lease import Lease
from placet.models import Action, Event, Interrupt, Me, Observed, RunsPage, RunView
from placet.question import Question
from placet.tenure import Tenure


class Client:
    """A server, spoken to with the key of an agent; may be shared by threads.

    Every call is tried for about a minute through lost connections, restarts and overload, then
    raises Unreachable or Refused. All calls can be repeated without harm.
    """

    def __init__(
        self, base_url: str, key: str, *, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.base_url = site(base_url)
        self._threaded = Threaded(httpx.Client(transport=transport, **options(base_url, key)))

    def __enter__(self) -> Self:
        """Give the client."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the client."""
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._threaded.http.close()

    def me(self) -> Me:
        """Who the key is, and whom it may act for."""
        return self._threaded.run(flows.told(Me, requests.me()))

    def create_run(
        self,
        *,
        title: str,
        owner: str,
        external_id: str | None = None,
        parent: str | None = None,
        context: Any = None,
        allowed_tools: Sequence[str] | None = None,
        labels: Mapping[str, Any] | None = None,
    ) -> "Run":
        """Begin a run for a person, or get the one that this `external_id` names."""
        request = requests.begin_run(
            title=title,
            owner=owner,
            external_id=external_id,
            parent=parent,
            context=context,
            allowed_tools=allowed_tools,
            labels=labels,
        )
        return Run(self._threaded, self._threaded.run(flows.told(RunView, request)))

    def get_run(self, run_id: str) -> "Run":
        """A run that this agent began."""
        request = requests.get_run(run_id)
        return Run(self._threaded, self._threaded.run(flows.told(RunView, request)))

    def find_runs(
        self, *, external_id: str | None = None, state: str | None = None
    ) -> Iterator["Run"]:
        """This agent's runs, newest first."""
        after: str | None = None
        while True:
            request = requests.find_runs(external_id=external_id, state=state, after=after)
            page = self._threaded.run(flows.told(RunsPage, request))
            yield from (Run(self._threaded, view) for view in page.items)
            if page.next is None:
                return
            after = page.next

    def get_interrupt(self, interrupt_id: str) -> Interrupt:
        """A question as it stands."""
        return self._threaded.run(flows.told(Interrupt, requests.get_interrupt(interrupt_id)))

    def wait(self, asked: Interrupt, timeout_s: float | None = None) -> Interrupt:
        """The question once it is no longer PENDING; see `Run.wait`."""
        return self._threaded.run(flows.wait(asked, timeout_s=timeout_s))

    def get_action(self, action_id: str) -> Action:
        """An action and what is known of it."""
        return self._threaded.run(flows.told(Action, requests.get_action(action_id)))

    def reconcile(
        self, action_id: str, outcome: str, *, evidence: Mapping[str, str] | None = None
    ) -> Action:
        """Say what was found out about an action of which nobody knew (scope `reconcile`)."""
        request = requests.reconcile(action_id, outcome, evidence=evidence)
        return self._threaded.run(flows.told(Action, request))

    def events(
        self, *, after: int = 0, run: str | None = None, wait: bool = True
    ) -> Iterator[Event]:
        """Events behind the number `after`, in order, each once: without end, or those there are.

        Keep the `n` of the last event that was dealt with, and go on from there.
        """
        while True:
            page, after = self._threaded.run(flows.events_page(after, run=run, wait=wait))
            yield from page
            if not page and not wait:
                return


class Run(RunCalls):
    """One agent task. `view` is how the server told it last."""

    def __init__(self, threaded: Threaded, view: RunView) -> None:
        super().__init__(view)
        self._threaded = threaded

    def refresh(self, *, is_all: bool = False) -> RunView:
        """The run as it stands, with all its questions where `is_all`."""
        return self._threaded.run(self._refresh(is_all=is_all))

    def ask(
        self,
        tool: str,
        args: Mapping[str, Any],
        *,
        call_id: str,
        target: Mapping[str, Any] | None = None,
        expected_revision: int | None = None,
        **more: Any,
    ) -> Interrupt:
        """Ask people whether this may be done; the same question asked again is given back.

        `more` are the other members of `Question`: `description`, `args_schema` and so on.
        """
        question = Question(tool=tool, args=args, call_id=call_id, target=target, **more)
        return self.ask_all([question], expected_revision=expected_revision)[0]

    def ask_all(
        self,
        questions: Iterable[Question | Mapping[str, Any]],
        *,
        expected_revision: int | None = None,
    ) -> tuple[Interrupt, ...]:
        """Ask one to fifty questions, all or nothing, in this order."""
        return self._threaded.run(self._ask(questions, expected_revision=expected_revision))

    def wait(self, asked: Interrupt, timeout_s: float | None = None) -> Interrupt:
        """The question once it is no longer PENDING, or as it stands after `timeout_s`.

        Waits through restarts of the server, for days. Where a person's edit became a question of
        its own, that one is waited for and given.
        """
        return self._threaded.run(flows.wait(asked, timeout_s=timeout_s))

    def take_back(self, asked: Interrupt) -> Interrupt:
        """Cancel a question; people can no longer answer it."""
        return self._threaded.run(self._take_back(asked))

    def lease(self, *, holder: str, ttl_s: int = 60) -> Lease:
        """Control of the run for a `with`; while it lasts this handle asks and finishes under it.

        `ttl_s` is 10 to 3600. It is renewed while the `with` lasts.
        """
        tenure = Tenure(self.id, holder=holder, ttl_s=ttl_s)
        return Lease(self._threaded, tenure, self._hold)

    def observe(
        self,
        *,
        origin: str,
        snapshot_sha256: str,
        account: str | None = None,
        page: str | None = None,
        session: str | None = None,
        handed_back: Interrupt | None = None,
        observed_at: datetime | None = None,
    ) -> Observed:
        """Say what was seen on the controlled page, under the lease (scope `observe`).

        With `handed_back` it is the check of that hand-back; without, a look for a dispatch.
        """
        return self._threaded.run(
            self._observe(
                {"origin": origin, "account": account, "page": page, "session": session},
                snapshot_sha256=snapshot_sha256,
                handed_back=handed_back,
                observed_at=observed_at,
            )
        )

    def finish(self, outcome: str) -> RunView:
        """End the run: succeeded, failed or rejected."""
        return self._threaded.run(self._finish(outcome))

    def cancel(self, *, reason: str | None = None) -> RunView:
        """Stop the run; what was dispatched is not undone."""
        return self._threaded.run(self._cancel(reason=reason))
