"""Sends so many signed webhooks with aiohttp and nothing around it: no table, no guard.

`aiohttp_sender.py URL COUNT TOGETHER FILE`: the file holds the body. Connections are kept alive.
"""

import asyncio
import base64
import hmac
import sys
import time
from hashlib import sha256
from pathlib import Path

import aiohttp

KEY = b"k" * 24


async def send_all(url: str, count: int, together: int, body: bytes) -> None:
    """Send with `together` requests under way."""
    numbers = iter(range(count))
    connector = aiohttp.TCPConnector(limit=together)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def send() -> None:
            for number in numbers:
                webhook_id, sent_at = f"dlv_{number:026}", str(int(time.time()))
                signed = b".".join((webhook_id.encode(), sent_at.encode(), body))
                signature = base64.b64encode(hmac.digest(KEY, signed, sha256)).decode()
                headers = {
                    "content-type": "application/json",
                    "webhook-id": webhook_id,
                    "webhook-timestamp": sent_at,
                    "webhook-signature": f"v1,{signature}",
                }
                async with session.post(url, data=body, headers=headers) as answer:
                    assert answer.status == 200
                    await answer.read()

        await asyncio.gather(*(send() for _ in range(together)))


if __name__ == "__main__":
    to, how_many, at_once, file = sys.argv[1:]
    asyncio.run(send_all(to, int(how_many), int(at_once), Path(file).read_bytes()))
