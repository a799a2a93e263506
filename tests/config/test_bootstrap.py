"""The first file that anybody runs: what it takes from its surroundings and what it gives back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import bootstrap

ROOT = Path(bootstrap.__file__).parent
LISTING = """\
:env:.default-timeout='180'
:env:.index-url='https://env.example/simple'
global.cert='/etc/ssl/own.pem'
global.extra-index-url='file:///one/simple\\nfile:///two/simple'
global.index-url='https://global.example/simple'
install.index-url='https://install.example/simple'
install.no-binary='x'
"""
PARENT = """
import bootstrap, sys
code = bootstrap.child([sys.executable, "-c", sys.argv[1]], bootstrap.environment())
print(code, bootstrap.was_interrupted())
"""
CHILD = """
import signal, sys, time
count = []
signal.signal(signal.SIGINT, lambda *_: count.append(1))
signal.signal(signal.SIGTERM, lambda *_: count.append(1))
print("ready", flush=True)
while not count:
    time.sleep(0.01)
time.sleep(0.3)
sys.exit(40 + len(count))
"""


def test_an_active_environment_and_foreign_settings_are_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "UV_INDEX_URL", "PYTHONPATH", "PYTHONHOME"):
        monkeypatch.setenv(name, "/foreign")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")

    given = bootstrap.environment()

    assert "/foreign" not in given.values()
    assert given["PIP_INDEX_URL"] == "https://index.example/simple"


def test_the_installer_is_told_what_pip_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pip = tmp_path / "bin" / "python"
    pip.parent.mkdir()
    pip.write_text(f"#!/bin/sh\ncat <<'END'\n{LISTING}END\n")
    pip.chmod(0o755)
    monkeypatch.setattr(bootstrap, "TOOL", tmp_path)
    monkeypatch.setattr(os, "environ", {"PATH": os.environ["PATH"], "HOME": str(tmp_path)})

    given = bootstrap.uv_environment()

    assert given == {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://env.example/simple",
        "UV_INDEX": "file:///one/simple file:///two/simple",
        "UV_HTTP_TIMEOUT": "180",
        "SSL_CERT_FILE": "/etc/ssl/own.pem",
    }


@pytest.mark.parametrize("changed", ["folder", "lock", "source"])
def test_the_environment_is_made_anew_when_what_it_depends_on_changes(
    tmp_path: Path, changed: str
) -> None:
    for name in ("requirements.lock", "pyproject.toml", "other"):
        (tmp_path / name).write_text(name)
    venv = bootstrap.Venv(
        tmp_path / ".venv", tmp_path / "requirements.lock", tmp_path / "pyproject.toml"
    )
    before = venv.fingerprint()
    assert venv.fingerprint() == before

    other = replace(venv, **{changed: tmp_path / "other"})

    assert other.fingerprint() != before


def test_an_older_python_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "MINIMUM", (4, 0))

    with pytest.raises(
        bootstrap.BootstrapError, match=r"Python 4\.0 or later is needed; this is 3\."
    ):
        bootstrap.main(["install"])


def test_a_missing_module_names_the_package_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bootstrap, "TOOL", tmp_path / "uv")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    with pytest.raises(bootstrap.BootstrapError, match="apt-get install python3-venv"):
        bootstrap.ensure_uv()


def test_a_failed_step_shows_what_it_said_and_what_to_do() -> None:
    with pytest.raises(bootstrap.BootstrapError) as stopped:
        bootstrap.run_tool(bootstrap.environment(), "sh", "-c", "echo no route >&2; exit 1")

    assert str(stopped.value).startswith("no route\n\nThis step failed: sh -c")
    assert "PIP_INDEX_URL" in str(stopped.value)


@pytest.mark.parametrize("words", [[], ["unknown"]])
def test_without_a_known_command_the_usage_is_shown(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert bootstrap.main(words) == 2
    assert "bootstrap.py serve [--host H] [--port P]" in capsys.readouterr().err


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("kill -9 $$", 137)])
def test_the_exit_code_is_the_childs(script: str, code: int) -> None:
    assert bootstrap.child(["sh", "-c", script], bootstrap.environment()) == code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_child_once_and_its_end_is_awaited(number: signal.Signals) -> None:
    """Ctrl-C goes to the whole group, as a terminal sends it; a plain kill to the parent alone."""
    command = [sys.executable, "-c", PARENT, CHILD]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        if number == signal.SIGINT:
            os.killpg(parent.pid, number)
        else:
            parent.send_signal(number)
        told = parent.stdout.readline()
        code = parent.wait(timeout=30)

    assert (told, code) == ("41 True\n", 0)


@pytest.mark.parametrize(
    ("has_chromium", "is_ci", "code"), [(True, True, 0), (False, False, 0), (False, True, 1)]
)
def test_tests_in_a_browser_and_of_the_adapters_run_by_themselves_and_ci_insists_on_a_browser(
    monkeypatch: pytest.MonkeyPatch, has_chromium: bool, is_ci: bool, code: int
) -> None:
    runs: list[tuple[str, str, bool]] = []

    def child(command: list[str], env: dict[str, str]) -> int:
        venv = Path(command[0]).parents[1].name
        runs.append((venv, command[-1], "DJANGO_ALLOW_ASYNC_UNSAFE" in env))
        return 0

    monkeypatch.setattr(bootstrap, "child", child)
    monkeypatch.setattr(bootstrap.Venv, "install", lambda _venv: None)
    monkeypatch.setattr(bootstrap, "CHROMIUM", ("sh",) if has_chromium else ("no-such-browser",))
    monkeypatch.setenv("CI", "true" if is_ci else "")
    monkeypatch.delenv("DJANGO_ALLOW_ASYNC_UNSAFE", raising=False)

    assert bootstrap.test([]) == code
    in_browser = [(".venv", "tests/e2e", True)] if has_chromium else []
    assert runs == [
        (".venv", "tests/e2e", False),  # left out
        *in_browser,
        (".venv-adapters", "client/conformance", False),
    ]


@pytest.mark.parametrize(
    ("path", "venv", "is_unsafe"),
    [
        ("tests/runs", ".venv", False),
        ("tests/e2e/test_pages.py", ".venv", True),
        ("client/conformance/test_situations.py", ".venv-adapters", False),
    ],
)
def test_some_tests_run_where_they_belong(
    monkeypatch: pytest.MonkeyPatch, path: str, venv: str, is_unsafe: bool
) -> None:
    runs: list[tuple[str, bool]] = []
    monkeypatch.setattr(bootstrap.Venv, "install", lambda _venv: None)
    monkeypatch.setattr(
        bootstrap,
        "child",
        lambda command, env: runs.append(
            (Path(command[0]).parents[1].name, "DJANGO_ALLOW_ASYNC_UNSAFE" in env)
        ),
    )
    monkeypatch.delenv("DJANGO_ALLOW_ASYNC_UNSAFE", raising=False)

    bootstrap.test([path, "-x"])

    assert runs == [(venv, is_unsafe)]


def test_two_starts_at_once_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bootstrap, "PRIVATE", tmp_path)
    script = (
        "import bootstrap, pathlib, sys\n"
        f"bootstrap.PRIVATE = pathlib.Path({str(tmp_path)!r})\n"
        'with bootstrap.locked():\n    print("mine", flush=True)\n'
    )
    with bootstrap.locked():
        waiting = subprocess.Popen(
            [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        time.sleep(0.3)
        still_waits = waiting.poll() is None
    told, _ = waiting.communicate(timeout=30)

    assert (still_waits, told) == (True, "mine\n")
