#!/usr/bin/env python3
"""Everything from a clean checkout, with nothing but Python 3.11 or later.

    python3 bootstrap.py install                      make the environment only
    python3 bootstrap.py demo                         a site with people, agents and questions
    python3 bootstrap.py serve [--host H] [--port P]  the service
    python3 bootstrap.py manage COMMAND ...           one of the service's own commands
    python3 bootstrap.py test [--database] [ARGS]     the tests (ARGS are pytest's)
    python3 bootstrap.py lint                         style, types, directions of import
    python3 bootstrap.py lock [--upgrade]             write the lock files anew

The environment is `.venv`, made by the interpreter that runs this file and filled with
exactly what the lock file names. The frameworks that the client's adapters are for are in
another, `.venv-adapters`, made when their checks or tests run. What pip is told about the
package index (its variables and files) holds for this file too; an active environment does not.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

MINIMUM = (3, 11)
UV_VERSION = "0.13.9"

ROOT = Path(__file__).resolve().parent
PRIVATE = ROOT / ".placet"
TOOL = PRIVATE / f"uv-{UV_VERSION}"

FOREIGN = ("UV_", "CONDA", "VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__")
PIP_TO_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
    "proxy": "ALL_PROXY",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
}
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


class BootstrapError(Exception):
    """The command cannot go on; the message says what to do."""


def main(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code."""
    if sys.version_info[:2] < MINIMUM:
        needed = ".".join(map(str, MINIMUM))
        raise BootstrapError(
            f"Python {needed} or later is needed; this is {sys.version.split()[0]}."
        )
    command, rest = (arguments[0], list(arguments[1:])) if arguments else ("", [])
    if command in {"help", "-h", "--help"}:
        print(__doc__)
        return 0
    if command not in {"install", "demo", "serve", "manage", "test", "lint", "lock"}:
        print(__doc__, file=sys.stderr)
        return 2
    if command == "lock":
        with locked():
            for venv in (MAIN, ADAPTERS):
                venv.write_lock(rest)
        return 0
    MAIN.install()
    if command == "test":
        return test(rest)
    if command == "lint":
        return lint()
    if command != "install":
        become([str(MAIN.python), str(ROOT / "manage.py"), *rest_of(command), *rest])
    return 0


def rest_of(command: str) -> list[str]:
    """Give the words for manage.py that stand for a command of this file."""
    return [] if command == "manage" else [command]


# The environments


@dataclass(frozen=True, slots=True)
class Venv:
    """A folder with an interpreter, the lock file that says what is in it, and its source."""

    folder: Path
    lock: Path
    source: Path
    parts: tuple[str, ...] = ()

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def install(self) -> None:
        """Make it what the lock file says, unless it is; two at once wait for each other."""
        place, content = self.fingerprint()
        if self.stamp() == [place, content]:
            return
        with locked():
            if self.stamp() == [place, content]:
                return
            uv = ensure_uv()
            if self.stamp()[:1] != [place]:
                say(f"Making {self.folder.name}")
                make = ("venv", "--clear", "--python", interpreter(), self.folder)
                run_tool(uv_environment(), uv, *make)
            self._stamp.unlink(missing_ok=True)
            say(f"Installing what {self.lock.relative_to(ROOT)} names")
            sync = (uv, "pip", "sync", "--python", self.python, "--require-hashes", self.lock)
            run_tool(uv_environment(), *sync)
            self._name_client()
            fresh = self._stamp.with_suffix(".new")
            fresh.write_text(f"{place}\n{content}\n")
            fresh.replace(self._stamp)

    def fingerprint(self) -> tuple[str, str]:
        """Give what it depends on: where and of what it is, and what it holds."""
        place = hashlib.sha256(f"{self.folder}\0{interpreter()}\0{sys.version}".encode())
        content = hashlib.sha256(self.lock.read_bytes() + b"\0" + self.source.read_bytes())
        return place.hexdigest(), content.hexdigest()

    def stamp(self) -> list[str]:
        """Give the fingerprint that it was made with; none while it is being made."""
        try:
            return self._stamp.read_text().split()
        except FileNotFoundError:
            return []

    def write_lock(self, options: Sequence[str]) -> None:
        """Write its lock file from the source: every system, with hashes, without addresses."""
        uv = ensure_uv()
        span = ("--universal", "--python-version", "3.11")
        form = ("--generate-hashes", "--no-header", "--no-annotate", "--output-file", self.lock)
        what: list[str | Path] = [self.source, *self.parts, *span, *form, *options]
        run_tool(uv_environment(), uv, "pip", "compile", *what)

    @property
    def _stamp(self) -> Path:
        return self.folder / "placet.stamp"

    def _name_client(self) -> None:
        """Put client/src on the path; relative, for a path file is read in the system's encoding"""
        major, minor = sys.version_info[:2]
        packages = self.folder / "lib" / f"python{major}.{minor}" / "site-packages"
        source = os.path.relpath(ROOT / "client" / "src", packages)
        (packages / "placet-client.pth").write_text(f"{source}\n")


