"""What the record says of how people answered, in sums: no row leaves the database.

Everything is counted from events alone, so the numbers are those of the record. An answer is what
one person said to one question: an approval that is not the last one needed is an answer, too.

Each answer costs one look into the index of its question's events, where the asking and the
showing stand. Joining all of them instead was no quicker for 100,000 answers, and slower for fewer.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

QUICK_S: Final = 5
"""An answer sooner than this after the question was shown was hardly read."""

MOST_GROUPS: Final = 20

KINDS: Final = ("approve", "edit", "reject", "respond", "done")

LOOKED_EDGES_S: Final = (2, QUICK_S, 15, 60, 300, 1_800)
WAITED_EDGES_S: Final = (60, 300, 900, 3_600, 14_400, 86_400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Whose answers to what are counted: `since_at` is included, `until_at` is not.

    Hours of the day are those of `zone`. Members that are None do not restrict.
    """

    tenant_id: int
    since_at: datetime
    until_at: datetime
    zone: str = "UTC"
    tool: str | None = None
    agent_id: int | None = None
    person_id: str | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """How long something took, in seconds, `count` times: a tenth took at most `tenth_s`, …"""

    count: int
    tenth_s: float
    quarter_s: float
    median_s: float
    three_quarters_s: float
    nine_tenths_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Answers to the questions of one tool or agent, of one person, or of all.

    `name` is that of the tool or person; agents have an id only.
    """

    name: str
    agent_id: int
    kinds: dict[str, int]
    expired: int
    by_rule: int
    quick: int
    looked: Spread | None
    waited: Spread | None

    @property
    def answers(self) -> int:
        """How many answers people gave."""
        return sum(self.kinds.values())


@dataclass(frozen=True, slots=True)
class Hour:
    """The answers of one hour of the day, and how many of them were quick."""

    answers: int
    quick: int


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups with most answers, and how many there are in all."""

    rows: tuple[Sums, ...]
    in_all: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """All sums of a span; the numbers of `looked` and `waited` lie between their edges."""

    total: Sums
    tools: Groups
    agents: Groups
    people: Groups
    looked: tuple[int, ...]
    waited: tuple[int, ...]
    hours: tuple[Hour, ...]


@dataclass(frozen=True, slots=True)
class Refusals:
    """How often one code was the answer, to how many callers; repetitions are counted."""

    code: str
    count: int
    callers: int


_CHOSEN: Final = """
    tenant_id = %(tenant_id)s AND at >= %(since_at)s AND at < %(until_at)s
    AND (%(tool)s::text IS NULL OR tool = %(tool)s)
    AND (%(agent_id)s::bigint IS NULL OR agent_id = %(agent_id)s)
    AND (%(person_id)s::text IS NULL OR (actor_kind = 'user' AND actor_id = %(person_id)s))
"""

_SPREAD: Final = """
    CASE WHEN count({0}) > 0 THEN jsonb_build_array(count({0})) || to_jsonb(
        percentile_cont(ARRAY[0.1, 0.25, 0.5, 0.75, 0.9]) WITHIN GROUP (ORDER BY {0})) END
"""

_COUNTS: Final = ", ".join(f"count(*) FILTER (WHERE kind = '{kind}') AS {kind}" for kind in KINDS)

