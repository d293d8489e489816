"""The table of certificates in the documentation: what the certificates of the package say."""

from __future__ import annotations

import re
from pathlib import Path

from ragassay.core import Figure
from ragassay.runs.trust import packaged

PAGE = Path(__file__).parents[2] / "docs" / "certificates.md"
ROW = re.compile(
    r"^\| (?P<metric>\w*) *\| (?P<set>[^|]+) \| (?P<labels>[\d,]+) \| (?P<kappa>[^|]+) \|"
    r" (?P<balanced>[^|]+) \|$"
)


def _words(figure: Figure | None) -> str:
    assert figure is not None
    assert figure.value is not None
    reach = (
        f" [{figure.interval.low:.2f}, {figure.interval.high:.2f}]"
        if figure.interval is not None
        else ""
    )
    return f"{figure.value:.2f}{reach}"


def test_each_line_of_the_page_is_the_packaged_certificate_of_that_set() -> None:
    lines = [
        found
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if (found := ROW.match(line))
    ]
    own = {(c.metric, c.dataset): c for c in packaged()}
    metric, seen = "", set()
    for line in lines:
        metric = line["metric"] or metric
        name = re.sub(r"[°†]| \(.*\)", "", line["set"]).strip()
        certificate = own[(metric, name.partition(",")[0])]
        figures = certificate.macro if name.endswith("mean over the sets") else certificate.pooled
        assert line["labels"] == f"{certificate.n:,}", name
        assert line["kappa"] == _words(next(f for f in figures if f.name == "kappa")), name
        assert line["balanced"] == _words(
            next(f for f in figures if f.name == "balanced_accuracy")
        ), name
        seen.add((metric, certificate.dataset))
    single = {key for key in own if not key[1].startswith("all 2 ")}
    assert seen == single
