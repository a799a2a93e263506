"""What the protocol and the rules say is told in the reader's language, and goes out in English."""

import ast
from collections.abc import Iterator
from typing import Any

import pytest

from approvals.rules.schema import value_faults
from approvals.sentences import sentence
from identity.languages import reading
from placet.protocol.reading import InvalidJSON, read_json
from placet.protocol.refusals import RefusalCode
from tests.languages.catalog import ROOT

SPEAKING = (
    "approvals/rules/editing.py",
    "approvals/rules/answering.py",
    "approvals/web/forms.py",
    "runs/rules/evidence.py",
)
"""Files whose refusals reach pages; each of their sentences stands in the code as one text."""

UNREADABLE = {
    "": "此处应为一个值，但文本已经结束。",
    "{": "此处应为双引号中的名称和冒号，但文本已经结束。",
    '{"a" 1}': "第 1 行第 2 列应为双引号中的名称和冒号。",
    '{"a":1': "此处应为逗号或右花括号，但文本已经结束。",
    '{"a":1\n 2}': "第 2 行第 2 列应为逗号或右花括号。",
    "[1": "此处应为逗号或右方括号，但文本已经结束。",
    "[1 2]": "第 1 行第 4 列应为逗号或右方括号。",
    "[1,]": "第 1 行第 4 列应为一个值。",
    "{} x": "值结束之后还有多余的文本，位于第 1 行第 4 列。",
    '"a\tb"': "第 1 行第 1 列的字符串没有结束，或含有未转义的控制字符或未知的转义。",
    "NaN": "NaN 和 Infinity 不是 JSON 数字：请改用 null 或字符串。",
    "9007199254740993": "这个数字超出 ±9007199254740991（2^53 - 1）：请改用字符串。",
    "0.10000000000000000055": "双精度浮点数（64 位）会改变这个数字：请改用字符串。",
    '{"or":1,"or":2}': '成员 "or" 在其对象中出现了不止一次。',
    '"\\u0000"': "这段文本含有字符 U+0000，无法存储。",
    '"\\ud800"': "这段文本含有不成对的代理码元。",
    '"\\uffff"': "这段文本含有非字符，即 Unicode 保留不用的码位。",
    '{"\\u0000":1}': '成员名 "\\u0000" 含有字符 U+0000，无法存储。',
    '{"\\ud800":1}': '成员名 "\\ud800" 含有不成对的代理码元。',
    '{"\\uffff":1}': '成员名 "\\uffff" 含有非字符，即 Unicode 保留不用的码位。',
    "[" * 65: "此处数组和对象的嵌套超过 64 层。",
}
UNFIT: tuple[tuple[dict[str, Any], Any, str], ...] = (
    ({"type": "integer"}, "x", '值的类型不是 "integer"'),
    ({"type": ["integer", "null"]}, "x", '值的类型不是 "null", "integer" 之一'),
    ({"enum": ["a"]}, 1, '值不在可选范围内："a"'),
    ({"enum": ["a or b", "c"]}, 1, '值不在可选范围内："a or b" 或 "c"'),
    ({"enum": ["a", "b", "c", "d", "e"]}, 1, '值不在可选范围内："a", "b" 及其他 3 个'),
    ({"const": 3}, 1, "应为 3"),
    ({"required": ["a"]}, {}, '缺少必需的属性 "a"'),
    ({"minimum": 3}, 1, "值小于下限 3"),
    ({"maximum": 3}, 10, "值大于上限 3"),
    ({"exclusiveMinimum": 3}, 3, "值必须大于 3"),
    ({"exclusiveMaximum": 3}, 3, "值必须小于 3"),
    ({"multipleOf": 3}, 10, "值不是 3 的倍数"),
    ({"minLength": 1}, "", "值少于 1 个字符"),
    ({"minLength": 2}, "", "值少于 2 个字符"),
    ({"maxLength": 1}, "ab", "值多于 1 个字符"),
    ({"maxLength": 2}, "abc", "值多于 2 个字符"),
    ({"pattern": "^the value"}, "abc", '值不符合模式 "^the value"'),
    ({"minItems": 1}, [], "值少于 1 项"),
    ({"minItems": 2}, [], "值少于 2 项"),
    ({"maxItems": 1}, [1, 2], "值多于 1 项"),
    ({"maxItems": 0}, [1], "值多于 0 项"),
    ({"contains": {"type": "string"}}, [1], "没有足够的项符合给定的模式"),
    (
        {"additionalProperties": False, "properties": {"a": {}}},
        {"x": 1},
        "不允许其他属性（多出 'x'）",
    ),
    ({"unevaluatedProperties": False}, {"x": 1}, "不允许其他属性（多出 'x'）"),
    ({"unevaluatedProperties": False}, {"x": 1, "y": 2}, "不允许其他属性（多出 'x', 'y'）"),
    ({"unevaluatedItems": False}, [1], "不允许其他项（多出 1 项）"),
    ({"unevaluatedItems": False}, [1, 2], "不允许其他项（多出 2 项）"),
    ({"items": False}, [1], "此处不允许有值"),
    ({"minProperties": 1}, {}, "值少于 1 个属性"),
    ({"minProperties": 2}, {}, "值少于 2 个属性"),
    ({"maxProperties": 1}, {"a": 1, "b": 2}, "值多于 1 个属性"),
    ({"maxProperties": 0}, {"a": 1}, "值多于 0 个属性"),
    ({"propertyNames": {"maxLength": 1}}, {"aaa": 1}, '"aaa"多于 1 个字符'),
    ({"anyOf": [{"type": "integer"}]}, "x", "值不符合 'anyOf' 中列出的任何一个模式"),
    ({"oneOf": [{"type": "integer"}, {}]}, 1, "值符合 'oneOf' 中列出的不止一个模式"),
    ({"not": {"type": "string"}}, "x", '值不得符合 {"type":"string"}'),
)


