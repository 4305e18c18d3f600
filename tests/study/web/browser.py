"""A real browser without a screen: Debian's Chromium, with nothing of its own on the network."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
waiting = pytest.importorskip("selenium.webdriver.support.ui", reason="needs selenium")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
ALONE = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Browser:
    """One page, opened from a file."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, *, width: int = 1280, dark: bool = False, media: str = "screen") -> None:
        """Load a page; `width` is in pixels of a page that has not been zoomed."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": scheme})
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get("about:blank")  # the same page again could else be found half gone
        self.logged()  # what came before is not of this page
        self.requests()
        self.driver.get(page.as_uri())
        self.wait("return document.readyState === 'complete'")

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *arguments)

    def unfold(self) -> None:
        """Open whatever is folded away."""
        self.run("for (const each of document.querySelectorAll('details')) each.open = true")

    def all(self, selector: str) -> list[Any]:
        """All elements of a selector."""
        return list(self.driver.find_elements("css selector", selector))

    def logged(self) -> list[str]:
        """What stands in the console since last asked."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that were asked for since last asked, less what the browser has in itself."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [
            each["params"]["request"]["url"]
            for each in events
            if each["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith(("chrome", "data:"))]

    def wait(self, script: str) -> None:
        """Wait until a script returns something true; an error after five seconds."""
        waiting.WebDriverWait(self.driver, 5).until(lambda driver: driver.execute_script(script))


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start Chromium with an empty profile; skips the test where there is none."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*ALONE, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        driver.get("about:blank")  # ends what the start page still asks for
        yield Browser(driver)
    finally:
        driver.quit()
