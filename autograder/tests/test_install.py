"""Packages come by uv from where pip would take them, and by pip where uv cannot be had."""

import subprocess
import sys
from pathlib import Path

import pytest

from autograder import install

SAID = """\
:env:.find-links='/wheels /more wheels'
global.cert='/etc/certificates.crt'
global.extra-index-url='\\nhttps://one.test/simple\\nhttps://two.test/simple'
global.find-links='/others'
global.index-url='https://all.test/simple'
install.index-url='https://own.test/simple'
list.index-url='https://list.test/simple'
"""


def test_uv_is_told_what_pip_is_told():
    assert install.translated(SAID) == {
        "UV_FIND_LINKS": "/wheels,/more,wheels",
        "SSL_CERT_FILE": "/etc/certificates.crt",
        "UV_INDEX": "https://one.test/simple https://two.test/simple",
        "UV_DEFAULT_INDEX": "https://own.test/simple",
    }


def test_what_is_said_to_uv_itself_stays(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://pip.test/simple")
    assert install.settings()["UV_DEFAULT_INDEX"] == "https://pip.test/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://uv.test/simple")
    assert install.settings()["UV_DEFAULT_INDEX"] == "https://uv.test/simple"


@pytest.mark.parametrize(
    ("fails", "tools"),
    [((), ["pip", "uv"]), (("pip",), ["pip", "pip"]), (("uv",), ["pip", "uv", "pip"])],
    ids=["uv", "no uv", "uv fails"],
)
def test_pip_installs_what_uv_cannot(monkeypatch, fails, tools):
    ran: list[str] = []
    monkeypatch.setattr(install, "settings", dict)

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(command[2])
        fail = command[2] in fails and (command[2] == "uv" or install.UV in command)
        return subprocess.CompletedProcess(command, int(fail), "", "no wheel")

    monkeypatch.setattr(subprocess, "run", run)
    assert install.main(sys.prefix, ["-e", "."]) == 0
    assert ran == tools


def test_it_imports_the_standard_library_alone():
    source = Path(install.__file__).read_text(encoding="utf-8")
    imported = [line.split()[1] for line in source.splitlines() if line.startswith("import ")]
    assert set(imported) <= sys.stdlib_module_names
