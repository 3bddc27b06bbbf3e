"""What the tests in a browser say of a live view on any page."""

import re
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from transformer_course.widgets.view import source

VIEW = ".course-view"
# what can have the focus
CONTROLS = f"{VIEW} :is(input, select, button, summary, a, [tabindex]):visible"


def rest() -> int:
    """Milliseconds without a movement, after which the kernel is told."""
    found = re.search(r"const REST = (\d+)", source("attention"))
    assert found, "view.js says how long a rest is"
    return int(found[1])


def assert_accessible(page: Any, part: str) -> None:
    """Axe finds nothing to complain about in a part of the page."""
    found = Axe().run(page, context=part)
    assert found.response["passes"], "axe looked at something"
    assert found.violations_count == 0, found.generate_report()
