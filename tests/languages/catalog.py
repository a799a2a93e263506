"""The catalogs of translations: what the code says, what they hold, and how they are brought up.

`python -m tests.languages.catalog` puts new texts into every catalog, takes out those that are
gone, and compiles each. It needs no gettext on the machine; Django's own `makemessages` finds the
same texts.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polib
from django.utils.translation.template import templatize

ROOT: Final = Path(__file__).resolve().parents[2]
NOT_SERVED: Final = frozenset({"bench", "examples", "tests"})
CATALOGS: Final = tuple(sorted((ROOT / "locale").glob("*/LC_MESSAGES/django.po")))
CALLS: Final = {
    "gettext": ("text",),
    "gettext_lazy": ("text",),
    "gettext_noop": ("text",),
    "ngettext": ("text", "plural"),
    "ngettext_lazy": ("text", "plural"),
    "pgettext": ("context", "text"),
    "pgettext_lazy": ("context", "text"),
    "npgettext": ("context", "text", "plural"),
    "npgettext_lazy": ("context", "text", "plural"),
    "_": ("text",),
}
_STRING = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_CALL = re.compile(rf"(?<!\w)((?:n?p?gettext)|_)\(({_STRING}(?:, (?:{_STRING}|count))*)\)")


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """One text that is translated."""

    text: str
    context: str = ""
    plural: str = ""


Found = Mapping[Message, list[str]]


def messages() -> Found:
    """Every text that the code marks, with the files that say it, in order."""
    found: dict[Message, list[str]] = defaultdict(list)
    for file in sorted(_files()):
        said = _of_template(file) if file.suffix in (".html", ".txt") else _of_python(file)
        for message in said:
            if file.relative_to(ROOT).as_posix() not in found[message]:
                found[message].append(file.relative_to(ROOT).as_posix())
    return dict(sorted(found.items(), key=lambda item: (item[1][0], item[0])))


def _files() -> Iterator[Path]:
    apps = {path.parent for path in ROOT.glob("*/__init__.py")}
    for folder in (ROOT / "templates", *(app for app in apps if app.name not in NOT_SERVED)):
        yield from (path for path in folder.rglob("*") if path.suffix in (".html", ".txt", ".py"))


def _of_template(file: Path) -> Iterator[Message]:
    for name, given in _CALL.findall(templatize(file.read_text())):
        strings = [ast.literal_eval(text) for text in re.findall(_STRING, given)]
        yield _message(CALLS[name], strings)


def _of_python(file: Path) -> Iterator[Message]:
    tree = ast.parse(file.read_text())
    names = {name: name for name in CALLS if name != "_"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation":
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        parts = CALLS.get(names.get(node.func.id, ""))
        if parts is None:
            continue
        strings = [part.value for part in node.args[: len(parts)] if isinstance(part, ast.Constant)]
        if len(strings) == len(parts):
            yield _message(parts, strings)


def _message(parts: tuple[str, ...], strings: list[str]) -> Message:
    return Message(**dict(zip(parts, strings, strict=True)))


def entries(catalog: polib.POFile) -> dict[Message, polib.POEntry]:
    """What a catalog holds, by message."""
    return {
        Message(entry.msgid, entry.msgctxt or "", entry.msgid_plural or ""): entry
        for entry in catalog
        if not entry.obsolete
    }


def brought_up(catalog: polib.POFile, found: Found) -> polib.POFile:
    """The catalog with exactly these texts, translations kept, in the order of the code."""
    held = entries(catalog)
    new = polib.POFile(wrapwidth=98)
    new.metadata = dict(catalog.metadata)
    for message, files in found.items():
        entry = held.get(message) or _untranslated(message)
        entry.occurrences = [(file, "") for file in files]
        entry.flags = _flags(message)
        new.append(entry)
    return new


def _untranslated(message: Message) -> polib.POEntry:
    context = message.context or None
    if not message.plural:
        return polib.POEntry(msgid=message.text, msgctxt=context)
    return polib.POEntry(
        msgid=message.text,
        msgid_plural=message.plural,
        msgstr_plural={0: ""},
        msgctxt=context,
    )


def _flags(message: Message) -> list[str]:
    if "%(" in message.text:
        return ["python-format"]
    return ["python-brace-format"] if re.search(r"{\w+}", message.text) else []


def main() -> None:
    """Bring every catalog up and compile it."""
    found = messages()
    for path in CATALOGS:
        catalog = brought_up(polib.pofile(str(path)), found)
        path.write_text(f"{catalog}\n")
        path.with_suffix(".mo").write_bytes(compiled(path))
        missing = catalog.untranslated_entries()
        print(f"{path.parts[-3]}: {len(catalog)} texts, {len(missing)} untranslated")  # noqa: T201
        for entry in missing:
            print(f"  {entry.msgctxt or ''} {entry.msgid!r}")  # noqa: T201


def compiled(path: Path) -> bytes:
    """The catalog as the server reads it."""
    return bytes(polib.pofile(str(path)).to_binary())


if __name__ == "__main__":
    main()
