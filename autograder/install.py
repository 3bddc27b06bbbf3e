"""Install packages with uv, which takes a quarter of pip's time; with pip where uv cannot.

    python install.py ENVIRONMENT OPTIONS...    the options are those of `pip install`

It runs before anything is installed, so it imports the standard library alone.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

UV = "uv==0.13.9"
# pip's settings, and the variables by which uv is told the same
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "no-cache-dir": "UV_NO_CACHE",
}
SEPARATED = {"UV_FIND_LINKS": ","}  # all others by blanks
SECTIONS = ("global", "install", ":env:")  # the later one decides


def main(environment: str, options: list[str]) -> int:
    """Install with uv, or else with pip."""
    python = [str(Path(environment, "bin", "python")), "-m"]
    pip = [*python, "pip", "install"]
    if has_uv():
        uv = [sys.executable, "-m", "uv", "pip", "install", "--python", python[0], *options]
        if subprocess.run(uv, env=os.environ | settings()).returncode == 0:
            return 0
        print("uv could not install this: pip tries", file=sys.stderr)
    return subprocess.run([*pip, *options]).returncode


def has_uv() -> bool:
    """Whether there is a uv, which is installed beside this Python where it can be had."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", UV]
    done = subprocess.run(install, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print(f"without uv, which pip cannot install: {done.stderr.strip()}", file=sys.stderr)
    return done.returncode == 0


def settings() -> dict[str, str]:
    """What pip's files and variables say, as variables for uv; those of uv's own stay."""
    listed = [sys.executable, "-m", "pip", "config", "list"]
    said = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    # like pip, the best version of all indexes, not the first index that has one
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", **translated(said), **own()}


def own() -> dict[str, str]:
    """The variables of uv's that somebody has set."""
    return {name: value for name, value in os.environ.items() if name.startswith("UV_")}


def translated(said: str) -> dict[str, str]:
    """What `pip config list` says, as variables for uv."""
    found: dict[str, str] = {}
    for section in SECTIONS:
        for line in said.splitlines():
            name, _, value = line.partition("=")
            variable = SETTINGS.get(name.removeprefix(f"{section}."))
            if name.startswith(f"{section}.") and variable:
                words = ast.literal_eval(value).split()
                found[variable] = SEPARATED.get(variable, " ").join(words)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
