"""What messages say, in the language and zone that are active.

Of a question they tell tool, owner, agent, deadline and where its page is. Never arguments, never
what an agent wrote, and no link that decides: opening one changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from notices.rules.kinds import Kind
from notices.rules.plain import plain
from runs.asked import Waiting
from runs.models import Action

LISTED: Final = 10
"""Questions that a message about many names one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message: a line, paragraphs, the path to open, and until when it is worth reading.

    `brief` is the body for where there is little room, without links. `tag` names what it is
    about, so that a later message about the same replaces it; `waiting` is how many questions
    wait for the person.
    """

    title: str
    body: str
    brief: str
    path: str
    tag: str
    until: datetime | None = None
    waiting: int | None = None


@dataclass(frozen=True, slots=True)
class Disabled:
    """A webhook that was disabled because it failed: whose, its id, its host."""

    tenant_id: int
    id: str
    host: str


def of_question(kind: Kind, question: Waiting) -> Message:
    """Tell of one question."""
    names = {
        "tool": plain(question.tool),
        "agent": plain(question.agent),
        "owner": plain(question.owner),
    }
    path = reverse("question", args=[question.id])
    paragraphs = [
        _lead(kind) % names,
        _("Look and answer here: %(link)s") % {"link": link(path)},
        valid_until(question.expires_at),
        _("The arguments are not in this message. The page shows them in full."),
    ]
    return Message(
        title=_title(kind) % names,
        body="\n\n".join(paragraphs),
        brief="\n".join((paragraphs[0], paragraphs[2])),
        path=path,
        tag=question.id,
        until=question.expires_at,
    )


def of_many(questions: Sequence[Waiting]) -> Message:
    """Tell of many questions in one message; the most urgent are named."""
    count = len(questions)
    soonest = sorted(questions, key=lambda question: question.expires_at)
    lines = [
        _("- %(tool)s, for %(owner)s, by the agent %(agent)s, until %(deadline)s")
        % {
            "tool": plain(question.tool),
            "owner": plain(question.owner),
            "agent": plain(question.agent),
            "deadline": when(question.expires_at),
        }
        for question in soonest[:LISTED]
    ]
    if count > LISTED:
        more = count - LISTED
        lines.append(ngettext("- %(more)d more", "- %(more)d more", more) % {"more": more})
    title = ngettext(
        "%(count)d question waits for you", "%(count)d questions wait for you", count
    ) % {"count": count}
    path = reverse("inbox")
    paragraphs = [
        title + ":",
        "\n".join(lines),
        _("Look and answer here: %(link)s") % {"link": link(path)},
        valid_until(max(question.expires_at for question in questions)),
        _("The arguments are not in this message. The pages show them in full."),
    ]
    return Message(
        title=title,
        body="\n\n".join(paragraphs),
        brief=paragraphs[3],
        path=path,
        tag="inbox",
        until=soonest[-1].expires_at,
    )


def of_unknown(action: Action) -> Message:
    """Tell of an action of which nobody knows what became of it."""
    names = {
        "tool": plain(action.tool),
        "agent": plain(action.run.agent.name),
        "owner": plain(action.run.owner.username),
    }
    path = reverse("reconcile", args=[action.pk])
    paragraphs = [
        _(
            "The agent %(agent)s was permitted to carry out %(tool)s, for %(owner)s, and nobody"
            " heard what became of it. It may have happened."
        )
        % names,
        _("See what is known, and say there what you find out: %(link)s") % {"link": link(path)},
        _("The arguments are not in this message. The page shows them in full."),
    ]
    return Message(
        title=_("It is not known what became of %(tool)s") % names,
        body="\n\n".join(paragraphs),
        brief=paragraphs[0],
        path=path,
        tag=action.interrupt_id,
    )


def of_many_unknown(count: int) -> Message:
    """Tell of many such actions in one message."""
    title = ngettext(
        "The outcome of %(count)d action is not known",
        "The outcomes of %(count)d actions are not known",
        count,
    ) % {"count": count}
    path = reverse("unknown")
    paragraphs = [
        title + ".",
        _("See what is known, and say there what you find out: %(link)s") % {"link": link(path)},
        _("The arguments are not in this message. The pages show them in full."),
    ]
    return Message(
        title=title, body="\n\n".join(paragraphs), brief=paragraphs[0], path=path, tag="unknown"
    )


def of_disabled(webhook: Disabled) -> Message:
    """Tell of a webhook that gets nothing more."""
    path = reverse("webhook", args=[webhook.id])
    paragraphs = [
        _(
            "The webhook to %(host)s did not take what it was sent, so it is disabled. What happens"
            " from now on is not told to it."
        )
        % {"host": plain(webhook.host)},
        _("See what it answered, and enable it again here: %(link)s") % {"link": link(path)},
    ]
    return Message(
        title=_("A webhook was disabled: %(host)s") % {"host": plain(webhook.host)},
        body="\n\n".join(paragraphs),
        brief=paragraphs[0],
        path=path,
        tag=webhook.id,
    )


def of_code(code: str) -> Message:
    """Carry the code that confirms an address."""
    paragraphs = [
        _("The code is %(code)s. Type it on the page where you gave this address.")
        % {"code": code},
        _("It holds for 30 minutes. If you did not ask for it, ignore this message."),
    ]
    return Message(
        title=_("Your code for Placet"),
        body="\n\n".join(paragraphs),
        brief=paragraphs[0],
        path=reverse("notices"),
        tag="code",
    )


def of_test() -> Message:
    """Show that messages arrive."""
    path = reverse("notices")
    paragraphs = [
        _("You asked for this message to see that messages from Placet arrive. They do."),
        _("Change what you are told here: %(link)s") % {"link": link(path)},
    ]
    return Message(
        title=_("A test message from Placet"),
        body="\n\n".join(paragraphs),
        brief=paragraphs[0],
        path=path,
        tag="test",
    )


def valid_until(at: datetime) -> str:
    """Say when a message is out of date, in the reader's zone and in UTC."""
    local, utc = when(at), _told(at.astimezone(UTC), "UTC")
    deadline = local if local == utc else f"{local} ({utc})"
    return _(
        "This message is valid until %(deadline)s. The page tells whether the question was"
        " answered in the meantime."
    ) % {"deadline": deadline}


