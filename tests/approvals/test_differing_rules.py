"""What differs between two values, as a table; and that the second can be made from the first."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.rules import differing
from approvals.rules.differing import MemberChange, differences
from approvals.rules.presentation import changes
from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue


def told(before: JSONValue, after: JSONValue) -> list[str]:
    """Each change as a short text."""
    return [_told(change) for change in differences(before, after)]


def _told(change: MemberChange) -> str:
    where = "/" + "/".join(change.path)
    if change.came_from is not None:
        return f"{where} from /{'/'.join(change.came_from)}: {change.after}"
    return f"{where}: {change.before} > {change.after}"


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["/a: 1 > 2"]),
        ({"a": 1}, {"a": "1"}, ['/a: 1 > "1"']),
        ({"a": "x"}, {}, ['/a: "x" > None']),
        ({}, {"a": None}, ["/a: None > null"]),
        ({"a": None}, {}, ["/a: null > None"]),
        ({"old": "x"}, {"new": "x"}, ['/new from /old: "x"']),
        ({"a": {"b": "x"}}, {"c": {"d": "x"}}, ['/a: {"b":"x"} > None', '/c: None > {"d":"x"}']),
        ({"a": {"b": "x"}, "c": {}}, {"a": {}, "c": {"d": "x"}}, ['/c/d from /a/b: "x"']),
        ({"old": True}, {"new": True}, ["/new: None > true", "/old: true > None"]),
        ({"old": ""}, {"new": ""}, ['/new: None > ""', '/old: "" > None']),
        ({"a": 1, "b": 1}, {"c": 1}, ["/a: 1 > None", "/b: 1 > None", "/c: None > 1"]),
        ({"a": 1}, {"b": 1, "c": 1}, ["/a: 1 > None", "/b: None > 1", "/c: None > 1"]),
        ([1, 2, 3], [1, 5, 3], ["/1: 2 > 5"]),
        ([1, 2, 3], [2, 3], ["/0: 1 > None"]),
        ([2, 3], [1, 2, 3], ["/0: None > 1"]),
        ([1, 2, 3], [3, 1, 2], ["/0 from /2: 3"]),
        ([1, 2], [2, 1], ["/1 from /0: 1"]),
        ([1, 1], [1], ["/1: 1 > None"]),
        ([True, False], [False, True], ["/1 from /0: true"]),
        (["x", {"a": 1}, 2], [2, {}], ['/0: "x" > None', '/1: {"a":1} > {}']),
        ([{"a": 1, "b": 2}], [{"a": 1, "b": 3}], ["/0/b: 2 > 3"]),
        ([], [1], ["/: [] > [1]"]),
        ([1], [], ["/: [1] > []"]),
        ({"l": [1, "x"]}, {"l": [1], "m": "x"}, ['/m from /l/1: "x"']),
        ({"a": [1]}, {"a": {"0": 1}}, ['/a: [1] > {"0":1}']),
        ({"a": 1.0}, {"a": 1}, []),
        ({"e": "\u00e9"}, {"e": "e\u0301"}, ['/e: "\u00e9" > "e\u0301"']),
    ],
)
def test_what_differs_is_told_at_its_place(
    before: JSONValue, after: JSONValue, changed: list[str]
) -> None:
    assert told(before, after) == changed


values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "x", "y"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(values, values)
def test_what_is_told_is_enough_to_make_the_second_from_the_first(
    before: JSONValue, after: JSONValue
) -> None:
    assert canonical(made(before, differences(before, after))) == canonical(after)


def made(value: JSONValue, found: tuple[MemberChange, ...]) -> JSONValue:
    """The value with these changes made: at each level all that goes, then all that comes."""
    gone = {change.came_from or change.path for change in found if change.before is not None}
    came = {change.path: json.loads(change.after) for change in found if change.after is not None}

    def within(value: JSONValue, path: tuple[str, ...]) -> JSONValue:
        new = {at[-1]: item for at, item in came.items() if at[:-1] == path and at}
        if isinstance(value, dict):
            kept = [name for name in value if (*path, name) not in gone]
            return {name: within(value[name], (*path, name)) for name in kept} | new
        if isinstance(value, list):
            kept_at = [at for at in range(len(value)) if (*path, str(at)) not in gone]
            items = [within(value[at], (*path, str(at))) for at in kept_at]
            for at in sorted(map(int, new)):
                items.insert(at, new[str(at)])
            return items
        return value

    return came[()] if () in came else within(value, ())


def test_lists_in_lists_are_not_written_out_anew_at_every_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise the page of one agent's question would hold a worker for seconds."""
    written: list[int] = []

    def write(value: JSONValue) -> str:
        text = canonical(value)
        written.append(len(text))
        return text

    before: JSONValue = [{"x": number} for number in range(1_000)]
    after: JSONValue = [{"x": number} for number in range(1_000, 2_000)]
    size = len(canonical(before)) + len(canonical(after))
    for _ in range(50):
        before, after = [before], [after]
    monkeypatch.setattr(differing, "canonical", write)

    assert len(differences(before, after)) == 1_000
    assert sum(written) < 3 * size


def test_a_move_out_of_or_into_a_masked_place_tells_no_value() -> None:
    """H-36: not even that a secret stands elsewhere now."""
    before: JSONValue = {"password": "hunter2", "n": "x"}
    after: JSONValue = {"comment": "hunter2", "n": "x"}

    found = changes(before, after, sensitive=["/password"])

    assert [(one.is_masked, one.after, one.came_from) for one in found] == [(True, None, None)]
