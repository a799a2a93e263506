"""Importing the protocol loads nothing that a small client or the server would not want."""

import subprocess
import sys

import pytest

import placet

LOADED = """
import sys, pkgutil, importlib
before = set(sys.modules)
import placet.protocol
for module in pkgutil.iter_modules(placet.protocol.__path__):
    importlib.import_module("placet.protocol." + module.name)
roots = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(roots - sys.stdlib_module_names))
"""


def test_the_protocol_needs_the_standard_library_and_rfc8785_alone() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=60
    )

    assert ran.stdout.split() == ["placet", "rfc8785"]


def test_every_public_name_can_be_had() -> None:
    missing = [name for name in placet.__all__ if not hasattr(placet, name)]

    assert missing == []


def test_a_name_that_is_not_public_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = placet.nothing
