"""What messages say in the language of the person they go to."""

import re
from datetime import UTC, datetime

import pytest

from identity.languages import reading
from notices.rules.kinds import Kind
from notices.wording import Message, of_code, of_many, of_question, of_test
from runs.asked import Waiting

QUESTION = Waiting(
    id="int_1",
    tenant_id=1,
    tool="pay_vendor",
    owner="alice",
    agent="payer",
    created_at=datetime(2026, 1, 31, 9, 0, tzinfo=UTC),
    expires_at=datetime(2026, 1, 31, 10, 0, tzinfo=UTC),
    remind_before_s=None,
    escalate_after_s=None,
)
OURS = re.compile(r"https?://\S+|pay_vendor|alice|payer|Placet|UTC")


def messages() -> list[Message]:
    about = [kind for kind in Kind if kind.is_about_question]
    return [
        *(of_question(kind, QUESTION) for kind in about),
        of_many([QUESTION] * 12),
        of_code("123456"),
        of_test(),
    ]


def test_messages_to_somebody_who_reads_chinese_have_no_english_left() -> None:
    with reading("zh-hans", "Asia/Shanghai"):
        said = [(told.title, told.body, told.brief) for told in messages()]

    left = [word for texts in said for text in texts for word in OURS.sub("", text).split()]
    assert [word for word in left if re.search("[A-Za-z]", word)] == []
    assert "2026年1月31日 18:00" in said[0][1]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_names_and_addresses_are_the_same_in_every_language(language: str) -> None:
    with reading(language, ""):
        told = of_question(Kind.ASKED, QUESTION)

    for part in ("pay_vendor", "alice", "payer", "/interrupts/int_1/"):
        assert part in told.body
