"""The table of what each adapter carries, made from the statements of the drivers.

python -m conformance.table    writes it into docs/reference/adapters.md
"""

from pathlib import Path

from conformance.driver import Situation
from conformance.drivers import DRIVERS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "adapters.md"
BEGIN, END = "<!-- made by conformance.table -->\n", "<!-- end -->\n"


def table() -> str:
    """A row for each situation, a column for each adapter, and the reasons below."""
    reasons: list[str] = []
    rows = [
        ["situation", *(driver.name for driver in DRIVERS)],
        ["---"] * (len(DRIVERS) + 1),
    ]
    for situation in Situation:
        row = [str(situation)]
        for driver in DRIVERS:
            limit = driver.limits.get(situation)
            if limit is None:
                row.append("yes")
                continue
            if limit.reason not in reasons:
                reasons.append(limit.reason)
            row.append(f"no ({reasons.index(limit.reason) + 1})")
        rows.append(row)
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    notes = [f"{number}. {reason}" for number, reason in enumerate(reasons, 1)]
    return "\n".join([*lines, "", *notes, ""])


def page() -> str:
    """The page with the table as it is now."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page())