MAIN = Venv(
    ROOT / ".venv",
    ROOT / "requirements.lock",
    ROOT / "pyproject.toml",
    ("--group", "test", "--group", "lint"),
)
ADAPTERS = Venv(
    ROOT / ".venv-adapters",
    ROOT / "client" / "adapters.lock",
    ROOT / "client" / "pyproject.toml",
    ("--all-extras", "--group", "client/pyproject.toml:conformance"),
)


def interpreter() -> str:
    """Give the interpreter that runs this file, out of any environment that it stands in."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def ensure_uv() -> Path:
    """Give the pinned installer, put into the private folder with pip when missing."""
    uv = TOOL / "bin" / "uv"
    if uv.exists() and (TOOL / "bin" / "python").exists():
        return uv
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        raise BootstrapError(
            "This Python cannot make environments: its modules venv and ensurepip are missing.\n"
            "On Debian and Ubuntu: apt-get install python3-venv"
        )
    say(f"Getting uv {UV_VERSION}")
    fresh = TOOL.with_name(f"{TOOL.name}.new")
    for folder in (fresh, TOOL):
        shutil.rmtree(folder, ignore_errors=True)
    run_tool(environment(), interpreter(), "-m", "venv", fresh)
    pip = (fresh / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install")
    run_tool(environment(), *pip, "--no-user", f"uv=={UV_VERSION}")
    fresh.rename(TOOL)
    return uv


def environment() -> dict[str, str]:
    """Give the environment without what would lead to another Python or another installer."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


def uv_environment() -> dict[str, str]:
    """Give the environment for uv: its own settings are ours, the index is pip's."""
    given = environment() | {
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_INDEX_STRATEGY": "unsafe-best-match",  # as pip does; the hashes decide
    }
    for name, value in pip_settings().items():
        if name in PIP_TO_UV:
            given[PIP_TO_UV[name]] = " ".join(value.split())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    if not os.access(cache if cache.exists() else cache.parent, os.W_OK):
        given["UV_CACHE_DIR"] = str(PRIVATE / "cache")
    return given


