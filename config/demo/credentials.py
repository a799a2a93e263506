"""What opens the demo: made once, kept for its owner alone, the same at every start.

Kept before anything is made that it opens, so that a start that was killed leaves nobody in the
database whose password is lost.
"""

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass(slots=True)
class Credentials:
    """The passwords by login name, and the agent's key once there is one."""

    path: Path
    passwords: dict[str, str] = field(default_factory=dict)
    agent_key: str = ""

    @classmethod
    def kept_in(cls, folder: Path, names: list[str]) -> Self:
        """Give what the folder keeps, with a new password for whoever has none."""
        path = folder / "credentials.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        found = cls(path, **known)
        found.passwords = {name: found.passwords.get(name) or new_password() for name in names}
        found.keep()
        return found

    def keep(self) -> None:
        """Write the file; whoever reads it meanwhile sees the old or the new one whole."""
        content = asdict(self)
        del content["path"]
        fresh = self.path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w") as stream:
            json.dump(content, stream)
        fresh.replace(self.path)


def new_password() -> str:
    """Give a password that can be said aloud, such as `bako-timu-reso` (36 random bits)."""
    return "-".join(_syllable() + _syllable() for _ in range(3))


def _syllable() -> str:
    return secrets.choice(_CONSONANTS) + secrets.choice(_VOWELS)
