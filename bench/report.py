"""What a measurement prints: each figure beside what it should be, met or not."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(slots=True)
class Report:
    """The figures of one measurement."""

    name: str
    missed: int = 0
    figures: int = 0

    def note(self, text: str) -> None:
        """Print a line that is no figure with a target."""
        print(f"{self.name}: {text}", flush=True)

    def at_least(self, what: str, figure: float, target: float, *, told: str = "") -> None:
        """Print a figure that should be at least `target`."""
        self._figure(what, f"{figure:.2f}", f">= {target:g}", figure >= target, told)

    def at_most(self, what: str, figure: float, target: float, *, told: str = "") -> None:
        """Print a figure that should be at most `target`."""
        self._figure(what, f"{figure:.2f}", f"<= {target:g}", figure <= target, told)

    def holds(self, what: str, is_met: bool, *, told: str) -> None:
        """Print something that should hold."""
        self._figure(what, told, "", is_met, "")

    def close(self) -> None:
        """Print the sum."""
        self.note(f"{self.figures - self.missed} of {self.figures} met")

    def _figure(self, what: str, figure: str, target: str, is_met: bool, told: str) -> None:
        self.figures += 1
        self.missed += not is_met
        verdict = "met" if is_met else "MISSED"
        parts = [f"{self.name}: {what}: {figure}", target, f"({told})" if told else "", verdict]
        print("  ".join(part for part in parts if part), flush=True, file=sys.stdout)
