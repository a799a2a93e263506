"""The hash of an event covers every member of it and the event before it."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from audit.chain import SequenceDigest, event_hash, instant
from audit.models import Event
from placet.protocol.digest import sha256_hex
from placet.protocol.reading import JSONValue

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
MEMBERS = st.dictionaries(TEXTS, st.none() | TEXTS | st.integers(-(2**53) + 1, 2**53 - 1))

WHOLE = Event(
    tenant_id=1,
    run_id="run_a",
    run_seq=2,
    type="interrupt.decided",
    at=datetime(2031, 5, 4, 12, 0, 0, 250, tzinfo=UTC),
    actor_kind="user",
    actor_id="102",
    actor_name="Rae",
    interrupt_id="int_a",
    action_id="act_a",
    agent_id=3,
    tool="pay",
    from_state="PENDING",
    to_state="DECIDED",
    revision=4,
    digest="d",
    content_sha256="c",
    code="expired",
    refused="{}",
    detail="{}",
    previous_hash="p",
)


def test_the_hash_is_the_digest_of_the_canonical_members_without_nulls() -> None:
    members: dict[str, JSONValue] = {"b": 2, "a": "x", "absent": None}

    assert event_hash(members) == sha256_hex('{"a":"x","b":2}')


@given(MEMBERS, MEMBERS)
def test_members_have_one_hash_exactly_when_they_are_equal_but_for_nulls(
    one: dict[str, JSONValue], other: dict[str, JSONValue]
) -> None:
    told, other_told = ({k: v for k, v in m.items() if v is not None} for m in (one, other))

    assert (event_hash(one) == event_hash(other)) == (told == other_told)


def test_every_column_but_id_and_hash_is_covered() -> None:
    covered = {field.attname for field in Event._meta.concrete_fields} - {"id", "hash"}
    original = WHOLE.computed_hash()

    changed = {}
    for name in covered:
        value = getattr(WHOLE, name)
        other = value + timedelta(microseconds=1) if name == "at" else value * 2
        setattr(WHOLE, name, other)
        changed[name] = WHOLE.computed_hash() != original
        setattr(WHOLE, name, value)

    assert changed == dict.fromkeys(covered, True)


def test_a_time_is_told_in_utc_with_microseconds() -> None:
    in_india = datetime(2031, 5, 4, 17, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))

    assert instant(in_india) == "2031-05-04T12:00:00.000000Z"


def test_the_sequence_digest_depends_on_order_and_count() -> None:
    def digest(*hashes: str) -> str:
        sequence = SequenceDigest()
        for each in hashes:
            sequence.add(each)
        return sequence.hex()

    digests = [digest(), digest("a"), digest("a", "b"), digest("b", "a"), digest("ab")]

    assert digests[2] == sha256_hex("a\nb\n")
    assert len(set(digests)) == len(digests)
