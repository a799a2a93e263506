"""Where the marks of a plot lie: pure geometry; words and colors are others'.

Across, places are texts in percent of the plot's width, so that a plot fits any screen and its
letters keep their size. Down, places are pixels.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SHORTEST_S: Final = 1.0
LONGEST_S: Final = 86_400.0
LEAST_NAMED_PERCENT: Final = 11
"""A narrower part of a bar has no room for its own number."""

GAP: Final = 0.12
"""What of a column's room stays empty, as a share."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its box, the middle of its top for a label, and the part of it that stands out.

    `edge` is where the column's room ends.
    """

    count: int
    part: int
    x: str
    width: str
    middle: str
    edge: str
    y: str
    height: str
    part_y: str
    part_height: str


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a bar that shares a whole; `has_room` for its number."""

    name: str
    count: int
    percent: int
    x: str
    width: str
    middle: str
    has_room: bool


@dataclass(frozen=True, slots=True)
class Range:
    """Where a spread lies on a scale of time: its tails, its middle half and its median.

    `label` is where to write the median, at the side of the tails that has more room.
    """

    from_x: str
    to_x: str
    half_x: str
    half_width: str
    median: str
    label: str
    is_label_before: bool


def columns(counts: Sequence[int], parts: Sequence[int], *, height: float) -> tuple[Column, ...]:
    """Give columns side by side, the highest as high as `height`; all flat where all is 0."""
    most = max(counts, default=0) or 1
    room = 100 / max(len(counts), 1)
    made = []
    for place, (count, part) in enumerate(zip(counts, parts, strict=True)):
        tall, tall_part = height * count / most, height * part / most
        made.append(
            Column(
                count=count,
                part=part,
                x=_percent(room * (place + GAP / 2)),
                width=_percent(room * (1 - GAP)),
                middle=_percent(room * (place + 0.5)),
                edge=_percent(room * (place + 1)),
                y=_number(height - tall),
                height=_number(tall),
                part_y=_number(height - tall_part),
                part_height=_number(tall_part),
            )
        )
    return tuple(made)


def shares(counts: Mapping[str, int]) -> tuple[Segment, ...]:
    """Give the parts of a whole from left to right, without those of 0; none where all is 0."""
    whole = sum(counts.values())
    percents = whole_percents(counts)
    made, before = [], 0
    for name, count in counts.items():
        if count:
            start, width = 100 * before / whole, 100 * count / whole
            made.append(
                Segment(
                    name=name,
                    count=count,
                    percent=percents[name],
                    x=_percent(start),
                    width=_percent(width),
                    middle=_percent(start + width / 2),
                    has_room=width >= LEAST_NAMED_PERCENT,
                )
            )
        before += count
    return tuple(made)


def whole_percents(counts: Mapping[str, int]) -> dict[str, int]:
    """Give whole percents that add up to 100 (largest remainders first); 0 for all where all is 0.

    What is not 0 and not all is told as at least 1 and at most 99.
    """
    whole = sum(counts.values())
    if not whole:
        return dict.fromkeys(counts, 0)
    exact = {name: 100 * count / whole for name, count in counts.items()}
    told = {name: max(1, math.floor(share)) if share else 0 for name, share in exact.items()}
    while (missing := 100 - sum(told.values())) != 0:
        step = 1 if missing > 0 else -1
        name = max(
            (name for name in told if step > 0 or told[name] > 1),
            key=lambda name: (step * (exact[name] - told[name]), counts[name]),
        )
        told[name] += step
    return told


def bars(counts: Sequence[int]) -> tuple[str, ...]:
    """Give the widths of bars, one below the other, the longest over the whole width."""
    most = max(counts, default=0) or 1
    return tuple(_percent(100 * count / most) for count in counts)


def at(seconds: float) -> str:
    """Give the place of a span on the scale from 1 s to a day, each tenfold equally wide."""
    return _percent(_place(seconds))


def spread(quantiles_s: Sequence[float]) -> Range:
    """Give the marks of 10, 25, 50, 75 and 90 percent on that scale."""
    tenth, quarter, median, three_quarters, nine_tenths = map(_place, quantiles_s)
    is_before = tenth > 100 - nine_tenths
    return Range(
        from_x=_percent(tenth),
        to_x=_percent(nine_tenths),
        half_x=_percent(quarter),
        half_width=_percent(max(three_quarters - quarter, 0.4)),
        median=_percent(median),
        label=_percent(tenth if is_before else nine_tenths),
        is_label_before=is_before,
    )


def _place(seconds: float) -> float:
    within = min(max(seconds, SHORTEST_S), LONGEST_S)
    return 100 * math.log(within / SHORTEST_S) / math.log(LONGEST_S / SHORTEST_S)


def _percent(number: float) -> str:
    return f"{_number(number)}%"


def _number(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
