"""What several tests ask of the checkout: its files, its wheel, its pinned versions."""

import shutil
import subprocess
import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from autograder.paths import ROOT


def files(*options: str) -> list[str]:
    """The paths that `git ls-files` lists; without options, those of the tracked files."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", *options]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return sorted(path for path in listed.split("\0") if path and (ROOT / path).exists())


def copy_of_checkout(folder: Path) -> Path:
    """The checkout as a commit of everything would hold it: no caches, no builds from before."""
    for path in files("--cached", "--others", "--exclude-standard"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, folder / path)
    return folder


def build_wheel(folder: Path, source: Path | None = None) -> Path:
    """The wheel of a source tree, or of the checkout, built in `folder`; asks no network."""
    source = source or copy_of_checkout(folder / "source")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    subprocess.run([*build, "--outdir", str(folder), str(source)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def pins(path: Path) -> dict[str, str]:
    """The exact versions in a requirements file, by the package's canonical name."""
    lines = path.read_text(encoding="utf-8").splitlines()
    required = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(r.name): str(r.specifier).removeprefix("==") for r in required}
