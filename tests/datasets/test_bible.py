from collections import Counter
from importlib.resources import files

import pytest

from skcooc.datasets import bible, load_bible
from tests.tables import refused


@pytest.fixture(scope="module", params=["chapter", "verse"])
def unit(request):
    return request.param, load_bible(unit=request.param)


def test_each_text_has_a_name_a_book_and_a_section(unit):
    _, corpus = unit
    n_texts = len(corpus.data)
    assert {len(corpus[key]) for key in ("names", "groups", "sections")} == {n_texts}
    assert len(set(corpus.names)) == n_texts
    assert all(
        name.startswith(f"{book} ") for name, book in zip(corpus.names, corpus.groups, strict=True)
    )
    assert len(dict.fromkeys(corpus.groups)) == 66
    assert list(dict.fromkeys(corpus.sections)) == list(bible.SECTIONS)
    assert f"{n_texts:,}" in corpus.DESCR


def test_units_hold_the_same_text():
    chapters, verses = load_bible(), load_bible(unit="verse")
    assert (len(chapters.data), len(verses.data)) == (1189, 31102)
    assert " ".join(chapters.data) == " ".join(verses.data)
    assert all(text and text == text.strip() for text in verses.data)
    psalm = chapters.data[chapters.names.index("Psalms 117")]
    first = verses.names.index("Psalms 117:1")
    assert verses.names[first : first + 3] == ["Psalms 117:1", "Psalms 117:2", "Psalms 118:1"]
    assert psalm == " ".join(verses.data[first : first + 2])


def test_sections_end_with_their_last_books():
    corpus = load_bible()
    last = dict(zip(corpus.sections, corpus.groups, strict=True))
    assert last == bible.SECTIONS
    books = Counter(dict(zip(corpus.groups, corpus.sections, strict=True)).values())
    assert list(books.values()) == [5, 12, 5, 17, 4, 1, 21, 1]
    verses = load_bible(unit="verse")
    john = verses.names.index("John 3:16")
    assert (verses.groups[john], verses.sections[john]) == ("John", "Gospels")
    assert verses.data[john].startswith("For God so loved the world")


def test_the_text_is_a_small_file_of_the_package():
    assert (files("skcooc.datasets") / "bible_kjv.txt.xz").stat().st_size < 1_500_000
    refused("'unit' parameter of load_bible must be", load_bible, unit="book")
