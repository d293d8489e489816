"""Documents are read one at a time, and what cannot be read is named."""

from __future__ import annotations

import gzip
import json
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from ragassay.core import DataError, NothingToDo, SetupError
from ragassay.testsets.chunks import chunks
from ragassay.testsets.corpus import read_corpus
from ragassay.testsets.documents import read_documents
from ragassay.testsets.documents.files import MOST_BYTES
from ragassay.testsets.values import Document, Skipped

TEXT = "The Harbour Museum was founded in 1912 by the people of Port Ellis."


def read(folder: Path) -> tuple[dict[str, Document], dict[str, str]]:
    skipped: list[Skipped] = []
    documents = {document.id: document for document in read_documents(folder, skipped)}
    return documents, {skip.where: skip.why for skip in skipped}


def test_a_folder_is_read_with_what_is_below_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "page.md").write_text(f"# Harbour Museum #\n\n{TEXT}\n")
    (tmp_path / "note.txt").write_text(TEXT)
    (tmp_path / "old.html").write_text(
        f"<html><title>t</title><script>alert(1)</script><h1>Museum</h1><p>{TEXT}</p></html>"
    )
    (tmp_path / ".hidden.md").write_text(TEXT)
    documents, skipped = read(tmp_path)
    assert list(documents) == ["a/page.md", "note.txt", "old.html"]
    assert documents["a/page.md"].title == "Harbour Museum"
    assert documents["old.html"].title == "Museum"
    assert TEXT in documents["old.html"].text
    assert "alert" not in documents["old.html"].text
    assert skipped == {}


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\x00\x01binary")
    (tmp_path / "b.txt").write_bytes(b"caf\xe9 " * 20)
    (tmp_path / "c.txt").write_text("   \n")
    (tmp_path / "d.exe").write_bytes(b"MZ")
    (tmp_path / "e.pdf").write_bytes(b"no pdf at all")
    with (tmp_path / "f.md").open("wb") as file:
        file.truncate(MOST_BYTES + 1)  # sparse: it takes no room on the disk
    (tmp_path / "g.md").write_text(TEXT)
    documents, skipped = read(tmp_path)
    assert list(documents) == ["g.md"]
    assert skipped["a.txt"] == "a binary file"
    assert skipped["b.txt"].startswith("no text in UTF-8")
    assert skipped["c.txt"] == "no text"
    assert skipped["d.exe"] == "files of this kind (.exe)"
    assert skipped["e.pdf"].startswith("a PDF that cannot be read")
    assert "are to be split" in skipped["f.md"]


def test_a_pdf_is_read_by_its_pages(tmp_path: Path) -> None:
    (tmp_path / "page.pdf").write_bytes(pdf(TEXT))
    documents, _ = read(tmp_path)
    assert TEXT in " ".join(documents["page.pdf"].text.split())


def pdf(text: str) -> bytes:
    """A PDF of one page, written by hand."""
    stream = f"BT /F1 12 Tf 40 700 Td ({text}) Tj ET".encode()
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 900 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + table
    return out + b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start


def test_records_are_chunks_that_are_left_as_they_are(tmp_path: Path) -> None:
    long = "One sentence of a chunk. " * 200
    rows = [{"chunk_id": 7, "content": long, "title": "T"}, {"chunk_id": 8, "content": ""}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "y.csv").write_text(f"id,text\nc1,{TEXT}\n")
    documents, skipped = read(tmp_path)
    assert list(documents) == ["7", "c1"]
    assert list(chunks(documents["7"])) == [(0, len(long))]
    assert any("no text in chunk_id, content" in why for why in skipped.values())


def test_a_folder_of_beir_is_its_corpus_alone(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "corpus.jsonl.gz", "wt") as file:
        file.write(json.dumps({"_id": "d1", "title": "Museum", "text": TEXT}) + "\n")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "when"}\n')
    documents, _ = read(tmp_path)
    assert [(d.id, d.title) for d in documents.values()] == [("d1", "Museum")]


def test_passages_are_places_in_the_document_and_lose_no_word() -> None:
    text = "\n\n".join(f"Paragraph {n} has its words here. It has more." for n in range(60))
    document = Document("d", text)
    places = list(chunks(document, 40))
    assert " ".join(text[a:b] for a, b in places).split() == text.split()
    assert max(len(text[a:b].split()) for a, b in places) <= 40
    assert all(before[1] <= after[0] for before, after in pairwise(places))


def test_one_document_of_fifty_words_is_a_corpus() -> None:
    assert len(read_corpus([TEXT * 4]).passages) == 1


def test_documents_that_all_say_the_same_are_one() -> None:
    corpus = read_corpus([{"id": str(n), "text": TEXT} for n in range(5)])
    assert corpus.documents == ["0"]
    assert corpus.repeated == 4


@pytest.mark.parametrize(
    ("ending", "package", "kind"), [("html", "bs4", "HTML"), ("pdf", "pypdf", "PDF")]
)
def test_a_file_without_its_library_is_left_out_of_a_folder_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, package: str, kind: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / f"a.{ending}").write_text(f"<p>{TEXT}</p>")
    (tmp_path / "b.txt").write_text(TEXT)
    documents, skipped = read(tmp_path)
    assert list(documents) == ["b.txt"]
    assert skipped == {
        f"a.{ending}": f"Reading {kind} needs a package that is not installed."
        " To read it: pip install 'ragassay[documents]'"
    }
    with pytest.raises(SetupError, match="E0416"):
        read(tmp_path / f"a.{ending}")


