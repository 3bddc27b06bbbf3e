"""An environment like Colab's, which gets the kit.

`make test` makes the environment below from colab.txt. Each run puts a throw-away one on top,
which gets the kit, so that what is below stays as Colab has it.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from autograder.paths import ROOT
from autograder.tests.support.checkout import build_wheel

BELOW = ROOT / ".venv-colab"


@dataclass(frozen=True)
class Colab:
    """The environment on top, and what `pip freeze` said before and after the kit came."""

    python: Path
    before: set[str]
    after: set[str]


def kit_on_colab(top: Path, built: Path) -> Colab:
    """Make the throw-away environment in `top`; the kit's wheel is built in `built`."""
    python = like_colab(top)
    before = freeze(python)
    run(python, "-m", "pip", "install", build_wheel(built))
    return Colab(python, before, freeze(python))


def like_colab(top: Path) -> Path:
    """Make a throw-away environment without the kit; return its Python."""
    assert (BELOW / ".all").exists(), f"`make {BELOW.name}/.all` makes the environment below"
    run(BELOW / "bin/python", "-m", "venv", "--without-pip", top)
    (packages_of(top) / "below.pth").write_text(f"{packages_of(BELOW)}\n", encoding="utf-8")
    for folder in ("etc", "share"):  # Jupyter finds its kernels and extensions there
        (top / folder).symlink_to(BELOW / folder)
    return top / "bin/python"


def packages_of(environment: Path) -> Path:
    (folder,) = environment.glob("lib/python*/site-packages")
    return folder


def freeze(python: Path) -> set[str]:
    return set(run(python, "-m", "pip", "freeze", "--all").splitlines())


def run(
    *command: str | Path, folder: Path | None = None, variables: dict[str, str] | None = None
) -> str:
    """What a command prints, which is shown too if the test fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=variables)
    print(done.stdout)
    done.check_returncode()
    return done.stdout
