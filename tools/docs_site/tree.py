"""The Markdown of the site: the pages of docs/, what they link to, and the pages made from code."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import yaml

from docs_site.made import error_pages, judge_pages, metric_pages
from ragassay.metrics import catalogue

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_PARTS = Path(__file__).with_name("parts.yaml")
_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
_LINE = re.compile(
    r"^- \[(?P<title>[^\]]+)\]\((?P<name>[\w-]+)\.md\): (?P<words>.*)$", re.MULTILINE
)
ALL_PAGES = "all-pages.md"
MADE = {
    "Each metric": "metrics/",
    "Each judge": "judges/",
    "Each rubric": "rubrics/",
    "Each error": "errors/",
}
"""Title -> the folder of the pages that are made from the code."""
_ANCHOR = re.compile(r"metrics\.md#(\w+)$")


class Tree:
    """The pages by path, and the files that are copied as they are.

    pages: path in the site -> Markdown. files: path in the site -> the file. parts: title of a part
    -> its pages' paths in order.
    """

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.files: dict[str, Path] = {}
        for path in sorted(DOCS.glob("*.md")):
            self.pages[path.name] = path.read_text(encoding="utf-8")
        for path in sorted((DOCS / "decisions").glob("*.md")):
            name = "index.md" if path.name == "README.md" else path.name
            self.pages[f"decisions/{name}"] = path.read_text(encoding="utf-8")
        self.pages["changelog.md"] = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        for folder in ("data", "images", "http-api"):
            for path in sorted((DOCS / folder).glob("*")):
                self.files[f"{folder}/{path.name}"] = path
        self.parts = _parts(self.pages)
        made = {**metric_pages(), **judge_pages(), **error_pages()}
        self.pages |= made
        self._link_made_pages(made)
        self.pages["index.md"] = self._home(self.pages["index.md"])
        for name in list(self.pages):
            self.pages[name] = self._with_files(name)
        self.pages[ALL_PAGES] = self._list_of_all(made)
        self.parts["Looking up"].append(ALL_PAGES)

    def title(self, path: str) -> str:
        """The first heading of a page."""
        for line in self.pages[path].splitlines():
            if line.startswith("# "):
                return line[2:].strip()
        return path

    def _link_made_pages(self, made: dict[str, str]) -> None:
        """Lead from the overviews to the pages of their own: of metrics, error codes and judges."""
        kept = self.pages["metrics.md"]
        for name in catalogue():
            start = kept.find(f"\n## {name}\n")
            if start >= 0:
                end = kept.find("\n## ", start + 1)
                kept = kept[:start] + kept[end:]
        self.pages["metrics.md"] = kept
        self.pages["errors.md"] = re.sub(
            r"^\| (E\d{4}) \|",
            r"| [\1](errors/\1.md) |",
            self.pages["errors.md"],
            flags=re.MULTILINE,
        )
        judges = "".join(_items(made, "judges/"))
        rubrics = "".join(_items(made, "rubrics/"))
        self.pages["providers.md"] += f"\n## A page for each judge\n\n{judges}"
        self.pages["rubrics.md"] += f"\n## The rubrics of the package\n\n{rubrics}"
        for path, text in self.pages.items():
            self.pages[path] = _LINK.sub(partial(_to_metric, path), text)

    def _home(self, text: str) -> str:
        """The home page, with its list of pages by parts."""
        words = {found["name"]: found["words"] for found in _LINE.finditer(text)}
        lines = [text.partition("## Pages")[0].rstrip(), ""]
        named = "[each of its metrics, and what it is called here](coming-from.md#ragas)"
        lines += [f"Coming from Ragas? See {named}.", ""]
        lines += [f"[All pages]({ALL_PAGES}), metrics, judges and error codes in one list.", ""]
        for part, paths in self.parts.items():
            lines += [f"## {part}", ""]
            for path in paths:
                said = words.get(path.removesuffix(".md"), "")
                lines.append(f"- [{self.title(path)}]({path})" + (f": {said}" if said else ""))
            lines.append("")
        return "\n".join(lines)

    def _list_of_all(self, made: dict[str, str]) -> str:
        """A page that leads to every other one, each with what it says first: what a browser has
        for the search where it runs no script.
        """
        lines = [
            "# All pages",
            "",
            "Every page of this site, to be searched by the browser (Ctrl-F).",
        ]
        for part, paths in self.parts.items():
            lines += ["", f"## {part}", ""]
            lines += [f"- [{self.title(path)}]({path})" for path in paths]
        for title, prefix in MADE.items():
            lines += ["", f"## {title}", ""]
            for path in made:
                if path.startswith(prefix):
                    lines.append(f"- [{self.title(path)}]({path}): {_first_words(made[path])}")
        listed = {path for paths in self.parts.values() for path in paths} | made.keys()
        lines += ["", "## Decisions, benchmarks and examples", ""]
        for path in self.pages:
            if path not in listed and path != "index.md":
                lines.append(f"- [{self.title(path)}]({path})")
        return "\n".join([*lines, ""])

    def _with_files(self, path: str) -> str:
        """The page with its links to files outside of docs/ led to copies in the site."""
        folder = posixpath.dirname(path)

        def led(found: re.Match[str]) -> str:
            target, hash_, anchor = found[2].partition("#")
            if not target or re.match(r"[a-z]+:", target):
                return found[0]
            place = posixpath.normpath(posixpath.join(folder, target))
            if place in self.pages or place in self.files or not place.startswith("../"):
                return found[0]
            inside = place[3:]
            source = ROOT / inside
            if not source.is_file():
                return found[0]
            copy = f"project/{inside}"
            if copy.endswith(".md"):
                self.pages[copy] = source.read_text(encoding="utf-8")
            else:
                self.files[copy] = source
            return f"{found[1]}{posixpath.relpath(copy, folder or '.')}{hash_}{anchor}{found[3]}"

        return _outside_code(self.pages[path], lambda text: _LINK.sub(led, text))


def _first_words(text: str) -> str:
    """The first line after the heading, with its links as words: a list leads to one page each."""
    line = text.split("\n", 2)[2].lstrip().partition("\n")[0]
    return _LINK.sub(lambda found: found[1][1:-2], line)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with its prose changed and its code blocks as they are."""
    pieces = re.split(r"(^```.*?^```[ \t]*$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(piece if n % 2 else change(piece) for n, piece in enumerate(pieces))


def _items(made: dict[str, str], prefix: str) -> Iterator[str]:
    for path, text in made.items():
        if path.startswith(prefix):
            yield f"- [{text.splitlines()[0][2:]}]({path})\n"


def _to_metric(path: str, found: re.Match[str]) -> str:
    """A link to a section of a metric, led to the page that the metric has in the site."""
    target = found[2]
    if path == "metrics.md" and target.startswith("#"):
        target = f"metrics.md{target}"
    named = _ANCHOR.search(target)
    if named is None or named[1] not in catalogue():
        return found[0]
    up = "../" * path.count("/")
    return f"{found[1]}{up}metrics/{named[1]}.md{found[3]}"


def _parts(pages: dict[str, str]) -> dict[str, list[str]]:
    """Part -> its pages. What no part names is something to do."""
    named: dict[str, list[str]] = yaml.safe_load(_PARTS.read_text(encoding="utf-8"))
    parts: dict[str, list[str]] = {}
    for part, names in named.items():
        parts[part] = [f"{name}.md" for name in names if f"{name}.md" in pages]
    placed = {path for paths in parts.values() for path in paths}
    for path in pages:
        if "/" not in path and path not in placed and path not in ("index.md", "changelog.md"):
            parts["Doing"].append(path)
    parts["Understanding"] += ["decisions/index.md", "changelog.md"]
    return parts
