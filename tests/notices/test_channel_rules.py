"""Where a message can go: as the operator wrote it, whatever a person types."""

import json
from urllib.parse import unquote, urlsplit

import pytest

from config.env import ConfigError, Env
from config.notices import mail_server, notice_channels, webpush_key
from notices.rules.channels import EMAIL_CHANNEL, BadChannels, Channel, read_channels
from notices.rules.smtp import Smtp, Tls, read_smtp
from notices.rules.subscriptions import is_subscription
from notices.senders.vapid import VapidKey, new_key

TEMPLATES = (
    "json://user:secret@hooks.example.com:8443/send/{address}",
    "json://hooks.example.com/{address}/send",
    "mailto://user:secret@example.com?to={address}&name=Placet",
)
HOSTILE = (
    "",
    " ",
    "a b",
    "room\n",
    "room\r\nX-Header: 1",
    "room\x00",
    "../../admin",
    "..",
    ".",
    "/admin",
    "a/b",
    "a\\b",
    "a?to=evil",
    "a&to=evil",
    "a=b",
    "a%2Fb",
    "%2e%2e",
    "http://evil.example.com",
    "//evil.example.com",
    "room;evil",
    "room,evil",
    "<room>",
    "{address}",
    "{0}",
    "room\u202e",
    "rооm",
    "ro\u200bom",
    "a" * 201,
)
UNUSUAL = ("@evil.example.com", "#fragment", "user:password@host", "evil.example.com:80", "~", "!x")


def channel(template: str, pattern: str = "(?s).*") -> Channel:
    """A channel whose operator allows everything."""
    text = json.dumps({"chat": {"url": template, "address": {"pattern": pattern}}})
    return read_channels(text)["chat"]


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("address", HOSTILE)
def test_what_could_leave_its_place_is_no_address(template: str, address: str) -> None:
    """H-38: also where the operator's pattern would take it."""
    assert not channel(template).takes(address)


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("address", UNUSUAL)
def test_an_address_changes_nothing_else_of_the_url(template: str, address: str) -> None:
    there = channel(template)
    assert there.takes(address)

    made, plain = urlsplit(there.url(address)), urlsplit(there.url("plain"))

    assert (made.scheme, made.netloc, made.fragment) == (plain.scheme, plain.netloc, "")
    assert len(made.path.split("/")) == len(plain.path.split("/"))
    assert made.query.count("&") == plain.query.count("&")
    assert unquote(made.path + made.query) == (plain.path + plain.query).replace("plain", address)


@pytest.mark.parametrize("address", HOSTILE + UNUSUAL)
def test_a_mail_address_is_one_mailbox(address: str) -> None:
    assert not EMAIL_CHANNEL.takes(address)


@pytest.mark.parametrize("address", ["rae@example.com", "r.ae+placet@mail.example.co", "a@host"])
def test_ordinary_mail_addresses_are_taken(address: str) -> None:
    assert EMAIL_CHANNEL.takes(address)


def test_an_address_matches_the_whole_pattern() -> None:
    rooms = channel(TEMPLATES[0], "room-[0-9]+")

    assert rooms.takes("room-1")
    assert not rooms.takes("room-1x")
    assert not rooms.takes("xroom-1")


@pytest.mark.parametrize(
    "document",
    [
        "[]",
        "{",
        '{"a": 1, "a": 2}',
        '{"email": {"url": "json://h/{address}"}}',
        '{"webpush": {"url": "json://h/{address}"}}',
        '{"Chat": {"url": "json://h/{address}"}}',
        '{"chat": {}}',
        '{"chat": {"url": 1}}',
        '{"chat": {"url": "json://h/fixed"}}',
        '{"chat": {"url": "json://h/{address}/{address}"}}',
        '{"chat": {"url": "json://{address}/x"}}',
        '{"chat": {"url": "{address}://h/x"}}',
        '{"chat": {"url": "json://{address}@h/x"}}',
        '{"chat": {"url": "json://h:{address}/x"}}',
        '{"chat": {"url": "json://h/#{address}"}}',
        '{"chat": {"url": "{address}"}}',
        '{"chat": {"url": "json:///{address}"}}',
        '{"chat": {"url": "json://h/{address}", "secret": true}}',
        '{"chat": {"url": "json://h/{address}", "address": {"pattern": "("}}}',
        '{"chat": {"url": "json://h/{address}", "address": {"form": "x"}}}',
    ],
)
def test_channels_that_cannot_be_meant_stop_the_start(document: str) -> None:
    with pytest.raises(BadChannels):
        read_channels(document)
    with pytest.raises(ConfigError, match=r"^PLACET_NOTICE_CHANNELS "):
        notice_channels(Env({"PLACET_NOTICE_CHANNELS": document}), None)


