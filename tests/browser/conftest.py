"""A real JupyterLab and a real browser: nothing between the test and what a learner sees."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# the browser talks to the machine it runs on and to nobody else
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_browser():
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="module")
def browser():
    """Start the system's Chromium; without one, skip, but fail in CI, which has to install it."""
    path = find_browser()
    if path is None:
        message = f"no browser found (looked for {', '.join(BROWSERS)}): sudo apt-get install chromium"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser, tmp_path):
    """Open a page; what it showed last is kept as a picture beside the test's other files."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    yield page
    page.screenshot(path=tmp_path / "last.png")
    context.close()


@pytest.fixture
def lab(tmp_path):
    """Start JupyterLab over a folder and return a function that gives the address of a notebook in it."""
    with contextlib.ExitStack() as cleanup:

        def serve(folder):
            port = _free_port()
            home = tmp_path / "jupyter"
            own = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
            environment = {**os.environ, **{name: str(home / part) for name, part in own.items()}}
            log = cleanup.enter_context((tmp_path / "lab.log").open("w+"))
            # fmt: off
            server = subprocess.Popen(
                [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
                 f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=",
                 f"--ServerApp.root_dir={folder}", "--LabApp.news_url=None", "--LabApp.check_for_updates_class="
                 "jupyterlab.NeverCheckForUpdate", f"--LabApp.workspaces_dir={home / 'workspaces'}",
                 f"--LabApp.user_settings_dir={home / 'settings'}"],
                stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=folder,
            )
            # fmt: on
            cleanup.callback(_stop, server)
            address = f"http://127.0.0.1:{port}"
            _wait_for(f"{address}/api/status", server, Path(log.name))
            return lambda notebook: f"{address}/lab/tree/{notebook}?reset"

        yield serve


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(address, server, log, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-4000:]}")


def _stop(server):
    server.terminate()
    try:
        server.wait(15)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
