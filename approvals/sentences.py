"""Sentences of the protocol and the rules in the reader's language.

Those parts speak English, since what they say also goes to agents, byte for byte the same
whatever somebody's language is. Pages say the same: here stands every such sentence, with a
name for each part of it that changes. What fills a part is never translated.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_noop as _

from identity.languages import ENGLISH

CODES: Final = (
    _("You are not signed in, or the key you sent is not valid."),
    _("Too many requests arrived in a short time."),
    _("What you sent is larger than allowed."),
    _("What you sent is not JSON that everybody would read the same way."),
    _("Something in the request is missing or not as it has to be."),
    _("This key was already used for a different request."),
    _("There is nothing here that you can see."),
    _("Only the owner of the run may do this."),
    _("You do not have the right to do this."),
    _("Somebody other than you has to approve this; you may reject it."),
    _("A newer question has taken the place of this one."),
    _("This question has already been answered."),
    _("This was cancelled."),
    _("The time for answering this question is over."),
    _("The run has ended and can no longer be changed."),
    _("Nobody knows yet whether an earlier action was carried out; that has to be cleared first."),
    _("The run has moved on since the page or data you had."),
    _("An executor has control of the run at the moment."),
    _("You no longer have control of the run."),
    _("This cannot be done as things stand now."),
    _("The content you named is not the content of this question."),
    _("Your answer did not come from a page that showed you the whole of this question."),
    _("This tool may not be used here."),
    _("This kind of answer is not offered for this question."),
    _("Your approval is already counted; somebody else has to give the next one."),
    _("This answer needs a reason."),
    _("What you entered does not have the required form."),
    _("This needs evidence of what happened, or of a stronger kind."),
    _("This has not been approved."),
    _("This approval has already been used."),
    _("The approval was given too long ago to be used."),
    _("The page under control has not been seen, recently enough, to be the one expected."),
)
"""What each refusal code says."""

ANSWERS: Final = (
    _("Say why, in a few words."),
    _("The edited arguments are missing."),
    _("The arguments have to be an object, { … }."),
    _("The arguments are larger than %(bytes)s bytes."),
    _("The arguments in the form are not those asked."),
    _("Edit approves your arguments; restore them to approve those asked."),
    _("Write a response."),
    _("With these arguments the rule “%(rule)s” forbids the call."),
    _("With these arguments the rule “%(rule)s” leaves no answer that fits."),
    _("The approval that you could give has been given by somebody else."),
    _("A text is at most %(bytes)s bytes."),
    _("This is no decision."),
    _("The form's %(field)s is missing or has no such form."),
    _("NaN and infinity are no JSON numbers"),
    _("the value contains itself or nests too deeply"),
    _("a member name holds a lone surrogate"),
    _("an integer is beyond ±(2^53 - 1)"),
)
"""What can be wrong with an answer."""

EVIDENCE: Final = (
    _("Only a person can say or order this."),
    _("Only who may approve the question can have it sent again."),
    _("Its grant has not run out: it could still be carried out."),
    _("No rule says that the target does this only once under one idempotency key."),
    _("Say what shows it."),
    _("That no object was found does not show that nothing was done."),
    _("Name the record, object or statement."),
    _("Say what became of it."),
    _("This is no kind of evidence."),
)
"""What can be wrong with what somebody says became of an action."""

JSON: Final = (
    _("The text starts with a byte order mark: leave it out."),
    _("The text is not UTF-8: byte %(place)s cannot be read."),
    _("The text goes on after the value has ended, at line %(line)s, column %(column)s."),
    _("NaN and Infinity are no JSON numbers: send null or a string."),
    _("Arrays and objects are nested more than %(depth)s deep here."),
    _("The member %(name)s appears more than once in its object."),
    _("A comma or a closing brace is expected, at line %(line)s, column %(column)s."),
    _("A comma or a closing brace is expected, but the text ends."),
    _("A comma or a closing bracket is expected, at line %(line)s, column %(column)s."),
    _("A comma or a closing bracket is expected, but the text ends."),
    _("A name in double quotes and a colon are expected, at line %(line)s, column %(column)s."),
    _("A name in double quotes and a colon are expected, but the text ends."),
    _("A value is expected, at line %(line)s, column %(column)s."),
    _("A value is expected, but the text ends."),
    _(
        "This string is not closed, or has a raw control character or an unknown escape,"
        " at line %(line)s, column %(column)s."
    ),
    _("This number is beyond ±9007199254740991 (2^53 - 1): send it as a string."),
    _("A double (64-bit float) would change this number: send it as a string."),
    _("The name of the member %(name)s has the character U+0000, which cannot be stored."),
    _("The name of the member %(name)s has half of a surrogate pair without its other half."),
    _(
        "The name of the member %(name)s has a noncharacter, a code point that Unicode keeps from"
        " being used."
    ),
    _("This text has the character U+0000, which cannot be stored."),
    _("This text has half of a surrogate pair without its other half."),
    _("This text has a noncharacter, a code point that Unicode keeps from being used."),
)
"""What the strict reader says of a text that is no I-JSON."""

SCHEMA: Final = (
    _("the value is not of type %(type)s"),
    _("the value is not of types %(types)s"),
    _("the value is not one of %(items)s or %(n)s other candidates"),
    _("the value is not one of %(items)s or %(item)s"),
    _("the value is not one of %(values)s"),
    _("%(value)s was expected"),
    _("%(name)s is a required property"),
    _("the value is less than the minimum of %(limit)s"),
    _("the value is greater than the maximum of %(limit)s"),
    _("the value is less than or equal to the minimum of %(limit)s"),
    _("the value is greater than or equal to the maximum of %(limit)s"),
    _("the value is not a multiple of %(limit)s"),
    _("%(what)s is shorter than %(n)s character"),
    _("%(what)s is shorter than %(n)s characters"),
    _("%(what)s is longer than %(n)s character"),
    _("%(what)s is longer than %(n)s characters"),
    _("%(what)s does not match %(pattern)s"),
    _("the value has less than %(n)s item"),
    _("the value has less than %(n)s items"),
    _("the value has more than %(n)s item"),
    _("the value has more than %(n)s items"),
    _("None of the value are valid under the given schema"),
    _("Additional properties are not allowed (%(names)s was unexpected)"),
    _("Additional properties are not allowed (%(names)s were unexpected)"),
    _("Unevaluated properties are not allowed (%(names)s was unexpected)"),
    _("Unevaluated properties are not allowed (%(names)s were unexpected)"),
    _("Unevaluated items are not allowed (%(n)s item)"),
    _("Unevaluated items are not allowed (%(n)s items)"),
    _("False schema does not allow %(what)s"),
    _("the value has less than %(n)s property"),
    _("the value has less than %(n)s properties"),
    _("the value has more than %(n)s property"),
    _("the value has more than %(n)s properties"),
    _("the value is not valid under any of the schemas listed in the %(keyword)s keyword"),
    _("the value is valid under more than one of the schemas listed in the %(keyword)s keyword"),
    _("%(schema)s is not allowed for the value"),
)
"""What the engine for JSON Schemas says of a value."""

VALUE: Final = _("the value")
ITEM = r'(?:"(?:[^"\\]|\\.)*"|[^\s",]+)'
FORMS: Final = {
    "n": r"\d+",
    "line": r"\d+",
    "column": r"\d+",
    "item": ITEM,
    "items": f"{ITEM}(?:, {ITEM})*",
}
"""What a part may be, where anything at all would take in the words around it."""


def sentence(text: str) -> str:
    """The sentence in the reader's language; one that nobody wrote down here stays as it is."""
    if get_language() == ENGLISH or not text:
        return text
    if (told := gettext(text)) != text:
        return told
    for template, pattern in _patterns():
        if found := pattern.fullmatch(text):
            return gettext(template) % {
                name: gettext(part) if part == VALUE else part
                for name, part in found.groupdict().items()
            }
    return text


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(_compiled())


def _compiled() -> Iterator[tuple[str, re.Pattern[str]]]:
    for template in (*ANSWERS, *JSON, *SCHEMA):
        parts = re.split(r"%\((\w+)\)s", template)
        if len(parts) > 1:
            names = (f"(?P<{name}>{FORMS.get(name, '.+')})" for name in parts[1::2])
            texts = (re.escape(part) for part in parts[2::2])
            pattern = re.escape(parts[0]) + "".join(map("".join, zip(names, texts, strict=True)))
            yield template, re.compile(pattern, re.DOTALL)