def test_no_message_about_a_setting_repeats_a_secret() -> None:
    told = []
    for reader, name, value in (
        (
            lambda env: notice_channels(env, None),
            "PLACET_NOTICE_CHANNELS",
            '{"chat": {"url": "s3cret://x"}}',
        ),
        (mail_server, "PLACET_SMTP_URL", "smtp://user:s3cret@host?tls=perhaps&from=a@b"),
        (webpush_key, "PLACET_WEBPUSH_KEY", "s3cret"),
    ):
        with pytest.raises(ConfigError) as refused:
            reader(Env({name: value}))
        told.append(str(refused.value))

    assert all("s3cret" not in text for text in told)


def test_email_is_a_channel_where_there_is_a_mail_server() -> None:
    env = Env({"PLACET_SMTP_URL": "smtp://host?from=placet@example.com"})

    assert [*notice_channels(env, mail_server(env))] == ["email"]
    assert notice_channels(Env({}), mail_server(Env({}))) == {}


@pytest.mark.parametrize(
    ("url", "server"),
    [
        (
            "smtp://us%40er:p%3Aw@mail.example.com:2525?tls=ssl&from=Placet%20%3Cp@example.com%3E",
            Smtp(
                host="mail.example.com",
                port=2525,
                user="us@er",
                password="p:w",
                tls=Tls.SSL,
                sender="Placet <p@example.com>",
            ),
        ),
        (
            "smtp://mail.example.com?from=p@example.com",
            Smtp(
                host="mail.example.com",
                port=587,
                user="",
                password="",
                tls=Tls.STARTTLS,
                sender="p@example.com",
            ),
        ),
    ],
)
def test_a_mail_server_is_read_from_one_url(url: str, server: Smtp) -> None:
    assert read_smtp(url) == server


@pytest.mark.parametrize(
    "url",
    [
        "mail.example.com",
        "http://mail.example.com?from=p@example.com",
        "smtp://?from=p@example.com",
        "smtp://mail.example.com",
        "smtp://mail.example.com?from=nobody",
        "smtp://mail.example.com?from=p@example.com%0aBcc:x@y",
        "smtp://mail.example.com?from=p@example.com&tls=maybe",
        "smtp://mail.example.com?from=p@example.com&timeout=1",
        "smtp://mail.example.com:port?from=p@example.com",
    ],
)
def test_a_mail_server_that_cannot_be_meant_stops_the_start(url: str) -> None:
    with pytest.raises(ConfigError, match=r"^PLACET_SMTP_URL "):
        mail_server(Env({"PLACET_SMTP_URL": url}))


SECRET = "AAAAAAAAAAAAAAAAAAAAAA"


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://push.example.com/1",
        "https://",
        "https:///1",
        "https://user@push.example.com/1",
        "https://push.example.com/1#2",
        "https://push.example.com/a b",
        "https://[::1/1",
        "javascript:alert(1)",
        "https://push.example.com/" + "1" * 1000,
    ],
)
def test_an_endpoint_is_an_https_url_and_nothing_more(endpoint: str) -> None:
    point = VapidKey.read(new_key()).public

    assert is_subscription("https://push.example.com/1", point, SECRET)
    assert not is_subscription(endpoint, point, SECRET)


def test_keys_of_a_browser_are_keys() -> None:
    endpoint, point = "https://push.example.com/1", VapidKey.read(new_key()).public

    for p256dh, auth in (
        (point[:-4], SECRET),
        ("A" * 87, SECRET),
        ("BA" + "A" * 85, SECRET),
        ("not base64url!", SECRET),
        (point, ""),
        (point, SECRET + "AAAA"),
    ):
        assert not is_subscription(endpoint, p256dh, auth)
