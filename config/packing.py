"""Pages and static files, small on the wire: packed by gzip, files named by their content.

Text files are packed when somebody first asks for them and stay packed in memory, so that no
build and no folder to write to is needed. The address of a file carries its digest; only under
the digest of the very bytes may a browser keep them for good.

Answers to agents are left alone: packing costs them more time than it saves.
"""

import gzip
import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from wsgiref.headers import Headers

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import Response, StaticFile

PACKED: Final = frozenset({".css", ".js", ".svg", ".webmanifest", ".json", ".txt"})
DIGEST_CHARS: Final = 12
GZIP: Final = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))")
FOR_GOOD: Final = "public, max-age=31536000, immutable"


class VersionedStorage(StaticFilesStorage):
    """Gives addresses that change with the content: `/static/css/app.css?v=0123456789ab`."""

    def url(self, name: str | None) -> str:
        """The address of a file; without a digest where no such file is found."""
        version = version_of(name or "")
        return super().url(name) + (f"?v={version}" if version else "")


class PackedFile(StaticFile):  # type: ignore[misc]  # whitenoise is not typed
    """One file, sent packed to whoever takes gzip."""

    def __init__(self, path: str, headers: Iterable[tuple[str, str]], stat_cache: Any) -> None:
        super().__init__(path, headers, stat_cache=stat_cache)
        self.path = path
        self.is_text = Path(path).suffix in PACKED

    def get_response(self, method: str, request_headers: Mapping[str, str]) -> Response:
        """The answer to a request, whose headers stand as in a WSGI environment."""
        plain = super().get_response(method, request_headers)
        headers, file = dict(plain.headers), plain.file
        if request_headers.get("QUERY_STRING") == f"v={digest(self.path)}":
            headers["Cache-Control"] = FOR_GOOD
        if self.is_text:
            headers["Vary"] = "Accept-Encoding"
        if self.is_text and plain.status is HTTPStatus.OK and takes_gzip(request_headers):
            content = packed(self.path)
            headers |= {"Content-Encoding": "gzip", "Content-Length": str(len(content))}
            if file is not None:
                file.close()
                file = BytesIO(content)
        return Response(plain.status, [*headers.items()], file)


class PackedStatic(WhiteNoiseMiddleware):  # type: ignore[misc]
    """Serves the static files that the finders know."""

    def get_static_file(self, path: str, url: str, stat_cache: Any = None) -> PackedFile:
        """The file at a path that the finders gave."""
        headers = Headers([])
        self.add_mime_headers(headers, path, url)
        self.add_cache_headers(headers, path, url)
        if self.add_headers_function is not None:
            self.add_headers_function(headers, path, url)
        return PackedFile(path, headers.items(), stat_cache)


class PackedPages(GZipMiddleware):
    """Packs pages for people.

    What a page reflects and what it keeps secret cannot be guessed from its length: the cookie
    does not come along when another site asks, tokens are masked anew each time, and Django adds
    a random number of bytes.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """The answer, packed where it is a page."""
        if not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)


def takes_gzip(headers: Mapping[str, str]) -> bool:
    """Whether a client takes gzip: named, and not with the weight zero."""
    return GZIP.search(headers.get("HTTP_ACCEPT_ENCODING", "")) is not None


@cache
def version_of(name: str) -> str:
    """The digest of the file with this name, "" where there is none."""
    path = finders.find(name)
    return digest(str(path)) if path else ""


@cache
def packed(path: str) -> bytes:
    """The content packed, as it was when first asked for."""
    return gzip.compress(Path(path).read_bytes(), mtime=0)


@cache
def digest(path: str) -> str:
    """The beginning of the SHA-256 of the content, as it was when first asked for."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:DIGEST_CHARS]
