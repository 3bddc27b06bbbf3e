"""Pages in a real browser: Chromium without a window, and Jupyter's front ends to open in it."""

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-sync", "--disable-background-networking", "--disable-component-update"),
    *("--no-default-browser-check", "--disable-default-apps", "--disable-dev-shm-usage"),
]
# the module that serves a front end, and where it opens a notebook
FRONT_ENDS = {
    "lab": ("jupyterlab", "lab/tree/{}?reset"),
    "notebook": ("notebook", "notebooks/{}"),
    "classic": ("notebook", "notebooks/{}"),  # Notebook 6, which Colab's environment has
}
NEWS = "@jupyterlab/apputils-extension:announcements"
OPEN = 60  # seconds in which a server must answer
CLOSE = 15  # seconds in which it may end its kernels


@contextmanager
def chromium(**options: Any) -> Iterator[Any]:
    """A fresh browser: Playwright's context with a page, and its `options`, as `color_scheme`."""
    from playwright.sync_api import sync_playwright

    program = which("chromium") or which("chromium-browser")
    if program is None:
        raise FileNotFoundError("no Chromium here: `make browser` installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIET)
        try:
            context = browser.new_context(**options)
            context.new_page()
            yield context
        finally:
            browser.close()


@contextmanager
def jupyter(python: Path, front_end: str, folder: Path) -> Iterator[str]:
    """A front end that serves a folder: the address at which it opens a notebook, with `{}`."""
    module, place = FRONT_ENDS[front_end]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    part = "NotebookApp" if front_end == "classic" else "ServerApp"
    options = [
        *("--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"),
        *(f"--{part}.port_retries=0", f"--{part}.password=", f"--{part}.disable_check_xsrf=True"),
        "--NotebookApp.token=" if front_end == "classic" else "--IdentityProvider.token=",
    ]
    with tempfile.TemporaryDirectory(prefix="jupyter-") as own:
        private = {
            name: f"{own}/{name.lower()}"
            for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
        }
        # a question about news would cover the page, and look outside for it
        settings = Path(private["JUPYTER_CONFIG_DIR"], "labconfig/page_config.json")
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps({"disabledExtensions": {NEWS: True}}), encoding="utf-8")
        server = subprocess.Popen(
            [python, "-m", module, *options],
            cwd=folder,
            env=os.environ | private | {"IPYTHONDIR": f"{own}/ipython"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            base = f"http://127.0.0.1:{port}/"
            _wait_for(base + "api", server)
            yield base + place
        finally:
            server.terminate()
            try:
                server.wait(CLOSE)
            except subprocess.TimeoutExpired:  # seen on a busy machine
                server.kill()  # its kernels end when it is gone
                server.wait()


def _wait_for(address: str, server: subprocess.Popen) -> None:
    end = time.monotonic() + OPEN
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=OPEN).close()
            return
        except OSError:
            time.sleep(0.1)
    raise OSError(f"no server answers at {address}")
