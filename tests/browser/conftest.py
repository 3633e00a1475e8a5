"""One Chromium for the tests of this folder, which are skipped without it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from devtools import Browser, Page, executable


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if executable() is None:
        pytest.skip("no Chromium here: `apt-get install chromium` runs these tests")
    found = Browser()
    yield found
    found.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab; what it asked others for, or complained of, fails the test."""
    with browser.page() as tab:
        tab.look(320)  # small pictures are soon evaluated
        yield tab
        assert tab.asked == [] and tab.errors == []
