"""What single static files say beside their content."""

from wsgiref.headers import Headers

SERVICE_WORKER = "/static/js/sw.js"


def add_headers(headers: Headers, _path: str, url: str) -> None:
    """Let the service worker, which lies in a folder, be that of all pages, and be asked anew."""
    if url == SERVICE_WORKER:
        headers["Service-Worker-Allowed"] = "/"
        headers["Cache-Control"] = "no-cache"
