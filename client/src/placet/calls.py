"""Every call of a client and of a run as a flow, the same for threads and for event loops."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from placet import flows, requests
from placet.flows import Flow
from placet.models import Interrupt, Observed, RunView
from placet.protocol.states import RunState
from placet.question import Question


class RunCalls:
    """The run as the server told it last, and the token of the lease that this handle holds."""

    def __init__(self, view: RunView) -> None:
        self.view = view
        self._token: int | None = None

    @property
    def id(self) -> str:
        """The run's id."""
        return self.view.id

    @property
    def state(self) -> RunState:
        """The run's state as the server told it last."""
        return self.view.state

    @property
    def url(self) -> str:
        """The run's page for people."""
        return self.view.url

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.state}>"

    def _hold(self, token: int | None) -> None:
        self._token = token

    def _learn(self, request: requests.Request) -> Flow[RunView]:
        self.view = yield from flows.told(RunView, request)
        return self.view

    def _refresh(self, *, is_all: bool) -> Flow[RunView]:
        return self._learn(requests.get_run(self.id, is_all=is_all))

    def _ask(
        self,
        questions: Iterable[Question | Mapping[str, Any]],
        *,
        expected_revision: int | None,
    ) -> Flow[tuple[Interrupt, ...]]:
        asking = tuple(
            each if isinstance(each, Question) else Question(**each) for each in questions
        )
        request = requests.ask(
            self.id, asking, expected_revision=expected_revision, fencing_token=self._token
        )
        asked = yield from flows.ask(request, asking)
        self.view = asked.run
        return asked.interrupts

    def _take_back(self, asked: Interrupt) -> Flow[Interrupt]:
        request = requests.cancel_interrupt(asked.id, fencing_token=self._token)
        return flows.told(Interrupt, request)

    def _observe(
        self,
        seen: Mapping[str, str | None],
        *,
        snapshot_sha256: str,
        handed_back: Interrupt | None,
        observed_at: datetime | None,
    ) -> Flow[Observed]:
        if self._token is None:
            raise ValueError("an observation is made inside `with run.lease(…)`")
        request = requests.observe(
            self.id,
            token=self._token,
            interrupt_id=handed_back.id if handed_back else None,
            handback=handed_back.handback if handed_back else None,
            seen=seen,
            snapshot_sha256=snapshot_sha256,
            observed_at=observed_at or datetime.now(UTC),
        )
        return flows.told(Observed, request)

    def _finish(self, outcome: str) -> Flow[RunView]:
        return self._learn(requests.finish_run(self.id, outcome, fencing_token=self._token))

    def _cancel(self, *, reason: str | None) -> Flow[RunView]:
        return self._learn(requests.cancel_run(self.id, reason=reason))
