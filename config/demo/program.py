"""What the demo says: where it is, who is who, what to open and what to click."""

from config.demo.cast import AUDITOR, PARTS, REVIEWER
from config.demo.credentials import Credentials


def program(base_url: str, credentials: Credentials, *, replan_after_s: float) -> str:
    """Give the text that is shown once the site answers."""
    people = "\n".join(
        f"    {part.name:<6} {credentials.passwords[part.name]}   {part.role:<9} {part.purpose}"
        for part in PARTS
    )
    return f"""
  Placet is at  {base_url}

  Name and password
{people}

  Act 1: an answer
    1. Open {base_url} and sign in as {REVIEWER.name}.
    2. An agent asks whether it may pay vendor V-2291 for invoice INV-884…. Its lines appear
       below, with the address of the question; the inbox has it too. Open it.
    3. Click Approve. Or open Change…, give another amount and click Edit. Or say why not and
       click Reject. Below you see what the agent got and did: what is approved is paid once.

  Act 2: an answer that comes too late
    4. The agent asks about another invoice of V-2291, INV-904…. Open that question, and do not
       answer it yet.
    5. After {replan_after_s:g} s the plan changes: the agent asks to pay that invoice to V-3107.
    6. On the page that you left open, click Approve. The answer is refused, and the page says
       why and what is different: nobody approves by accident what they did not see.
    7. Answer the new question.

  Act 3: the record
    8. Sign out, sign in as {AUDITOR.name} and open Audit. It has what was asked, shown and
       answered, each payment, and the refused answer among it.

  If you answered both questions before the plan changed, nothing came too late: end the demo
  and start it again. The agent then asks about two new invoices.

  Ctrl-C ends everything. Starting again finds it all as you left it.
"""
