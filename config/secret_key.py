"""The key that signs sessions and proofs of showing."""

import os
import secrets
from pathlib import Path

from config.account import make_reachable
from config.env import Env

MIN_CHARS = 32


def secret_key(env: Env, folder: Path) -> str:
    """PLACET_SECRET_KEY, or a key of this installation, made at first and kept in its folder.

    The file is linked into place, so of two first starts at once both end with the same key.
    """
    if given := env.secret("PLACET_SECRET_KEY", min_length=MIN_CHARS):
        return given
    path = folder / "secret_key"
    if not path.exists():
        make_reachable(folder)
        fresh = folder / f"secret_key.{os.getpid()}.{secrets.token_hex(4)}"
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(48))
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text().strip()
