"""All settings of the server, each from the environment through a typed reader.

A wrong value stops the start with its name. There is no default secret outside development:
a key that nobody gave is made once and kept in the data folder.
"""

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from config.database import data_dir, databases
from config.env import Env, Rate
from config.notices import mail_server, notice_channels, webpush_key
from config.secret_key import secret_key
from config.static_files import add_headers
from placet.protocol.limits import BODY_BYTES

CHECKOUT = Path(__file__).resolve().parent.parent
ENV = Env(os.environ)


def login_limits(rate: Rate | None) -> dict[str, str] | bool:
    """allauth's limits of failed sign-ins: for one name, and five times that for one address."""
    if rate is None:
        return False
    span = f"{rate.period_s}s"
    return {"login_failed": f"{rate.count}/{span}/key,{5 * rate.count}/{span}/ip"}


COMMAND = sys.argv[1] if len(sys.argv) > 1 and sys.argv[0].endswith("manage.py") else ""

DEBUG = False
SECRET_KEY = secret_key(ENV, data_dir(ENV))
PLACET_BASE_URL = ENV.text("PLACET_BASE_URL", "http://localhost:8000").rstrip("/")
BASE = urlsplit(PLACET_BASE_URL)
IS_HTTPS = BASE.scheme == "https"
ALLOWED_HOSTS = list(
    ENV.items("PLACET_ALLOWED_HOSTS", (BASE.hostname or "localhost", "localhost", "127.0.0.1"))
)
CSRF_TRUSTED_ORIGINS = [f"{BASE.scheme}://{BASE.netloc}"]

PLACET_METRICS_TOKEN = ENV.secret("PLACET_METRICS_TOKEN", min_length=16)
PLACET_RATE_AGENT = ENV.rate("PLACET_RATE_AGENT", "600/m")
PLACET_RATE_LOGIN = ENV.rate("PLACET_RATE_LOGIN", "10/5m")
PLACET_MAX_PENDING_RUN = ENV.integer("PLACET_MAX_PENDING_RUN", 200, low=0, high=1_000_000)
PLACET_GRANT_TTL_S: int = ENV.integer("PLACET_GRANT_TTL_S", 300, low=1, high=86_400)
PLACET_MAX_PENDING_AGENT = ENV.integer("PLACET_MAX_PENDING_AGENT", 2000, low=0, high=1_000_000)
PLACET_WEBHOOK_ALLOW = ENV.networks("PLACET_WEBHOOK_ALLOW")
PLACET_WEBHOOK_ALLOW_HTTP = ENV.boolean("PLACET_WEBHOOK_ALLOW_HTTP", False)

PLACET_SMTP = mail_server(ENV)
PLACET_NOTICE_CHANNELS = notice_channels(ENV, PLACET_SMTP)
PLACET_WEBPUSH_KEY = webpush_key(ENV)

INSTALLED_APPS = [
    "config",
    "approvals",
    "notices",
    "webhooks",
    "runs",
    "identity",
    "audit",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "guardian",
    "allauth",
    "allauth.account",
    "django_htmx",
    "template_partials",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "config.packing.PackedPages",
    "config.csp.ContentSecurityPolicy",
    "config.problems.APIProblems",
    "config.packing.PackedStatic",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "identity.middleware.InOwnLanguage",
    "config.text.TextOnly",
    "django.middleware.csrf.CsrfViewMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "identity.middleware.SignedInOnly",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
DATABASES = databases(ENV, COMMAND)
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "server_cache",
    }
}
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [CHECKOUT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "approvals.web.unknown.unknown_count",
            ],
        },
    }
]
STATIC_URL = "/static/"
STATICFILES_DIRS = [CHECKOUT / "static"]
STORAGES = {"staticfiles": {"BACKEND": "config.packing.VersionedStorage"}}
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 3600
WHITENOISE_ADD_HEADERS_FUNCTION = add_headers
WHITENOISE_MIMETYPES = {".webmanifest": "application/manifest+json"}

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [CHECKOUT / "locale"]
USE_I18N = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATA_UPLOAD_MAX_MEMORY_SIZE = BODY_BYTES + 64 * 1024  # a form's encoding is larger than its JSON

AUTH_USER_MODEL = "identity.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
]
ANONYMOUS_USER_NAME = None
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "inbox"
ACCOUNT_ADAPTER = "identity.adapter.ClosedAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = "username"
ACCOUNT_PRESERVE_USERNAME_CASING = True
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_RATE_LIMITS = login_limits(PLACET_RATE_LOGIN)

SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "config.errors.csrf_failed"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_HTTPS
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 31_536_000 if IS_HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if IS_HTTPS else None

LOGGING_CONFIG = "config.logs.configure"
LOGGING = {"version": 1}  # Django calls the line above only where this is not empty
SILENCED_SYSTEM_CHECKS = ["models.W042"]