def when(at: datetime) -> str:
    """Give an instant to the minute in the active zone, with its offset from UTC."""
    local = timezone.localtime(at)
    offset = local.strftime("%z")
    return _told(local, "UTC" if offset == "+0000" else f"UTC{offset[:3]}:{offset[3:5]}")


def link(path: str) -> str:
    """Give the address that people see for a path."""
    return f"{settings.PLACET_BASE_URL}{path}"


def _told(local: datetime, offset: str) -> str:
    # Translators: a date and a time to the minute, in the letters of Django's filter "date".
    return f"{date_format(local, pgettext('date and time', 'M j, Y, H:i'))} {offset}"


def _title(kind: Kind) -> str:
    match kind:
        case Kind.REMINDER:
            return _("Reminder: %(tool)s still waits for your answer")
        case Kind.ESCALATION:
            return _("Nobody has answered yet: %(tool)s")
        case Kind.REOPENED:
            return _("Not done yet: %(tool)s")
        case _other:
            return _("%(tool)s waits for your answer")


def _lead(kind: Kind) -> str:
    match kind:
        case Kind.REMINDER:
            return _("The agent %(agent)s still waits with %(tool)s, for %(owner)s.")
        case Kind.ESCALATION:
            return _(
                "The agent %(agent)s waits with %(tool)s, for %(owner)s, and those who were asked"
                " have not answered. You may."
            )
        case Kind.REOPENED:
            return _(
                "The agent %(agent)s looked at the page for %(tool)s, for %(owner)s, and it is not"
                " the one that was named. The question's page says what differs."
            )
        case _other:
            return _("The agent %(agent)s asks about %(tool)s, for %(owner)s.")
