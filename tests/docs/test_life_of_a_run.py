"""The page of states cannot fall behind: its arrows are those of the rules, drawn and told."""

import re
from itertools import product

from placet.protocol.states import InterruptState, RunOutcome, RunState
from runs.rules import transitions
from runs.rules.facts import ActionSummary, RunFacts, WaitSummary
from runs.rules.transitions import Stopping
from tests.docs.pages import blocks, names, rows, section, text_of

Arrow = tuple[str, str]

TEXT = text_of("docs/explanation/life-of-a-run.md")
NEW = "(new)"
OPEN = {"PENDING", "HANDED_BACK"}


def test_the_arrows_of_runs_are_those_of_the_rules() -> None:
    there = {(NEW, "READY")}
    for state, is_stopping in product(RunState, (False, True)):
        facts = RunFacts(state=state, revision=1, outcome=None, cancel_requested=is_stopping)
        if not is_stopping or state in (RunState.IN_FLIGHT, RunState.UNKNOWN):
            there |= {(state.value, to.value) for to in next_states(facts)}

    assert told(section(TEXT, "## The run")) == there


def test_the_states_of_questions_are_those_of_the_protocol() -> None:
    arrows = told(section(TEXT, "## The question"))

    states = {state for arrow in arrows for state in arrow} - {NEW}
    ends = {to for _, to in arrows} - OPEN
    assert states == {state.value for state in InterruptState}
    assert ends == {state.value for state in InterruptState if not state.is_open}
    assert {before for before, _ in arrows} == {NEW, *OPEN}


def test_what_is_drawn_is_what_is_told() -> None:
    for heading in ("## The run", "## The question"):
        text = section(TEXT, heading)
        assert drawn(text) == told(text), heading


def next_states(facts: RunFacts) -> set[RunState]:
    """Where a run can go from here, by any command or by the end of its waits."""
    found: list[object] = []
    if transitions.cancel(facts) is Stopping.STOP:
        found.append(RunState.CANCELLED)
    found.append(transitions.after_dispatch(facts))
    found += [
        transitions.after_actions(facts, ActionSummary(in_flight=under_way, unknown=unknown))
        for under_way, unknown in product((0, 1), (0, 1))
    ]
    if transitions.may_ask(facts, expected_revision=None, fencing_token=None) is None:
        found.append(transitions.after_asking(facts))
    found += [transitions.finish(facts, outcome, fencing_token=None) for outcome in RunOutcome]
    found += [
        transitions.after_waiting(facts, WaitSummary(open=count, last_expired=is_expired))
        for count, is_expired in product((0, 1), (False, True))
    ]
    return {state for state in found if isinstance(state, RunState)}


def told(text: str) -> set[Arrow]:
    """The arrows of the table."""
    return {
        (before, to)
        for cells in rows(text)
        if len(cells) == 3 and names(cells[2])
        for before in names(cells[0]) or [NEW]
        for to in names(cells[2])
    }


def drawn(text: str) -> set[Arrow]:
    """The arrows of the diagram, without those to the end."""
    (diagram,) = blocks(text, "mermaid")
    arrows = re.findall(r"^ +(\S+) --> ([A-Z_]+):", diagram, re.MULTILINE)
    return {(NEW if before == "[*]" else before, to) for before, to in arrows}