def test_no_documents_are_an_error_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="E0801"):
        read_corpus(tmp_path / "nowhere")
    with pytest.raises(NothingToDo, match="E0802"):
        read_corpus(tmp_path)
    with pytest.raises(DataError, match="E0801"):
        read_corpus(7)


def test_chunks_that_name_their_document_are_parts_of_it(tmp_path: Path) -> None:
    texts = [f"{TEXT} Part {n} says that hall {n} is open." for n in range(3)]
    records = [{"text": text, "source": "a.pdf", "page": n} for n, text in enumerate(texts)]
    records.append({"text": "Another file says another thing about the old lighthouse."})
    path = tmp_path / "chunks.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    corpus = read_corpus(path)
    assert corpus.skipped == []
    assert corpus.documents == ["a.pdf", "chunks.jsonl#4"]
    assert [passage.text for passage in corpus.of_document(0)] == texts
    # Each quote has a place of its own in the document.
    whole = corpus.text_of("a.pdf")
    for passage in corpus.of_document(0):
        assert whole[passage.start : passage.start + len(passage.text)] == passage.text


def test_an_id_that_two_files_use_leaves_no_record_out(tmp_path: Path) -> None:
    for folder, place in (("a", "Port Ellis"), ("b", "Vigo"), ("c", "Leith")):
        (tmp_path / folder).mkdir()
        row = f'1,"The museum of {place} was founded in 1912 by its people."\n'
        (tmp_path / folder / "x.csv").write_text(f"id,text\n{row}")
        (tmp_path / folder / "y.csv").write_text(f"text\n{row.replace('museum', 'tower')[2:]}")
    corpus = read_corpus(tmp_path)
    assert corpus.skipped == []
    assert corpus.documents == ["1", "a/y.csv#2", "1#2", "b/y.csv#2", "1#3", "c/y.csv#2"]
    assert read_corpus(tmp_path).documents == corpus.documents


def test_the_words_of_neighbouring_blocks_and_cells_of_a_page_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        "<body><header><a>Menu</a></header><article><header><h1>Tariffs</h1></header>"
        "<table><tr><th>Zone</th><th>Price</th></tr>"
        "<tr><td>North</td><td>12 euros</td></tr></table>"
        f"<div>Before it.<p>{TEXT}</p>After it.</div>"
        "<dl><dt>Term</dt><dd>A year</dd></dl></article>"
    )
    documents, _ = read(tmp_path)
    lines = [line for line in documents["page.html"].text.split("\n") if line]
    assert lines == [
        *("# Tariffs", "Zone | Price", "North | 12 euros"),
        *("Before it.", TEXT, "After it.", "Term", "A year"),
    ]
    assert documents["page.html"].title == "Tariffs"


def test_damaged_files_are_named_and_their_libraries_say_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.html").write_bytes(b"\x00\x01\x02" * 50)
    (tmp_path / "b.html").write_bytes(bytes(range(128, 256)) * 8)
    (tmp_path / "c.pdf").write_bytes(b"%PDF-1.4\n" + b"\x81\x00" * 90)
    (tmp_path / "d.md").write_text(TEXT)
    documents, skipped = read(tmp_path)
    assert "a.html" not in documents
    assert skipped["a.html"] == "a binary file"
    assert skipped["c.pdf"].startswith("a PDF that cannot be read")
    assert caplog.text == ""
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("word", ["alpha beta gamma ", "a", "data" * 100 + " "])
def test_a_text_without_sentences_is_cut_as_well_and_loses_nothing(word: str) -> None:
    text = word * (200_000 // len(word))
    found = [text[start:end] for start, end in chunks(Document("log", text), 100)]
    is_whole = "".join("".join(found).split()) == "".join(text.split())
    assert is_whole
    # Five lengths of a passage, in words of fifty characters at most.
    assert max(map(len, found)) <= 5 * 100 * 51


def test_a_page_with_tags_nested_too_deep_is_named(tmp_path: Path) -> None:
    text = "<p>The Harbour Museum was founded in 1912 by Lena Ortiz in Vigo.</p>"
    (tmp_path / "deep.html").write_text("<div>" * 20_000 + text + "</div>" * 20_000)
    # Paragraphs that nobody closed are within each other as well.
    (tmp_path / "open.html").write_text("<p>The museum is open on this day." * 1_000)
    skipped: list[Skipped] = []
    (found,) = read_documents(tmp_path, skipped)
    assert found.id == "open.html"
    assert skipped == [Skipped("deep.html", "a page with tags nested more than 3,000 deep")]


def test_a_text_without_blanks_between_its_words_is_neither_too_short_nor_one_passage() -> None:
    sentence = "港湾博物館は千九百十二年に建築家レナ・オルティスによって設立された。"
    corpus = read_corpus([sentence * 100])
    assert not corpus.skipped
    assert len(corpus.passages) > 5
    assert "".join(passage.text for passage in corpus.passages) == sentence * 100
