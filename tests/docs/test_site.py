"""The documentation as a site: every page is there, for people and for programs, no link is dead,
nothing is asked of the network, and it can be read without a script, on a phone and by everybody.
"""

from __future__ import annotations

import importlib.util
import posixpath
import re
import time
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from playwright.sync_api import Browser

from docs_site.build import build
from docs_site.tree import Tree
from ragassay.core.error_catalogue import error_catalogue
from ragassay.judges import RubricRegistry
from ragassay.metrics import catalogue
from ragassay.models.connect import all_providers
from support.browsing import chromium

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("zensical") is None, reason="zensical is not installed"
)
_LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "object": "data",
    "embed": "src",
}


class Page(HTMLParser):
    """What a page links to, what it loads, which anchors it has, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and found.get("rel") not in ("canonical", "prev", "next", "alternate"):
            self.loads.append(found.get("href", ""))
        if tag in _LOADED and found.get(_LOADED[tag]):
            self.loads.append(found[_LOADED[tag]])


class Site:
    """A built site."""

    def __init__(self, folder: Path, tree: Tree, seconds: float) -> None:
        self.folder = folder
        self.tree = tree
        self.seconds = seconds
        self.pages: dict[str, Page] = {}
        for path in sorted(folder.rglob("*.html")):
            name = path.relative_to(folder).as_posix()
            self.pages[name] = Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site") / "out"
    start = time.perf_counter()
    tree = build(folder)
    return Site(folder, tree, time.perf_counter() - start)


def test_there_is_a_page_for_each_metric_judge_rubric_and_error(site: Site) -> None:
    names = [f"metrics/{name}" for name in catalogue()]
    names += [f"errors/{code}" for code in error_catalogue()]
    names += [f"rubrics/{rubric}" for rubric in RubricRegistry.default().ids()]
    names += [f"judges/{provider.scheme}" for provider in all_providers()]
    names += ["judges/offline", "judges/local"]
    assert [name for name in names if f"{name}.html" not in site.pages] == []


def test_every_page_of_the_documentation_is_in_one_of_the_four_parts(site: Site) -> None:
    assert list(site.tree.parts) == ["Learning", "Doing", "Looking up", "Understanding"]
    placed = [path for paths in site.tree.parts.values() for path in paths]
    assert len(placed) == len(set(placed))
    own = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert own <= set(placed)


def test_no_link_is_dead(site: Site) -> None:
    dead = []
    for name, page in site.pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("mailto:"):
                continue
            target = name
            if parts.path:
                target = posixpath.normpath(
                    posixpath.join(posixpath.dirname(name), unquote(parts.path))
                )
            if target == "." or (site.folder / target).is_dir():
                target = posixpath.normpath(f"{target}/index.html")
            if not (site.folder / target).is_file():
                dead.append(f"{name}: {link}")
            elif parts.fragment and target in site.pages:
                anchors = site.pages[target].anchors
                if unquote(parts.fragment) not in anchors and not parts.fragment.startswith("__"):
                    dead.append(f"{name}: {link}")
    assert dead == []


def test_nothing_is_loaded_from_anywhere_else(site: Site) -> None:
    for name, page in site.pages.items():
        for link in page.loads:
            assert not urlsplit(link).netloc, (name, link)
    for style in site.folder.rglob("*.css"):
        for url in re.findall(r"url\(([^)]*)\)", style.read_text(encoding="utf-8")):
            assert url.strip("'\"").startswith(("data:", "#", ".", "var(")), (style.name, url[:80])


def test_each_page_has_its_markdown_beside_it_and_stands_in_the_list_for_programs(
    site: Site,
) -> None:
    listed = set(re.findall(r"\]\(([^)]+)\)", (site.folder / "llms.txt").read_text("utf-8")))
    for name in site.pages:
        twin = name.removesuffix(".html") + ".md"
        assert (site.folder / twin).is_file(), twin
        assert twin in listed or twin == "index.md", twin
    full = (site.folder / "llms-full.txt").read_text(encoding="utf-8")
    for path in (ROOT / "docs").glob("*.md"):
        title = path.read_text(encoding="utf-8").splitlines()[0]
        assert title in full or path.name == "index.md"


def test_a_reader_who_knows_ragas_finds_each_of_its_metrics_in_two_clicks(site: Site) -> None:
    # The first click: the home page names the page for them.
    assert any(link.startswith("coming-from.html") for link in site.pages["index.html"].links)
    # The second: the line with the name leads to what it is called here, or to what to do instead.
    html = (site.folder / "coming-from.html").read_text(encoding="utf-8")
    lines: dict[str, list[str]] = {}
    for line in re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL):
        cells = re.findall(r"<td>(.*?)</td>", line, re.DOTALL)
        for name in re.findall(r"\w+", unescape(re.sub("<[^>]*>", " ", "".join(cells[:1])))):
            lines.setdefault(name, cells)
    known = yaml.safe_load((ROOT / "tests/docs/ragas_metrics.yaml").read_text(encoding="utf-8"))
    assert [name for name in known if name not in lines] == []
    for name in known:
        _, here, how = lines[name]
        targets = re.findall(r'href="([^"#]+)', here)
        if "not here" in here:
            targets = re.findall(r'href="([^"#]+)', how)
            assert targets or "measured here" in how or "compare" in how, name
        else:
            assert targets, name
        assert all((site.folder / target).is_file() for target in targets), name


def test_one_page_leads_to_every_other_one_where_the_search_needs_a_script(site: Site) -> None:
    leads = {posixpath.normpath(link) for link in site.pages["all-pages.html"].links}
    left = site.pages.keys() - leads - {"index.html", "all-pages.html"}
    assert left == set()
    for name in site.pages:
        html = (site.folder / name).read_text(encoding="utf-8")
        link = f'href="{"../" * name.count("/")}all-pages.html">All pages</a></noscript>'
        assert link in html, name


def test_the_search_knows_every_page(site: Site) -> None:
    index = (site.folder / "search.json").read_text(encoding="utf-8")
    for name in ("metrics/groundedness", "errors/E1409", "judges/groq", "http-api", "quickstart"):
        assert f"{name}.html" in index


@pytest.mark.timing
def test_it_is_built_within_thirty_seconds(site: Site) -> None:
    assert site.seconds < 30


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_two_builds_are_the_same_bytes(site: Site, tmp_path: Path) -> None:
    build(tmp_path / "again")
    first = {p.relative_to(site.folder): p.read_bytes() for p in _files(site.folder)}
    second = {p.relative_to(tmp_path / "again"): p.read_bytes() for p in _files(tmp_path / "again")}
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


SHOWN = ("index.html", "http-api.html")
MORE = (
    "all-pages.html",
    "metrics.html",
    "metrics/groundedness.html",
    "judges/offline.html",
    "judges/openai.html",
    "rubrics/groundedness.html",
    "errors.html",
    "errors/E0301.html",
    "options.html",
    "coming-from.html",
    "certificates.html",
    "quickstart.html",
    "changelog.html",
    "decisions/0027-http-api.html",
    "project/benchmarks/results/offline_judge.html",
)
"""A page of every kind: lists, a metric, a judge, a rubric, an error, long tables, code."""


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (320, SHOWN),
        *(pytest.param(width, MORE, marks=pytest.mark.soak) for width in (320, 768, 1280, 3840)),
    ],
)
def test_a_page_fits_from_a_phone_to_a_large_screen_without_a_script(
    width: int, shown: tuple[str, ...], site: Site, browser: Browser
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, java_script_enabled=False, offline=True
    )
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in shown:
        page.goto((site.folder / name).as_uri())
        assert page.locator("h1").first.is_visible()
        assert page.locator("article").inner_text().strip()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        # What needs a script is not offered; the list of all pages is, in its place.
        assert not page.locator(".md-search").is_visible(), name
        assert page.locator("a.all-pages").is_visible(), name
        # Its links are links, and lead on without a script.
        assert page.locator("a[href$='.html']").count() > 5
    assert [url for url in asked if not url.startswith("file:")] == []
    context.close()


@pytest.mark.parametrize(
    ("scheme", "width", "shown"),
    [
        ("light", 1280, SHOWN),
        *(
            pytest.param(scheme, width, (*SHOWN, *MORE), marks=pytest.mark.soak)
            for scheme in ("light", "dark")
            for width in (320, 1280, 3840)
        ),
    ],
)
def test_axe_finds_nothing(
    scheme: Any, width: int, shown: tuple[str, ...], site: Site, browser: Browser
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    for name in shown:
        page.goto((site.folder / name).as_uri())
        page.wait_for_timeout(200)
        found = Axe().run(page).response["violations"]
        told = [(each["id"], each["nodes"][0]["html"][:200]) for each in found]
        assert told == [], name
    context.close()
