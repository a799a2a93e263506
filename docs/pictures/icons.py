#!/usr/bin/env python3
"""Makes the icons of the installed application from the mark; Chromium has to be installed.

.venv/bin/python docs/pictures/icons.py
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

STATIC = Path(__file__).resolve().parents[2] / "static"
BRONZE = "#0b6a59"
ICONS = {
    "icon-192.png": (192, 1.0, False),
    "icon-512.png": (512, 1.0, False),
    "maskable-512.png": (512, 0.72, True),
    "apple-touch-icon.png": (180, 0.86, True),
}
"""By name: the edge in pixels, the part of it that the mark takes, whether it fills the square."""


def main() -> None:
    """Draw each icon and keep it beside the mark."""
    mark = (STATIC / "favicon.svg").read_text(encoding="utf-8")
    with sync_playwright() as playwright:
        path = next(
            found for name in ("chromium", "google-chrome") if (found := shutil.which(name))
        )
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        for name, (edge, part, is_full) in ICONS.items():
            page.set_viewport_size({"width": edge, "height": edge})
            page.set_content(drawn(mark, edge=edge, part=part, is_full=is_full))
            page.screenshot(path=STATIC / "icons" / name, omit_background=not is_full)
        browser.close()


def drawn(mark: str, *, edge: int, part: float, is_full: bool) -> str:
    """The mark on a page of the icon's size; where it fills the square the tablet is the ground."""
    sign = re.sub(r"<path[^>]*fill=\"#0b6a59\"/>", "", mark) if is_full else mark
    ground = BRONZE if is_full else "transparent"
    size = round(edge * part)
    return (
        f'<body style="margin:0;display:grid;place-items:center;height:{edge}px;'
        f'background:{ground}"><div style="width:{size}px;height:{size}px">{sign}</div>'
    )


if __name__ == "__main__":
    main()
