"""A person's own page of notices: addresses, wishes, browsers."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from identity.models import User
from notices.models import Address, Browser, Choice, Confirmation, Notice
from notices.rules.channels import WEBPUSH
from notices.rules.kinds import Kind
from notices.rules.subscriptions import is_subscription
from notices.web.forms import Chosen
from notices.web.overview import Fault, Overview, Said
from placet.protocol.refusals import RefusalCode
from runs.asked import questions


@require_safe
def notices(request: HttpRequest) -> HttpResponse:
    """The page; `said` tells what the form before did."""
    return _page(request, Overview.of(_user(request), said=request.GET.get("said", "")))


@require_POST
def keep_choice(request: HttpRequest) -> HttpResponse:
    """Keep what to be told, and when not."""
    user, chosen = _user(request), Chosen.read(request.POST)
    if chosen.fault:
        typed = Choice(user=user, tenant_id=user.tenant_id, **chosen.kinds)
        faults = [Fault("", "quiet", chosen.fault)]
        return _page(request, Overview.of(user, faults=faults, choice=typed), status=422)
    chosen.keep(user)
    return _again(Said.SAVED)


@require_POST
def give_address(request: HttpRequest) -> HttpResponse:
    """Set an address in a channel and send a code there; it is used when the code comes back."""
    user = _user(request)
    channel = settings.PLACET_NOTICE_CHANNELS.get(request.POST.get("channel", ""))
    if channel is None:
        raise Http404
    typed = request.POST.get("address", "").strip()
    if not channel.takes(typed):
        text = _("This is no address for this channel. An example: %(hint)s")
        text = text % {"hint": channel.hint} if channel.hint else _("This is no address here.")
        return _refused(request, user, Fault(channel.name, "address", text, typed))
    if not Address.give(user, channel.name, typed):
        return _too_often(request, user, channel.name)
    return _again(Said.CODE_SENT, channel.name)


@require_POST
def confirm(request: HttpRequest) -> HttpResponse:
    """Confirm an address with the code that came there."""
    user, channel = _user(request), request.POST.get("channel", "")
    if channel not in settings.PLACET_NOTICE_CHANNELS:
        raise Http404
    code = "".join(request.POST.get("code", "").split())[:20]
    match Address.confirm(user, channel, code):
        case Confirmation.CONFIRMED:
            return _again(Said.CONFIRMED, channel)
        case Confirmation.WRONG:
            text = _("This is not the code that was sent.")
        case Confirmation.EXPIRED:
            text = _("This code does not hold any more. Ask for a new one.")
    return _refused(request, user, Fault(channel, "code", text))


@require_POST
def remove(request: HttpRequest) -> HttpResponse:
    """Take an address or a browser away; repeating it changes nothing."""
    user, channel = _user(request), request.POST.get("channel", "")
    mine = {"tenant_id": user.tenant_id, "user": user}
    if (browser_id := _browser_id(channel)) is not None:
        Browser.objects.filter(**mine, pk=browser_id).delete()
    else:
        Address.objects.filter(**mine, channel=channel).delete()
    return _again(Said.REMOVED)


@require_POST
def send_test(request: HttpRequest) -> HttpResponse:
    """Let a trial message go to an address that is confirmed, or to a browser."""
    user, channel = _user(request), request.POST.get("channel", "")
    mine = {"tenant_id": user.tenant_id, "user": user}
    if (browser_id := _browser_id(channel)) is not None:
        is_there = Browser.objects.filter(**mine, pk=browser_id).exists()
    else:
        rows = Address.objects.filter(**mine, channel=channel, is_on=True)
        is_there = rows.filter(confirmed_at__isnull=False).exists()
    if not is_there:
        raise Http404
    if Notice.ask_for(user, channel, Kind.TEST) is None:
        return _too_often(request, user, channel)
    return _again(Said.TEST_SENT, channel.partition(":")[0])


@require_POST
def add_browser(request: HttpRequest) -> HttpResponse:
    """Store the subscription of the browser that sends this."""
    user = _user(request)
    given = {name: request.POST.get(name, "") for name in ("endpoint", "p256dh", "auth")}
    if settings.PLACET_WEBPUSH_KEY is None:
        raise Http404
    if not is_subscription(**given):
        text = _("This browser gave nothing by which it can be woken.")
        return _refused(request, user, Fault("", "browser", text))
    Browser.put(user, **given)
    return _again(Said.BROWSER_ADDED, WEBPUSH)


@require_safe
def waiting(request: HttpRequest) -> HttpResponse:
    """How many questions wait for this person, for the number on the app's icon."""
    user = _user(request)
    response = JsonResponse({"waiting": questions().count_for(user.tenant_id, user.pk)})
    response.headers["Cache-Control"] = "no-store"
    return response


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _browser_id(channel: str) -> int | None:
    name, _colon, number = channel.partition(":")
    is_id = name == WEBPUSH and number.isascii() and number.isdigit() and len(number) < 19
    return int(number) if is_id else None


def _too_often(request: HttpRequest, user: User, channel: str) -> HttpResponse:
    text = _("You asked for many messages within an hour. Wait a while, then try again.")
    fault = Fault(channel.partition(":")[0], "limit", text)
    overview = Overview.of(user, faults=[fault])
    return _page(request, overview, status=RefusalCode.RATE_LIMITED.status)


def _refused(request: HttpRequest, user: User, fault: Fault) -> HttpResponse:
    return _page(request, Overview.of(user, faults=[fault]), status=422)


def _page(request: HttpRequest, overview: Overview, *, status: int = 200) -> HttpResponse:
    response = render(request, "settings/notices.html", {"overview": overview}, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def _again(said: Said, part: str = "") -> HttpResponse:
    where = f"{reverse('notices')}?said={said.value}"
    response = redirect(f"{where}#{part}" if part else where)
    response.status_code = 303
    return response
