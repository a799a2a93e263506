"""The pictures of the documents: each is there, is shown, is made by the script, and is small."""

import ast

from tests.docs.pages import ROOT, documents
from tests.docs.test_links import PICTURE

PICTURES = ROOT / "docs" / "pictures"
TOGETHER_BYTES = 600_000


def in_documents() -> set[str]:
    """The names of all pictures that a document shows."""
    return {
        (one or other).rpartition("/")[2]
        for path in documents()
        for one, other in PICTURE.findall(path.read_text(encoding="utf-8"))
    }


def made() -> set[str]:
    """The names of the pictures that the script makes, read without running it."""
    for node in ast.parse((PICTURES / "make.py").read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="SHOWN")], value=ast.Dict(keys=keys)):
                return {str(ast.literal_eval(key)) for key in keys if key is not None}
    raise AssertionError("the script has no list of pictures")


def test_every_picture_is_there_is_shown_and_is_made_by_the_script() -> None:
    files = {path.name for path in PICTURES.iterdir() if path.suffix not in (".py", "")}

    assert files == in_documents() == made()


def test_pictures_are_small() -> None:
    assert sum(path.stat().st_size for path in PICTURES.glob("*.png")) <= TOGETHER_BYTES
