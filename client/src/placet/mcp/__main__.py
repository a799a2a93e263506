"""python -m placet.mcp --owner NAME [--title TEXT] [--external-id ID]

Serves MCP over standard input and output. PLACET_URL is the address of the Placet server, and
PLACET_KEY the agent's key, or PLACET_KEY_FILE a file that holds it.
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path

from placet import AsyncClient
from placet.mcp.desk import Desk
from placet.mcp.tools import server


def key() -> str:
    """The agent's key."""
    if path := os.environ.get("PLACET_KEY_FILE"):
        return Path(path).read_text().strip()
    return os.environ["PLACET_KEY"]


async def serve(options: argparse.Namespace) -> None:
    """Serve until standard input ends."""
    async with AsyncClient(os.environ["PLACET_URL"], key()) as client:
        desk = Desk(
            client, owner=options.owner, title=options.title, external_id=options.external_id
        )
        await server(desk).run_stdio_async()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m placet.mcp", description=__doc__)
    parser.add_argument("--owner", required=True, help="login name of whom the agent acts for")
    parser.add_argument("--title", default="Agent over MCP", help="title of the run")
    parser.add_argument("--external-id", help="go on in the run of this id after a restart")
    options = parser.parse_args()
    try:
        asyncio.run(serve(options))
    except KeyError as missing:
        sys.exit(f"placet.mcp: set {missing.args[0]}: the server's address, the agent's key.")
    except (OSError, ValueError) as error:
        sys.exit(f"placet.mcp: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
