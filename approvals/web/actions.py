"""Dispatched actions as pages tell them: what was permitted, to whom, and what is known of it.

Masked as the question is. Long texts stay in the database on pages that tell of many actions;
the page of one action has them all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, TextField, When
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from approvals.access import visible_actions, visible_interrupts
from approvals.models import Interrupt
from approvals.rules.presentation import Notice, Tree, tree
from approvals.web.spans import left
from approvals.web.standing import did, outcome_of
from identity.models import User
from placet.protocol.reading import JSONValue, read_json
from placet.protocol.states import ActionState
from runs import grant
from runs.models import Action

LOADED_CHARS: Final = 4000
"""Of many actions each text is loaded up to so many characters."""

LONG: Final = ("asked", "refs", "result", "late_reports", "evidence")

WORST_FIRST: Final = (ActionState.UNKNOWN, ActionState.IN_FLIGHT, ActionState.SUCCEEDED)
"""The states of what may have done something, by how much they matter to who answers the same."""


@dataclass(frozen=True, slots=True)
class Told:
    """What somebody sent as JSON: as a tree, or where it was not loaded how long it is."""

    tree: Tree | None = None
    chars: int = 0


@dataclass(frozen=True, slots=True)
class LateReport:
    """A report that came too late to count, and is kept as evidence."""

    at: datetime
    by: str
    fencing_token: int
    outcome: str
    detail: str
    result: Tree | None
    refs: Tree | None


@dataclass(frozen=True, slots=True)
class FoundOut:
    """What somebody found out last about an unknown outcome, and what it rests on."""

    at: datetime
    by: str
    outcome: str
    kind: str
    reference: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSight:
    """One action as one person sees it at one instant."""

    action: Action
    interrupt: Interrupt
    now: datetime
    args: Told
    target: Tree | None
    refs: Told | None
    result: Told | None
    late: tuple[LateReport, ...]
    late_chars: int
    found_out: FoundOut | None
    same_key: tuple[Action, ...]
    resent_as: str | None
    may_reconcile: bool = False

    @property
    def approved(self) -> str:
        """Who approved it, as a sentence."""
        decision = outcome_of(self.interrupt)
        return did(decision) if decision else ""

    @property
    def kid(self) -> str:
        """The key that signed its grant; the grant itself stays with the executor."""
        return grant.key_id(self.action.grant)

    @property
    def is_usable(self) -> bool:
        """Whether a tool would still take its grant, so that it could still be carried out."""
        return self.now < self.action.grant_ends_at

    @property
    def usable_for(self) -> str:
        """How long a tool would still take its grant."""
        return left(self.action.grant_ends_at, self.now)

    @property
    def is_open(self) -> bool:
        """Whether it is not known what became of it, so that it may have happened."""
        return self.action.state in (ActionState.IN_FLIGHT, ActionState.UNKNOWN)

    @property
    def notices(self) -> list[Notice]:
        """What hides or misleads in what was sent."""
        trees = (self.args.tree, self.target)
        return [found for one in trees if one is not None for found in one.notices]


def with_short_texts(actions: "QuerySet[Action]") -> "QuerySet[Action]":
    """The rows with their texts where these are short, and else with how long they are."""
    short: dict[str, Any] = {f"{name}_chars": Length(name) for name in LONG}
    for name in LONG:
        is_short = LessThanOrEqual(F(f"{name}_chars"), LOADED_CHARS)
        short[f"short_{name}"] = Case(
            When(is_short, then=F(name)), output_field=TextField(null=True)
        )
    return actions.defer(*LONG).annotate(**short)


def sights(
    actions: Iterable[Action],
    user: User,
    *,
    now: datetime,
    reconcilable: Iterable[str] = (),
) -> list[ActionSight]:
    """These actions, loaded whole or by `with_short_texts`, in three queries for all of them."""
    rows, theirs = list(actions), frozenset(reconcilable)
    if not rows:
        return []
    asked = (
        Interrupt.objects.filter(tenant_id=user.tenant_id)
        .select_related("run__owner", "run__agent", "decision")
        .defer("asked", "description", "args_schema", "response_schema", "run__context")
        .defer("decision__approved_asked", "decision__response")
        .in_bulk([row.interrupt_id for row in rows])
    )
    keys, resent = _same_keys(rows, user), _seen_resent(rows, user)
    return [
        _sight(
            row,
            asked[row.interrupt_id],
            now=now,
            same_key=tuple(one for one in keys.get(row.idempotency_key, ()) if one.pk != row.pk),
            resent_as=row.resent_as if row.resent_as in resent else None,
            may_reconcile=row.pk in theirs,
        )
        for row in rows
    ]


def same_content(
    user: User, sha256: str, *, but: str, may_approve: bool = False
) -> "QuerySet[Action]":
    """The tenant's actions of exactly this content that came of other questions, the worst first.

    Those that failed or were not carried out did nothing and are left out. Only whoever could
    have the same done again is told of those that they may not look at, of which `is_seen` is
    false.
    """
    worst = Case(*(When(state=state, then=rank) for rank, state in enumerate(WORST_FIRST)))
    acted = Action.objects.filter(tenant_id=user.tenant_id, approved_sha256=sha256)
    seen = Exists(visible_actions(user).filter(pk=OuterRef("pk")))
    told = Q() if may_approve else Q(is_seen=True)
    return (
        acted.filter(state__in=WORST_FIRST)
        .exclude(interrupt_id=but)
        .annotate(is_seen=seen)
        .filter(told)
        .select_related("run")
        .defer(*LONG, "run__context")
        .order_by(worst, "-pk")
    )


def _sight(row: Action, interrupt: Interrupt, **known: Any) -> ActionSight:
    content, late = _read(row, "asked"), _read(row, "late_reports")
    args = content["args"] if isinstance(content, dict) else None
    target = content["target"] if isinstance(content, dict) else None
    reports = late if isinstance(late, list) else []
    return ActionSight(
        action=row,
        interrupt=interrupt,
        args=Told(chars=_chars(row, "asked"))
        if content is None
        else Told(tree(args, at=("args",), sensitive=interrupt.sensitive)),
        target=None if target is None else tree(target, at=("target",)),
        refs=_told(row, "refs"),
        result=_told(row, "result"),
        late=tuple(_late(one) for one in reports if isinstance(one, dict)),
        late_chars=0 if late is not None else _chars(row, "late_reports"),
        found_out=_found_out(_read(row, "evidence")),
        **known,
    )


def _read(row: Action, name: str) -> JSONValue:
    """What a text of the row says, None where it has none or it was not loaded."""
    is_short = hasattr(row, f"{name}_chars")
    text: str | None = getattr(row, f"short_{name}" if is_short else name)
    return None if text is None else read_json(text.encode())


def _chars(row: Action, name: str) -> int:
    return getattr(row, f"{name}_chars", 0) or 0


def _told(row: Action, name: str) -> Told | None:
    value = _read(row, name)
    if value is None:
        return Told(chars=_chars(row, name)) if _chars(row, name) else None
    is_tree = isinstance(value, dict | list) and bool(value)
    return Told(tree(value, at=(name,)) if is_tree else tree({name: value}))


def _late(told: Mapping[str, JSONValue]) -> LateReport:
    token = told.get("fencing_token")
    return LateReport(
        at=datetime.fromisoformat(str(told["at"])),
        by=str(told["by"]),
        fencing_token=token if isinstance(token, int) else 0,
        outcome=str(told["outcome"]),
        detail=str(told.get("detail", "")),
        result=_part(told, "result"),
        refs=_part(told, "refs"),
    )


def _part(told: Mapping[str, JSONValue], name: str) -> Tree | None:
    return None if told.get(name) is None else tree({name: told[name]})


def _found_out(told: JSONValue) -> FoundOut | None:
    if not isinstance(told, dict) or not told:
        return None
    return FoundOut(
        at=datetime.fromisoformat(str(told["at"])),
        by=str(told["by"]),
        outcome=str(told["outcome"]),
        kind=str(told.get("kind", "")),
        reference=str(told.get("reference", "")),
        note=str(told.get("note", "")),
    )


def _same_keys(rows: list[Action], user: User) -> dict[str, list[Action]]:
    """The actions under the keys of these; only attempts of one call share a key."""
    mine = visible_actions(user).filter(
        run_id__in={row.run_id for row in rows},
        idempotency_key__in={row.idempotency_key for row in rows},
    )
    found: dict[str, list[Action]] = {}
    for row in mine.defer(*LONG).order_by("pk"):
        found.setdefault(row.idempotency_key, []).append(row)
    return found


def _seen_resent(rows: list[Action], user: User) -> frozenset[str]:
    """The attempts as which these were sent again, as far as this person may see them."""
    ids = {row.resent_as for row in rows if row.resent_as}
    if not ids:
        return frozenset()
    return frozenset(visible_interrupts(user).filter(pk__in=ids).values_list("pk", flat=True))