@pytest.mark.parametrize("code", RefusalCode)
def test_every_code_has_its_sentence(code: RefusalCode) -> None:
    with reading("zh-hans", ""):
        assert sentence(code.sentence) != code.sentence


@pytest.mark.parametrize(("text", "told"), UNREADABLE.items())
def test_what_is_no_json_is_told_in_ones_language(text: str, told: str) -> None:
    with reading("zh-hans", ""), pytest.raises(InvalidJSON) as unreadable:
        read_json(text.encode())

    with reading("zh-hans", ""):
        assert sentence(unreadable.value.faults[0].message) == told


@pytest.mark.parametrize(("schema", "value", "told"), UNFIT)
def test_what_does_not_fit_a_schema_is_told_in_ones_language(
    schema: dict[str, Any], value: Any, told: str
) -> None:
    """What fills a sentence, such as a pattern, stays as it is."""
    with reading("zh-hans", ""):
        (fault,) = value_faults(schema, value)
        assert sentence(fault.message) == told


@pytest.mark.parametrize("file", SPEAKING)
def test_what_a_rule_says_of_an_answer_has_its_sentence(file: str) -> None:
    said = list(_said((ROOT / file).read_text()))

    assert said
    with reading("zh-hans", ""):
        assert [text for text in said if sentence(text) == text] == []


def test_in_english_a_sentence_is_what_was_said() -> None:
    with reading("", ""):
        assert sentence("the value is shorter than 3 characters") == (
            "the value is shorter than 3 characters"
        )


def test_a_sentence_that_nobody_wrote_down_stays_as_it_is() -> None:
    with reading("zh-hans", ""):
        assert sentence("Something else is wrong.") == "Something else is wrong."


def _said(code: str) -> Iterator[str]:
    """The texts given to a fault or as the detail of a refusal, with 7 for each changing part."""
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", "")
        given = [word.value for word in node.keywords if word.arg == "detail"]
        if name in ("Fault", "invalid"):
            given += node.args[1:2]
        yield from (text for part in given if (text := _text(part)))


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                str(getattr(part, "value", "")) if isinstance(part, ast.Constant) else "7"
                for part in parts
            )
        case _:
            return ""