_ANSWERS: Final = f"""
WITH answer AS MATERIALIZED (
    SELECT tool, agent_id,
        CASE type WHEN 'interrupt.expired' THEN 'expired'
            WHEN 'interrupt.partly_approved' THEN 'approve'
            ELSE CASE actor_kind WHEN 'user' THEN detail::json ->> 'decision' ELSE 'rule' END
        END AS kind,
        CASE actor_kind WHEN 'user' THEN actor_id END AS person_id,
        CASE actor_kind WHEN 'user' THEN actor_name END AS person,
        CASE actor_kind WHEN 'user' THEN date_part('hour', at AT TIME ZONE %(zone)s) END
            AS hour,
        CASE WHEN actor_kind = 'user' AND type = 'interrupt.decided'
            THEN date_part('epoch', at - asked_at) END AS waited_s,
        CASE actor_kind WHEN 'user' THEN date_part('epoch', at - shown_at) END AS looked_s
    FROM (SELECT * FROM audit_event WHERE {_CHOSEN} AND type IN
        ('interrupt.decided', 'interrupt.partly_approved', 'interrupt.expired')) AS told
    CROSS JOIN LATERAL (
        SELECT min(at) FILTER (WHERE type = 'interrupt.asked') AS asked_at,
            min(at) FILTER (WHERE type = 'interrupt.shown' AND actor_id = told.actor_id)
                AS shown_at
        FROM audit_event AS before
        WHERE before.tenant_id = told.tenant_id AND before.interrupt_id = told.interrupt_id
            AND before.at <= told.at
    ) AS earlier
), cells AS MATERIALIZED (
    SELECT hour, width_bucket(looked_s, %(looked_edges)s::float8[]) AS looked,
        width_bucket(waited_s, %(waited_edges)s::float8[]) AS waited,
        count(*) AS n, count(*) FILTER (WHERE looked_s < {QUICK_S}) AS quick
    FROM answer WHERE person_id IS NOT NULL GROUP BY 1, 2, 3
), sums AS (
    SELECT GROUPING(tool, agent_id, person_id) AS of, tool, agent_id, person_id,
        max(person) AS person, {_COUNTS},
        count(person_id) AS answers,
        count(*) FILTER (WHERE kind = 'expired') AS expired,
        count(*) FILTER (WHERE kind = 'rule') AS by_rule,
        count(*) FILTER (WHERE looked_s < {QUICK_S}) AS quick,
        {_SPREAD.format("looked_s")} AS looked,
        {_SPREAD.format("waited_s")} AS waited
    FROM answer GROUP BY GROUPING SETS ((), (tool), (agent_id), (person_id))
), ranked AS (
    SELECT *, count(*) OVER (PARTITION BY of) AS in_all, row_number() OVER (
        PARTITION BY of ORDER BY answers DESC, expired DESC, tool, agent_id, person_id
    ) AS place
    FROM sums WHERE NOT (of = 6 AND person_id IS NULL)
)
SELECT
    (SELECT coalesce(jsonb_agg(to_jsonb(ranked) ORDER BY place), '[]')
        FROM ranked WHERE place <= {MOST_GROUPS}),
    (SELECT jsonb_agg(jsonb_build_array(looked, n)) FROM
        (SELECT looked, sum(n) AS n FROM cells WHERE looked IS NOT NULL GROUP BY 1) AS counted),
    (SELECT jsonb_agg(jsonb_build_array(waited, n)) FROM
        (SELECT waited, sum(n) AS n FROM cells WHERE waited IS NOT NULL GROUP BY 1) AS counted),
    (SELECT jsonb_agg(jsonb_build_array(hour, n, quick)) FROM
        (SELECT hour, sum(n) AS n, sum(quick) AS quick FROM cells GROUP BY 1) AS counted)
"""

_REFUSALS: Final = f"""
SELECT code, sum(coalesce((detail::json ->> 'repeated')::bigint, 1))::bigint AS told,
    count(DISTINCT (actor_kind, actor_id))
FROM audit_event WHERE {_CHOSEN} AND type = 'command.refused' AND code IS NOT NULL
GROUP BY code ORDER BY told DESC, code
"""

_ALL, _TOOL, _AGENT, _PERSON = 7, 3, 5, 6
"""What GROUPING says of the whole, of tools, of agents and of people."""


def statistics(span: Span) -> Statistics:
    """Count the answers of a span, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(_ANSWERS, _values(span))
        sums, looked, waited, hours = (json.loads(each or "[]") for each in cursor.fetchone())
    counted = {hour: Hour(answers, quick) for hour, answers, quick in hours}
    return Statistics(
        total=next(_sums(row, "") for row in sums if row["of"] == _ALL),
        tools=_groups(sums, _TOOL, "tool"),
        agents=_groups(sums, _AGENT, "agent_id"),
        people=_groups(sums, _PERSON, "person"),
        looked=_filled(looked, LOOKED_EDGES_S),
        waited=_filled(waited, WAITED_EDGES_S),
        hours=tuple(counted.get(hour, Hour(0, 0)) for hour in range(24)),
    )


def refusals(span: Span) -> tuple[Refusals, ...]:
    """Count the refusals of a span by code, the most frequent first, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(_REFUSALS, _values(span))
        return tuple(Refusals(*row) for row in cursor.fetchall())


def _values(span: Span) -> dict[str, Any]:
    return {
        "tenant_id": span.tenant_id,
        "since_at": span.since_at,
        "until_at": span.until_at,
        "zone": span.zone,
        "tool": span.tool,
        "agent_id": span.agent_id,
        "person_id": span.person_id,
        "looked_edges": list(LOOKED_EDGES_S),
        "waited_edges": list(WAITED_EDGES_S),
    }


def _groups(rows: Sequence[dict[str, Any]], of: int, name: str) -> Groups:
    chosen = [row for row in rows if row["of"] == of]
    in_all = int(chosen[0]["in_all"]) if chosen else 0
    return Groups(tuple(_sums(row, str(row[name])) for row in chosen), in_all)


def _sums(row: dict[str, Any], name: str) -> Sums:
    return Sums(
        name=name,
        agent_id=row["agent_id"] or 0,
        kinds={kind: row[kind] for kind in KINDS},
        expired=row["expired"],
        by_rule=row["by_rule"],
        quick=row["quick"],
        looked=Spread(*row["looked"]) if row["looked"] else None,
        waited=Spread(*row["waited"]) if row["waited"] else None,
    )


def _filled(counted: Sequence[tuple[int, int]], edges: Sequence[int]) -> tuple[int, ...]:
    found = dict(counted)
    return tuple(found.get(place, 0) for place in range(len(edges) + 1))
