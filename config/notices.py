"""How people can be told, as the operator says: channels, mail server, key for Web Push."""

from typing import TYPE_CHECKING

from config.env import ConfigError, Env
from notices.rules.channels import EMAIL, EMAIL_CHANNEL, BadChannels, Channel, read_channels
from notices.rules.smtp import BadSmtp, Smtp, read_smtp

if TYPE_CHECKING:
    from notices.senders.vapid import VapidKey


def mail_server(env: Env) -> Smtp | None:
    """Give the server for e-mail, None where there is none."""
    url = env.secret("PLACET_SMTP_URL")
    try:
        return None if url is None else read_smtp(url)
    except BadSmtp as error:
        raise ConfigError(f"PLACET_SMTP_URL {error}") from None


def notice_channels(env: Env, smtp: Smtp | None) -> dict[str, Channel]:
    """Give the channels by name, e-mail first where there is a mail server."""
    text = env.secret("PLACET_NOTICE_CHANNELS")
    try:
        given = {} if text is None else read_channels(text)
    except BadChannels as error:
        raise ConfigError(f"PLACET_NOTICE_CHANNELS {error}") from None
    return ({} if smtp is None else {EMAIL: EMAIL_CHANNEL}) | given


def webpush_key(env: Env) -> "VapidKey | None":
    """Give the key for Web Push, None where browsers are not woken."""
    text = env.secret("PLACET_WEBPUSH_KEY")
    if text is None:
        return None
    from notices.senders.vapid import BadKey, VapidKey

    try:
        return VapidKey.read(text)
    except BadKey as error:
        raise ConfigError(f"PLACET_WEBPUSH_KEY {error}") from None
