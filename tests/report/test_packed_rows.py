"""Reports of many rows: what opens in a row is packed, and opens and is found as before."""

from __future__ import annotations

import re

import pytest
from markupsafe import Markup

from ragassay.report import write_html
from ragassay.report.html import MOST_WHOLE
from ragassay.report.packed_rows import BLOCK, PackedRows, unpacked
from report.test_report_html import XSS

ROWS = 2 * BLOCK + 5
KB = 1024


@pytest.fixture
def many(make, save, store, tmp_path):
    """A report of rows over three blocks; in the last one a context names a zebra."""
    rows = []
    for n in range(ROWS):
        animal = "zebra" if n == ROWS - 1 else "horse"
        context = f"Context of row {n}: the {animal} runs {n} miles."
        rows.append(make.row(n, contexts=(context,), sentences=(("It runs.", 3 if n % 2 else 0),)))
    write_html(store, save(rows, "many"), tmp_path / "many.html")
    return tmp_path / "many.html"


def opened(visit, page, **options):
    tab = visit(page, **options)
    tab.locator("body[data-ready]").wait_for()
    return tab


def test_rows_are_packed_in_blocks_and_unpacked_in_order():
    rows = PackedRows()
    elements = [str(rows.add(Markup("<p>{} é \u2028</p>").format(n))) for n in range(BLOCK + 1)] + [
        str(rows.rest())
    ]
    whole = [element for element in elements if element]
    texts = re.findall("<template class=z>(.*?)</template>", "".join(whole))
    assert [len(unpacked(text)) for text in texts] == [BLOCK, 1]
    assert unpacked(texts[1]) == [f"<p>{BLOCK} é \u2028</p>"]
    assert str(rows.rest()) == ""


def test_a_packed_row_opens_with_its_claims_and_evidence(many, visit):
    tab = opened(visit, many)
    assert "zebra" not in many.read_text(encoding="utf-8")
    row = tab.locator("details.row").nth(BLOCK + 3)
    row.locator("summary").click()
    assert "Context of row" in row.locator("section div").inner_text()
    link = row.locator("a.k").first
    place = link.get_attribute("href")
    link.click()
    assert tab.locator(place).is_visible()
    assert tab.seen == []


def test_what_is_packed_is_found_reached_by_keys_and_by_a_link_from_outside(many, visit):
    tab = opened(visit, many)
    tab.locator("#find").fill("zebra")
    tab.locator("#count:has-text('1 row')").wait_for()
    (row,) = [each for each in tab.locator("details.row").all() if each.is_visible()]
    tab.locator("#find").fill("")
    tab.locator(f"#count:has-text('{ROWS} rows')").wait_for()
    tab.locator("h1").click()
    tab.keyboard.press("j")
    assert "runs" in tab.locator("details.row[open] section div").inner_text()

    anchor = row.get_attribute("id")
    tab.goto(f"{many.as_uri()}#{anchor}c1")
    tab.reload()
    tab.locator("body[data-ready]").wait_for()
    assert tab.locator(f"#{anchor}c1").is_visible()


def test_an_unpacked_row_fits_a_window_of_400_pixels(many, visit):
    tab = opened(visit, many, viewport={"width": 400, "height": 800})
    tab.locator("details.row").first.locator("summary").click()
    assert tab.locator("details.row section").first.is_visible()
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400


def test_without_the_script_a_packed_row_shows_its_response_and_where_the_rest_is(many, visit):
    tab = visit(many, java_script_enabled=False)
    row = tab.locator("details.row").first
    row.locator("summary").click()
    assert "It runs." in row.locator(".body").inner_text()
    assert "ragassay show" in tab.locator("#rows ~ p.note").first.inner_text()


@pytest.mark.slow
def test_hostile_texts_that_were_packed_stay_texts(make, save, store, tmp_path, visit):
    rows = [
        make.row(
            2 * i + twice,
            question=text,
            contexts=(text, "</template><script>alert(1)</script>"),
            chunks=(3, 0),
            sentences=((text, 0), ("fine", 3)),
            quote=text,
        )
        for i, text in enumerate(XSS)
        for twice in (0, 1)
    ]
    assert len(rows) > MOST_WHOLE
    write_html(store, save(rows), tmp_path / "hostile.html")
    tab = opened(visit, tmp_path / "hostile.html")
    for row in tab.locator("details.row").all():
        row.locator("summary").click()
    assert "</template><script>" in tab.locator("details.row section div").nth(1).inner_text()
    assert tab.locator("script").count() == 1
    assert tab.locator("iframe, img, link, base, form, main style, body meta").count() == 0
    assert tab.seen == []


@pytest.mark.slow
def test_a_row_takes_at_most_2_kb_with_its_own_texts(make, save, store, tmp_path):
    sentences = tuple((f"Sentence {i} of the response says something.", 3) for i in range(4))
    rows = [
        make.row(
            n,
            sentences=sentences,
            contexts=tuple(
                f"Context {i} of row {n}. " + "It says something. " * 20 for i in range(4)
            ),
            chunks=(3, 1, 0, 2),
        )
        for n in range(200)
    ]
    write_html(store, save(rows, "many"), tmp_path / "many.html")
    write_html(store, save([], "none", total=0), tmp_path / "none.html")
    sizes = [(tmp_path / name).stat().st_size for name in ("many.html", "none.html")]
    assert (sizes[0] - sizes[1]) / 200 <= 2 * KB
