"""The build of the site: a tree of Markdown, the pages that Zensical makes of it, and what programs
read (llms.txt, a Markdown twin beside each page).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docs_site.tree import ALL_PAGES, MADE, Tree

_HERE = Path(__file__).parent
_ABOUT = (
    "RagAssay measures applications that answer questions with retrieved text: rows of question,"
    " contexts, response and reference are judged offline or by a language model, every figure has"
    " its denominator and interval, and each failing row its cause."
)
# The order in which Zensical finishes its pages shows in the first two, and nothing reads them. The
# links of the last hold only where the site is a host's root: below a folder they lead nowhere.
_DROPPED = ("sitemap.xml", "objects.inv", "404.html")


def build(target: Path) -> Tree:
    """Write the site into a folder, which is emptied before. Nothing is fetched. Raises
    RuntimeError where Zensical fails.
    """
    tree = Tree()
    with tempfile.TemporaryDirectory(prefix="ragassay-site-") as folder:
        work = Path(folder)
        _write_tree(tree, work / "docs")
        (work / "zensical.toml").write_text(_settings(tree), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "zensical", "build", "--clean"],
            cwd=work,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0 or not (work / "site" / "index.html").is_file():
            raise RuntimeError(f"zensical failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(work / "site", target)
    for name in _DROPPED:
        (target / name).unlink(missing_ok=True)
    for path in target.rglob("*.html"):
        depth = len(path.relative_to(target).parts) - 1
        path.write_text(_finished(path.read_text(encoding="utf-8"), depth), encoding="utf-8")
    _write_for_programs(tree, target)
    return tree


def _write_tree(tree: Tree, docs: Path) -> None:
    for path, text in tree.pages.items():
        page = docs / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    for path, source in tree.files.items():
        file = docs / path
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, file)
    shutil.copyfile(_HERE / "site.css", docs / "site.css")


def _settings(tree: Tree) -> str:
    """The settings of Zensical: no fonts from elsewhere, four parts, a page as its own file."""
    nav: list[dict[str, object]] = [{"Home": "index.md"}]
    for part, paths in tree.parts.items():
        entries: list[dict[str, object]] = []
        for path in paths:
            entries.append({tree.title(path): path})
        if part == "Looking up":
            for title, prefix in MADE.items():
                pages = [path for path in tree.pages if path.startswith(prefix)]
                entries.append({title: [{tree.title(path): path} for path in pages]})
        nav.append({part: entries})
    lines = [
        "[project]",
        'site_name = "RagAssay"',
        f"site_description = {json.dumps(_ABOUT)}",
        "use_directory_urls = false",
        'extra_css = ["site.css"]',
        f"nav = {_toml(nav)}",
        "[project.theme]",
        "font = false",
        'language = "en"',
        'features = ["navigation.prune", "search.highlight"]',
        "[[project.theme.palette]]",
        'media = "(prefers-color-scheme: light)"',
        'scheme = "default"',
        "[[project.theme.palette]]",
        'media = "(prefers-color-scheme: dark)"',
        'scheme = "slate"',
        "[project.extra]",
        "generator = false",
    ]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    """A value of lists, tables and texts as TOML writes it in a line."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        entries = [f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()]
        return f"{{ {', '.join(entries)} }}"
    return json.dumps(value)


def _finished(html: str, depth: int) -> str:
    """A page without what names its builder's version, and without the empty links before each line
    of code, which only a keyboard and a screen reader would meet; with what they lack: boxes for
    wide tables, and a link to the list of all pages where the search is, for browsers without a
    script. depth: of the page's folder.
    """
    # Of the two inputs that hold the colours a keyboard has nothing: the theme hides them.
    html = re.sub(r'(<input class="md-option"[^>]*aria-hidden="true")', r'\1 tabindex="-1"', html)
    # A column without a name has no header.
    html = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)
    # A table that is wider than the screen scrolls in its own box, which a keyboard has to reach.
    box = '<div class="wide" role="group" aria-label="Table" tabindex="0">'
    html = re.sub(
        r"<table>.*?</table>", lambda found: f"{box}{found[0]}</div>", html, flags=re.DOTALL
    )
    target = "../" * depth + ALL_PAGES.replace(".md", ".html")
    link = f'<noscript><a class="all-pages" href="{target}">All pages</a></noscript>'
    html, places = re.subn(r'(?=<div class="md-search" )', link, html, count=1)
    if places == 0:
        raise RuntimeError("the theme has no search where the list of all pages is to be linked")
    hidden = "<noscript><style>.md-search{display:none}</style></noscript></head>"
    html = html.replace("</head>", hidden, 1)
    html = re.sub(r'<meta name="generator"[^>]*>', "", html)
    return re.sub(r'<a id="__codelineno-[^>]*></a>', "", html)


def _write_for_programs(tree: Tree, target: Path) -> None:
    """llms.txt (the list of pages), llms-full.txt (all of the documentation in one file), and each
    page's Markdown beside it under the same name.
    """
    lines = ["# RagAssay", "", f"> {_ABOUT}", ""]
    full = []
    listed: set[str] = {"index.md"}
    for part, paths in tree.parts.items():
        lines += [f"## {part}", ""]
        for path in paths:
            lines.append(f"- [{tree.title(path)}]({path})")
            full.append(f"<!-- {path} -->\n\n{tree.pages[path].strip()}\n")
            listed.add(path)
        lines.append("")
    lines += ["## Optional", ""]
    for path in tree.pages:
        if path not in listed:
            lines.append(f"- [{tree.title(path)}]({path})")
    (target / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (target / "llms-full.txt").write_text("\n".join(full), encoding="utf-8")
    for path, text in tree.pages.items():
        (target / path).write_text(text, encoding="utf-8")
