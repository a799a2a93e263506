"""A picture in at most 256 colors, as PNG: a page needs few, and the file is a third as large."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REDUCE = """async (png) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  const dots = new Uint32Array(pen.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const dot of dots) counts.set(dot, (counts.get(dot) || 0) + 1);
  const often = [...counts].sort((one, other) => other[1] - one[1]);
  const kept = often.slice(0, 256).map(([dot]) => dot);
  const parts = (dot) => [dot & 255, (dot >> 8) & 255, (dot >> 16) & 255];
  const colors = kept.map(parts);
  const nearest = new Map(kept.map((dot, at) => [dot, at]));
  for (const dot of counts.keys()) {
    if (nearest.has(dot)) continue;
    const [r, g, b] = parts(dot);
    let best = 0;
    let least = Infinity;
    colors.forEach(([r2, g2, b2], at) => {
      const far = (r - r2) ** 2 + (g - g2) ** 2 + (b - b2) ** 2;
      if (far < least) [best, least] = [at, far];
    });
    nearest.set(dot, best);
  }
  let text = "";
  for (const dot of dots) text += String.fromCharCode(nearest.get(dot));
  return { width: image.width, height: image.height, colors, dots: btoa(text) };
}"""


def in_palette(browser: Browser, png: bytes) -> bytes:
    """The picture with its 256 most frequent colors; every other becomes the nearest of them."""
    page = browser.new_page()
    try:
        found = page.evaluate(REDUCE, base64.b64encode(png).decode())
    finally:
        page.close()
    width, height = found["width"], found["height"]
    dots = base64.b64decode(found["dots"])
    rows = b"".join(b"\0" + dots[at : at + width] for at in range(0, width * height, width))
    colors = bytes(part for color in found["colors"] for part in color)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", colors),
            _chunk(b"IDAT", zlib.compress(rows, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
