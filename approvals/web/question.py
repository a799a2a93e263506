"""One question: look at it, reveal what is masked, see what an edit changes, answer it.

Every page that holds the form goes on record as a showing before it is sent.
"""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from approvals.access import visible_interrupt
from approvals.models import Interrupt, Showing
from approvals.models.answering import decide
from approvals.models.content import schema_value
from approvals.rules.answering import Answer, Shown
from approvals.rules.editing import edited_asked
from approvals.rules.presentation import args_paths, changes
from approvals.web.edit_form import edit_form, wants_form, whole
from approvals.web.forms import read_answer, read_args
from approvals.web.pages import absent, is_partial, note, page, see, signed_in
from approvals.web.question_page import QuestionPage, Typed
from approvals.web.view_token import shown_by
from placet.protocol.digest import sha256_hex
from placet.protocol.reading import JSONValue, read_json
from runs.rules.refusal import Refusal

TEMPLATE = "question.html"
EDITING = "_edit.html"


@require_safe
def question(request: HttpRequest, interrupt_id: str) -> HttpResponse:
    """The page of a question; a GET by somebody who may answer goes on record as a showing."""
    interrupt = _reach(request, interrupt_id, command="look")
    shown = QuestionPage.of(interrupt, signed_in(request))
    if request.method == "GET" and shown.is_answerable:
        Showing.note(interrupt, to=shown.user, is_revealed=False)
    return page(request, TEMPLATE, {"page": shown})


def reveal(request: HttpRequest, interrupt_id: str) -> HttpResponse:
    """The page with its masked values, for whoever may answer; that goes on record."""
    if request.method != "POST":
        return see("question", interrupt_id)
    interrupt = _reach(request, interrupt_id, command="reveal")
    shown = QuestionPage.of(interrupt, signed_in(request))
    if refusal := shown.offer.refusal if not shown.offer.is_open else None:
        return _refused(request, interrupt, refusal, command="reveal")
    Showing.note(interrupt, to=shown.user, is_revealed=True)
    shown.is_revealed = True
    return page(request, TEMPLATE, {"page": shown})


def preview(request: HttpRequest, interrupt_id: str) -> HttpResponse:
    """What the arguments in the form would change, and their digest; no answer is stored."""
    if request.method != "POST":
        return see("question", interrupt_id)
    interrupt = _reach(request, interrupt_id, command="preview")
    shown = _page_again(request, interrupt)
    if refusal := shown.offer.refusal if not shown.offer.is_open else None:
        return whole(_refused(request, interrupt, refusal, command="preview"))
    if shown.is_answerable:
        Showing.note(interrupt, to=shown.user, is_revealed=shown.is_revealed)
    template = EDITING if shown.is_answerable and is_partial(request) else TEMPLATE
    args = read_args(request.POST)
    if wants_form(request):
        shown.edit_form = edit_form(interrupt, args)
    asked = args if isinstance(args, Refusal) else _edited(interrupt, args)
    if isinstance(asked, Refusal):
        shown.preview_panel = shown.panel_of(asked)
        return page(request, template, {"page": shown}, status=asked.code.status)
    hidden = () if shown.is_revealed else interrupt.sensitive
    shown.preview = changes(shown.content, read_json(asked.encode()), sensitive=args_paths(hidden))
    shown.preview_sha256 = sha256_hex(asked)
    return page(request, template, {"page": shown})


def decide_question(request: HttpRequest, interrupt_id: str) -> HttpResponse:
    """Give the posted answer to the question; a refusal says why, on the page itself."""
    if request.method != "POST":
        return see("question", interrupt_id)
    interrupt = _reach(request, interrupt_id, command="decide")
    answer = read_answer(request.POST, interrupt)
    match answer if isinstance(answer, Refusal) else _give(request, interrupt, answer):
        case Refusal() as refusal:
            return _refused(request, interrupt, refusal, command="decide")
        case Interrupt() as answered:
            return see("question", answered.superseded_by_id or answered.pk)


def _give(request: HttpRequest, interrupt: Interrupt, answer: Answer) -> Interrupt | Refusal:
    return decide(interrupt.pk, interrupt.run_id, user=signed_in(request), answer=answer)


def _edited(interrupt: Interrupt, args: JSONValue) -> str | Refusal:
    return edited_asked(interrupt.content, args, schema_value(interrupt.args_schema))


def _reach(request: HttpRequest, interrupt_id: str, *, command: str) -> Interrupt:
    interrupt = visible_interrupt(signed_in(request), interrupt_id)
    if interrupt is None:
        raise absent(request, command=command, object_id=interrupt_id)
    return interrupt


def _page_again(request: HttpRequest, interrupt: Interrupt) -> QuestionPage:
    """The page with what was typed, revealed again to whom the form proves it was revealed.

    The proof outlives the right to answer, so the right has to hold now as well.
    """
    shown = QuestionPage.of(interrupt, signed_in(request))
    post = request.POST
    shown.typed = Typed(post.get("reason", ""), post.get("args", ""), post.get("response", ""))
    may_reveal = bool(interrupt.sensitive) and shown.offer.is_open
    shown.is_revealed = may_reveal and shown_by(post.get("view", "")) == Shown(
        user_id=shown.user.pk,
        interrupt_id=interrupt.pk,
        asked_sha256=interrupt.asked_sha256,
        handback=interrupt.handback,
    )
    return shown


def _refused(
    request: HttpRequest, interrupt: Interrupt, refusal: Refusal, *, command: str
) -> HttpResponse:
    note(request, refusal, command=command, object_id=interrupt.pk)
    shown = _page_again(request, _reach(request, interrupt.pk, command=command))
    if shown.is_answerable:
        Showing.note(shown.interrupt, to=shown.user, is_revealed=shown.is_revealed)
    shown.panel = shown.panel_of(refusal, given_sha256=request.POST.get("asked_sha256", ""))
    return page(request, TEMPLATE, {"page": shown}, status=refusal.code.status)
