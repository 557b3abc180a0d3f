"""A report in a real browser: nothing fails, every picture is there, and a telephone needs no sideways scrolling.

Run by `make test-browser`; it needs Chromium and nothing else.
"""

import html
import json
import re
import shutil
import subprocess

import pytest

from tests.test_report import AGENTS, FEWEST, MORE, keep, learn, played, write

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--virtual-time-budget=4000"),
    *("--enable-logging=stderr", "--window-size=1200,900"),
)
# A browser's window cannot be made as narrow as a telephone, a frame can: the page measures itself in one.
FRAME = """<!doctype html><meta charset="utf-8"><body style="margin:0">
<iframe style="border:0;width:{width}px;height:800px" srcdoc="{page}"></iframe><pre id="found"></pre>
<script>
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {{
  const page = frame.contentDocument, root = page.documentElement;
  page.querySelectorAll("details").forEach(part => part.open = {opened});
  const small = [...page.querySelectorAll("p, li, td, th, dd, figcaption, summary, code")].map(
    part => parseFloat(frame.contentWindow.getComputedStyle(part).fontSize));
  const told = {{
    width: frame.contentWindow.innerWidth,
    scroll: root.scrollWidth,
    images: [...page.images].map(image => image.naturalWidth),
    shown: [...page.images].map(image => image.getBoundingClientRect().width),
    smallest: Math.min(...small),
    rows: [...page.querySelectorAll("[aria-label='rating ladder'] tbody tr")].map(row => row.cells[0].textContent),
    paper: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
  }};
  document.getElementById("found").textContent = JSON.stringify(told);
}});
</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The report of two tables and a run of learning, with a long name among the agents and of the run."""
    folder = tmp_path_factory.mktemp("runs")
    agents = ("greedy", "random", "greedy:epsilon=0.123456789012345678901234567890")
    rows = [*played(FEWEST, 2, agents), *played(MORE, 2)]
    config = {"kind": "tournament", "name": "a" * 60, "learning": [str(learn(folder / "learner"))]}
    return write(keep(folder / "small", rows, config))


def opened(tmp_path, text, *flags):
    """What a browser makes of a page, and what it complains of."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    assert browser, f"a browser is needed, one of {', '.join(BROWSERS)}"
    file = tmp_path / "page.html"
    file.write_text(text, encoding="utf-8")
    command = [browser, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *flags, "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def measured(tmp_path, page, width, unfold=False, *flags):
    frame = FRAME.format(width=width, page=html.escape(page), opened=json.dumps(unfold))
    dom, complaints = opened(tmp_path, frame, *flags)
    assert not complaints
    return json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))


def test_a_page_opens_without_a_complaint_and_shows_the_ladder(page, tmp_path):
    dom, complaints = opened(tmp_path, page)
    assert not complaints
    assert dom.count('aria-label="rating ladder"') == 3 and all(agent in dom for agent in AGENTS)


def test_a_complaint_of_a_page_would_be_seen(tmp_path):
    _, complaints = opened(tmp_path, "<!doctype html><script>nothing.at.all</script>")
    assert len(complaints) == 1


@pytest.mark.parametrize("unfold", [False, True])
@pytest.mark.parametrize("width", [360, 390, 768, 1200])
def test_a_page_never_scrolls_sideways_and_shows_every_picture(page, tmp_path, width, unfold):
    found = measured(tmp_path, page, width, unfold)
    assert found["width"] == width and found["scroll"] <= width
    assert len(found["images"]) > 10 and min(found["images"]) > 0
    assert max(found["shown"]) <= width and found["smallest"] >= 11.5
    assert {row.strip() for row in found["rows"]} > set(AGENTS)


def test_a_page_that_is_too_wide_would_be_seen(page, tmp_path):
    wide = page.replace("</main>", '<div style="width:500px">wide</div></main>')
    assert measured(tmp_path, wide, 360)["scroll"] > 360


def test_a_page_is_dark_where_the_reader_wants_it_dark(page, tmp_path):
    light = measured(tmp_path, page, 360)["paper"]
    dark = measured(tmp_path, page, 360, False, "--blink-settings=preferredColorScheme=0")["paper"]
    brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (light, dark)]
    assert brightness[0] > 700 and brightness[1] < 100
