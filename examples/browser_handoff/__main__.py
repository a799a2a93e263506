"""An agent transfers money at a bank's web site, where a person has to log in for it.

The bank is a part of the example. Started again with the same order, the agent goes on.
"""

import argparse
import os
import sys
from pathlib import Path
from urllib.error import URLError

from browser_handoff.agent import Agent, OutcomeUnknown, Transfer, say
from browser_handoff.bank import PASSWORDS, Bank
from browser_handoff.browser import open_tab
from browser_handoff.placet import Placet, Refused


def main() -> None:
    """Open the bank and the browser, and let the agent work."""
    parser = argparse.ArgumentParser(prog="browser_handoff", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of profiles and books")
    parser.add_argument("--owner", default="alice", help="who logs in, by their name at Placet")
    parser.add_argument("--account", default="alice", help="as whom, by the bank's name")
    parser.add_argument("--order", default="T-1001", help="a new one is a new transfer")
    parser.add_argument("--payee", default="V-2291")
    parser.add_argument("--amount-cents", type=int, default=25_000)
    parser.add_argument("--headless", action="store_true", help="without a window")
    parser.add_argument("--bank-port", type=int, default=8081)
    parser.add_argument("--debugging-port", type=int, default=0, help="default: any that is free")
    options = parser.parse_args()
    try:
        placet = Placet(os.environ["PLACET_URL"], os.environ["PLACET_KEY"])
    except KeyError as missing:
        sys.exit(f"browser_handoff: set {missing.args[0]}: the server's address, the agent's key.")
    options.data.mkdir(parents=True, exist_ok=True)
    bank = Bank.open(options.data / "books.json", options.bank_port)
    words = ", ".join(f"{name} with “{password}”" for name, password in PASSWORDS.items())
    say(f"The bank is at {bank.url}; people log in there as {words}.")
    profile = options.data / "profiles" / options.order
    with open_tab(profile, is_headless=options.headless, port=options.debugging_port) as tab:
        tab.go(f"{bank.url}/transfer")
        transfer = Transfer(options.order, options.payee, options.amount_cents)
        Agent(placet, tab, bank.url, options.owner, options.account, transfer).work()


if __name__ == "__main__":
    try:
        main()
    except (Refused, OutcomeUnknown, URLError) as error:
        sys.exit(f"browser_handoff: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
