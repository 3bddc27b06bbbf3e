"""Headless Chromium, and Jupyter front ends to open in it."""

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
# front end -> its module, and its path to a notebook
FRONT_ENDS = {
    "lab": ("jupyterlab", "lab/tree/{}?reset"),
    "notebook": ("notebook", "notebooks/{}"),
    "classic": ("notebook", "notebooks/{}"),  # Notebook 6, as in Colab's environment
}
NEWS = "@jupyterlab/apputils-extension:announcements"
START_TIMEOUT = 60  # seconds
STOP_TIMEOUT = 15  # seconds, in which the server stops its kernels


@contextmanager
def chromium(**options: Any) -> Iterator[Any]:
    """Yield a fresh browser context with a page; `options` are Playwright's."""
    from playwright.sync_api import sync_playwright

    program = which("chromium") or which("chromium-browser")
    if program is None:
        raise FileNotFoundError("no Chromium found: `make browser` installs it")
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
    """Serve a folder by a front end; yield the address of a notebook, with `{}` for its name."""
    module, path = FRONT_ENDS[front_end]
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
        # the prompt for announcements would cover the page and use the network
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
            yield base + path
        finally:
            server.terminate()
            try:
                server.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:  # happens on a busy machine
                server.kill()  # its kernels exit without it
                server.wait()


def _wait_for(address: str, server: subprocess.Popen) -> None:
    end = time.monotonic() + START_TIMEOUT
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=START_TIMEOUT).close()
            return
        except OSError:
            time.sleep(0.1)
    raise OSError(f"no server answers at {address}")
