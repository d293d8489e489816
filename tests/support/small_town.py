"""A folder of documents as a small museum's team keeps them, and what is true of it."""

from __future__ import annotations

from pathlib import Path

PAGES = {
    "harbour.md": """# Harbour Museum

The Harbour Museum is a museum of ships in Port Ellis. The Harbour Museum was founded in 1912.
It was renovated in 1987. The Harbour Museum has 14 galleries and a library. The Harbour Museum was
designed by Lena Ortiz.
""",
    "lena.md": """# Lena Ortiz

Lena Ortiz was an architect from Port Ellis. Lena Ortiz was born in Vigo in 1871. She designed the
Ferry Hall in 1904. She died in 1940.
""",
    "ferry.md": """# Ferry Hall

The Ferry Hall is a concert hall on the north quay. The Ferry Hall was opened in 1906. The Ferry
Hall was damaged by a fire in 1931. The Ferry Hall was rebuilt in 1934.
""",
}


def write_pages(folder: Path) -> None:
    """Write the pages into a folder, with a file beside them that nobody can read."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "plan.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
