"""What an answer is bound to."""

from placet.protocol.digest import asked_sha256, canonical_asked, idempotency_key, sha256_hex
from placet.protocol.reading import JSONValue

PAY: dict[str, JSONValue] = {
    "vendor_id": "V-2291",
    "invoice": "INV-88412",
    "amount_paise": 40000000,
}
PAY_SHA256 = "8f15543ca205b50288d669a6087b5b06fcfca5fd8ba8a52f67069b5a363d1b15"


def test_the_example_of_the_contract_has_its_digest() -> None:
    assert canonical_asked(tool="pay_vendor", args=PAY, target=None) == (
        '{"args":{"amount_paise":40000000,"invoice":"INV-88412","vendor_id":"V-2291"},'
        '"target":null,"tool":"pay_vendor"}'
    )
    assert asked_sha256(tool="pay_vendor", args=PAY, target=None) == PAY_SHA256


def test_tool_args_and_target_are_each_bound() -> None:
    target = {"origin": "https://bank.example"}

    digests = {
        asked_sha256(tool="pay_vendor", args=PAY, target=None),
        asked_sha256(tool="pay_vendor2", args=PAY, target=None),
        asked_sha256(tool="pay_vendor", args=PAY | {"amount_paise": 40000001}, target=None),
        asked_sha256(tool="pay_vendor", args=PAY, target={}),
        asked_sha256(tool="pay_vendor", args=PAY, target=target),
    }

    assert len(digests) == 5


def test_two_long_ids_sent_as_strings_have_two_digests() -> None:
    """H-09: ids that a double would round to one stay two."""
    first, second = ("2512292042121000001", "2512292042121000000")

    assert asked_sha256(tool="t", args={"invoice_id": first}, target=None) != asked_sha256(
        tool="t", args={"invoice_id": second}, target=None
    )


def test_an_idempotency_key_depends_on_run_call_attempt_and_content_alone() -> None:
    def key(
        run_id: str = "run_1", call_id: str = "c", attempt: int = 1, digest: str = PAY_SHA256
    ) -> str:
        return idempotency_key(
            run_id=run_id, call_id=call_id, attempt=attempt, approved_sha256=digest
        )

    assert key() == "idk_" + sha256_hex(
        '{"approved_sha256":"' + PAY_SHA256 + '","attempt":1,"call_id":"c","run_id":"run_1"}'
    )
    others = {key("run_2"), key(call_id="d"), key(attempt=2), key(digest="0" * 64)}
    assert len({key(), *others}) == 5


def test_an_idempotency_key_is_short_visible_ascii_whatever_the_call_id() -> None:
    key = idempotency_key(
        run_id="run_1", call_id="ü \n" * 1000, attempt=1, approved_sha256=PAY_SHA256
    )

    assert len(key) == 68
    assert key.isascii()
    assert key.isprintable()
    assert " " not in key
