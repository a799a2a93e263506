"""The sums of the record as figures: each with its marks, its words and the table behind it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.rules import plots
from approvals.web.spans import span
from audit.statistics import (
    KINDS,
    LOOKED_EDGES_S,
    QUICK_S,
    WAITED_EDGES_S,
    Groups,
    Hour,
    Refusals,
    Spread,
    Sums,
)

COLUMN_PX = 96
EXPIRED = "expired"
PARTS: Mapping[str, Promise] = {
    "approve": gettext_lazy("Approved"),
    "edit": gettext_lazy("Edited and approved"),
    "respond": gettext_lazy("Responded"),
    "done": gettext_lazy("Done"),
    "reject": gettext_lazy("Rejected"),
    EXPIRED: gettext_lazy("Not answered in time"),
}
SCALE_S = (1, QUICK_S, 60, 600, 3_600, 86_400)


@dataclass(frozen=True, slots=True)
class Bin:
    """One column with its words: between which limits it counts, and the limit at its end."""

    column: plots.Column
    label: str
    edge: str
    is_quick: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A tool's, agent's or person's answers, drawn and in words."""

    sums: Sums
    name: str
    query: str
    segments: tuple[plots.Segment, ...]
    range: plots.Range | None
    looked: str
    waited: str
    quick: str
    approved: str
    percents: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Facet:
    """The same plot for everything of one sort, below each other, and how many more there are."""

    rows: tuple[Row, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One horizontal bar and its number."""

    refusals: Refusals
    width: str


def took(seconds: float) -> str:
    """A span as people say it, below ten seconds with a tenth, e.g. "4.2 s", "2 min 5 s"."""
    if seconds < 10:
        return _("{n} s").format(n=number_format(round(seconds, 1), decimal_pos=1))
    return span(seconds)


def histogram(counts: Sequence[int], edges_s: Sequence[int]) -> tuple[Bin, ...]:
    """Spans counted between limits; those below `QUICK_S` stand out where it is a limit."""
    parts = [
        count if end <= QUICK_S and QUICK_S in edges_s else 0
        for count, end in zip(counts, (*edges_s, float("inf")), strict=True)
    ]
    columns = plots.columns(counts, parts, height=COLUMN_PX)
    ends = [span(edge) for edge in edges_s]
    between = (_("{low} to {high}").format(low=low, high=high) for low, high in pairwise(ends))
    labels = (
        _("less than {high}").format(high=ends[0]),
        *between,
        _("{low} or longer").format(low=ends[-1]),
    )
    return tuple(
        Bin(column, label, edge, column.part > 0)
        for column, label, edge in zip(columns, labels, (*ends, ""), strict=True)
    )


def looked_bins(counts: Sequence[int]) -> tuple[Bin, ...]:
    """How long people had a question before them."""
    return histogram(counts, LOOKED_EDGES_S)


def waited_bins(counts: Sequence[int]) -> tuple[Bin, ...]:
    """How long questions waited for their answer."""
    return histogram(counts, WAITED_EDGES_S)


def hours(counted: Sequence[Hour]) -> tuple[Bin, ...]:
    """The hours of the day; quick answers stand out."""
    columns = plots.columns(
        [hour.answers for hour in counted], [hour.quick for hour in counted], height=COLUMN_PX
    )
    return tuple(
        Bin(column, f"{hour:02}:00", f"{hour + 1:02}" if (hour + 1) % 6 == 0 else "")
        for hour, column in enumerate(columns)
    )


def facet(
    groups: Groups,
    *,
    names: Mapping[int, str],
    query: Callable[[str], str],
    parts: Mapping[str, Promise] = PARTS,
) -> Facet:
    """One row for each of these groups, with a number for each of `parts`.

    `names` are those of agents; `query` gives the address that narrows the page to a name.
    """
    rows = tuple(
        _row(sums, names.get(sums.agent_id, sums.name), query, parts) for sums in groups.rows
    )
    return Facet(rows, groups.in_all - len(rows))


def parts_of(sums: Sums) -> dict[str, Promise]:
    """The kinds of answers that there are, in the order of the bars."""
    counts = sums.kinds | {EXPIRED: sums.expired}
    return {kind: label for kind, label in PARTS.items() if counts[kind]}


def bars(counted: Sequence[Refusals]) -> tuple[Bar, ...]:
    """The refusals by code."""
    widths = plots.bars([each.count for each in counted])
    return tuple(Bar(each, width) for each, width in zip(counted, widths, strict=True))


def whole(sums: Sums) -> Row:
    """The answers of all as one row."""
    return _row(sums, "", lambda name: "", PARTS)


def scale() -> tuple[tuple[str, str], ...]:
    """Places and words of the scale under the spreads."""
    return tuple((plots.at(seconds), span(seconds)) for seconds in SCALE_S)


def percent(part: int, of: int) -> str:
    """A share in words, a hyphen where there is nothing to share."""
    if not of:
        return "–"
    return f"{plots.whole_percents({'part': part, 'rest': of - part})['part']} %"


def _row(sums: Sums, name: str, query: Callable[[str], str], parts: Mapping[str, Promise]) -> Row:
    counts = {kind: sums.kinds[kind] for kind in PARTS if kind in KINDS} | {EXPIRED: sums.expired}
    percents = plots.whole_percents(counts)
    return Row(
        sums=sums,
        name=name,
        query=query(name),
        segments=plots.shares(counts),
        range=plots.spread(_quantiles(sums.looked)) if sums.looked else None,
        looked=_median(sums.looked),
        waited=_median(sums.waited),
        quick=percent(sums.quick, sums.looked.count if sums.looked else 0),
        approved=percent(sums.kinds["approve"], sums.answers),
        percents=tuple((str(parts[kind]), counts[kind], percents[kind]) for kind in parts),
    )


def _quantiles(spread: Spread) -> tuple[float, ...]:
    return (
        spread.tenth_s,
        spread.quarter_s,
        spread.median_s,
        spread.three_quarters_s,
        spread.nine_tenths_s,
    )


def _median(spread: Spread | None) -> str:
    return took(spread.median_s) if spread else "–"
