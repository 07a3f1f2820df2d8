"""The King James Bible, by chapter or by verse."""

import lzma
from importlib.resources import files

from sklearn.utils import Bunch

from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import StrOptions

SECTIONS = {  # section: its last book
    "Law": "Deuteronomy",
    "History": "Esther",
    "Wisdom": "Song of Solomon",
    "Prophets": "Malachi",
    "Gospels": "John",
    "Acts": "Acts",
    "Epistles": "Jude",
    "Revelation": "Revelation",
}

DESCR = """\
The King James Bible (Authorized Version, first printed in 1611), in later spelling, without the
Apocrypha and the headings of psalms: 66 books, 1,189 chapters, 31,102 verses, 790,000 words.

{n_texts} texts, one for each {unit}. Sections are the usual ones: Law, History, Wisdom and Prophets
(Old Testament), Gospels, Acts, Epistles and Revelation (New Testament). The text is in the public
domain; in the United Kingdom its printing is subject to rights of the Crown. It was taken from
https://github.com/aruljohn/Bible-kjv (commit a9aa4e5, MIT licence)."""


class BibleTexts(Bunch):
    data: list[str]
    names: list[str]
    groups: list[str]
    sections: list[str]
    DESCR: str


@validated({"unit": [StrOptions({"chapter", "verse"})]})
def load_bible(*, unit: str = "chapter") -> BibleTexts:
    """Load the King James Bible, by chapter or by verse, with books and sections as groups.

    The text is in the public domain and part of the package: nothing is downloaded, and results do
    not depend on installed versions.

    Parameters
    ----------
    unit : {"chapter", "verse"}, default="chapter"
        What a text is: 1,189 chapters of about 660 words, or 31,102 verses of about 25.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        A dictionary with the attributes:

        * ``data``: list of str, length n. The texts, in the order of the Bible.
        * ``names``: list of str, length n. Such as ``"Genesis 1"`` or ``"Genesis 1:1"``.
        * ``groups``: list of str, length n. The book of each text, such as ``"Genesis"``; there
          are 66.
        * ``sections``: list of str, length n. The part of the Bible: "Law", "History", "Wisdom",
          "Prophets", "Gospels", "Acts", "Epistles" or "Revelation".
        * ``DESCR``: str.

    Examples
    --------
    >>> from skcooc.datasets import load_bible
    >>> bible = load_bible()
    >>> len(bible.data), bible.names[-1], bible.groups[-1], bible.sections[0]
    (1189, 'Revelation 22', 'Revelation', 'Law')
    >>> load_bible(unit="verse").data[0]
    'In the beginning God created the heaven and the earth.'
    """
    data = list[str]()
    names = list[str]()
    groups = list[str]()
    sections = list[str]()
    section_names = iter(SECTIONS)
    section = next(section_names)
    last_book = ""
    content = (files("skcooc.datasets") / "bible_kjv.txt.xz").read_bytes()
    chapters = lzma.decompress(content).decode().removeprefix("# ").split("\n# ")
    for heading, *verses in map(str.splitlines, chapters):  # such as "Genesis 1"
        book = heading.rpartition(" ")[0]
        if book != last_book and last_book == SECTIONS[section]:
            section = next(section_names)
        last_book = book
        if unit == "chapter":
            data.append(" ".join(verses))
            names.append(heading)
        else:
            data += verses
            names += [f"{heading}:{i}" for i in range(1, len(verses) + 1)]
        groups += [book] * (len(data) - len(groups))
        sections += [section] * (len(data) - len(sections))
    description = DESCR.format(n_texts=f"{len(data):,}", unit=unit)
    return BibleTexts(data=data, names=names, groups=groups, sections=sections, DESCR=description)