def pip_settings() -> dict[str, str]:
    """Give what pip is told: by its files, then, stronger, for `install`, then by variables."""
    listing = [str(TOOL / "bin" / "python"), "-m", "pip", "config", "list"]
    lines = subprocess.run(
        listing, env=environment(), capture_output=True, text=True, check=False
    ).stdout.splitlines()
    settings: dict[str, str] = {}
    for section in ("global.", "install.", ":env:."):
        for line in lines:
            if line.startswith(section) and "=" in line:
                name, value = line[len(section) :].split("=", 1)
                settings[name] = ast.literal_eval(value)
    return settings


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Hold the lock of this checkout's environment."""
    if not PRIVATE.exists():
        PRIVATE.mkdir(exist_ok=True)
        PRIVATE.chmod(0o755)  # the account that runs PostgreSQL for root passes through it
    with (PRIVATE / "bootstrap.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# The commands


def test(arguments: list[str]) -> int:
    """Run the tests: all but two kinds, those in a browser, and the adapters with frameworks.

    Those in a browser need an event loop beside Django, the adapters an environment of their own.
    `--database` runs only those that use PostgreSQL. Other arguments go to pytest in one run.
    """
    if arguments and arguments != ["--database"]:
        return test_some(arguments)
    spread = ["-n", str(min(4, os.cpu_count() or 1)), "--dist", "worksteal"]
    pytest = [str(MAIN.python), "-m", "pytest", *spread]
    code = child([*pytest, "--ignore", "tests/e2e", *arguments], testing())
    if arguments or was_interrupted():
        return code
    if any(map(shutil.which, CHROMIUM)):
        code = child([*pytest, "tests/e2e"], testing(in_browser=True)) or code
    else:
        say("The browser tests did not run: there is no Chromium (apt-get install chromium)")
        code = code or int(os.environ.get("CI") == "true")
    if was_interrupted():
        return code
    return test_adapters([]) or code


def test_some(arguments: list[str]) -> int:
    """Run what pytest's arguments name, where they belong."""
    if any(argument.startswith("client/conformance") for argument in arguments):
        return test_adapters(arguments)
    is_e2e = any(argument.startswith("tests/e2e") for argument in arguments)
    pytest = [str(MAIN.python), "-m", "pytest", *arguments]
    return child(pytest, testing(in_browser=is_e2e))


def test_adapters(arguments: list[str]) -> int:
    """Run the conformance kit: the adapters with their frameworks, against the server."""
    ADAPTERS.install()
    pytest = [str(ADAPTERS.python), "-m", "pytest", "-c", "client/pyproject.toml"]
    spread = ["-n", str(min(4, os.cpu_count() or 1)), "--dist", "worksteal"]
    return child([*pytest, *(arguments or [*spread, "client/conformance"])], testing())


def testing(*, in_browser: bool = False) -> dict[str, str]:
    """Give the environment of tests: they start a hundred processes, which compile things once.

    Those that hold a browser ask the database beside an event loop.
    """
    given = environment() | {"PYTHONPYCACHEPREFIX": str(PRIVATE / "bytecode")}
    given.pop("PYTHONDONTWRITEBYTECODE", None)
    return given | ({"DJANGO_ALLOW_ASYNC_UNSAFE": "1"} if in_browser else {})


def lint() -> int:
    """Run every check, also after one failed; the adapters' types where their frameworks are."""
    ADAPTERS.install()
    tools = MAIN.folder / "bin"
    checks = (
        [str(tools / "ruff"), "check"],
        [str(tools / "ruff"), "format", "--check"],
        [str(MAIN.python), "-m", "mypy"],
        [str(ADAPTERS.python), "-m", "mypy", "--config-file", "client/pyproject.toml"],
        [str(tools / "lint-imports")],
    )
    code = 0
    for check in checks:
        say(" ".join([Path(check[0]).name, *check[1:]]))
        code = child(check, environment()) or code
        if was_interrupted():
            break
    return code


# Processes


INTERRUPTED: list[int] = []


def was_interrupted() -> bool:
    """Whether a signal asked this file to stop."""
    return bool(INTERRUPTED)


def become(command: list[str]) -> NoReturn:
    """Turn this process into the command, which then gets every signal itself, once."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], command, environment())


def child(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a command in the checkout and give its exit code, 128 + n for signal n.

    Ctrl-C reaches the child from the terminal, so it is only noted here; a signal sent to this
    process alone is passed on.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    process = subprocess.Popen(command, cwd=ROOT, env=env)

    def note(number: int, _frame: FrameType | None) -> None:
        INTERRUPTED.append(number)
        if number != signal.SIGINT:
            process.send_signal(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def run_tool(env: Mapping[str, str], *command: str | Path) -> None:
    """Run a step of the installation; show what it said only when it failed."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BootstrapError(
            f"{done.stdout.rstrip()}\n\nThis step failed: {' '.join(words)}\n"
            "If the package index could not be reached, tell pip how: PIP_INDEX_URL, PIP_CERT,\n"
            "PIP_PROXY or a pip.conf. The same command can then simply be given again."
        )


def say(text: str) -> None:
    """Tell what happens, on standard error: standard output belongs to the command."""
    print(f"bootstrap: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BootstrapError as error:
        sys.exit(f"bootstrap: {error}")
    except PermissionError as error:
        sys.exit(f"bootstrap: {error.filename} cannot be written: {error.strerror}.")
    except KeyboardInterrupt:
        sys.exit(130)
