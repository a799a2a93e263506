"""The bodies that the page on handoffs shows are taken, and the look it shows is of its target."""

import json

from approvals.api.bodies import AskBody, HandbackBody
from approvals.rules.observing import MEMBERS, differences
from tests.docs.pages import blocks, names, rows, section, text_of

TEXT = text_of("docs/howto/hand-over-a-browser.md")


def test_the_bodies_shown_are_taken_and_fit_each_other() -> None:
    handoff, look, action = (json.loads(block) for block in blocks(TEXT, "json"))

    (login,) = AskBody.model_validate(handoff).interrupts
    (transfer,) = AskBody.model_validate(action).interrupts
    seen = HandbackBody.model_validate(look)
    assert (login.kind, login.target) == ("handoff", transfer.target)
    assert differences(login.target, {name: getattr(seen, name) for name in MEMBERS}) == []


def test_every_member_of_a_target_is_told_and_no_other() -> None:
    told = [names(cells[0]) for cells in rows(section(TEXT, "## Ask"))[1:]]

    assert told == [[name] for name in MEMBERS]
