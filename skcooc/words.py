"""Words of texts in all scripts, for ``CountVectorizer``: a pattern, stop words, letter pairs."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from skcooc.protocol import warn

__all__ = [
    "STOP_WORDS",
    "WORD",
    "has_no_blanks",
    "pairs_of_letters",
    "short_words",
    "vectorizer_for",
]

N_TEXTS = 1000  # from which one tells whether there are blanks between words
JOINERS = "\u200c\u200d"  # inside words of Persian and of Indic languages


def _combining_marks() -> str:
    r"""Ranges of a character class: combining marks, which ``\w`` does not match, and joiners.

    Those above 0xffff, of scripts such as Adlam, would make the pattern four times slower.
    """
    codes = [code for code in range(0x10000) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    codes = sorted([*codes, *map(ord, JOINERS)])
    runs = groupby(enumerate(codes), lambda numbered: numbered[1] - numbered[0])
    ranges = [[chr(code) for _, code in run] for _, run in runs]
    return "".join(f"{letters[0]}-{letters[-1]}" for letters in ranges)


MARKS = _combining_marks()
HAN_AND_KANA = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
HAN_AND_KANA += "\U00020000-\U0003ffff"
UNSPACED = HAN_AND_KANA + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
# Scripts whose letters are syllables or words: Indic ones, Tibetan, Hangul and Ethiopic as well.
SYLLABIC = UNSPACED + "\u0900-\u0dff\u0f00-\u0fff\u1100-\u13ff\uac00-\ud7ff\uffa0-\uffdc"

_START = rf"\b(?<![{MARKS}])[^\W\d_]"
_REST = rf"\w*(?:[{MARKS}]+\w*)*"
WORD = rf"{_START}(?:\w|[{MARKS}]+\w|(?<=[{SYLLABIC}])){_REST}"

_WORDS = re.compile(WORD)
_SHORT_OR_LONG_WORDS = re.compile(_START + _REST)
_UNSPACED_LETTERS = re.compile(rf"(?=[{UNSPACED}])\w[{MARKS}]*")
_UNSPACED_RUNS = re.compile(rf"((?:(?=[{UNSPACED}])\w[{MARKS}]*)+)")
_HAN_AND_KANA = re.compile(rf"[{HAN_AND_KANA}]")
# Letters of a run above which it holds several words. The median letter of texts with blanks is in
# a word of 2 or 3 letters in Chinese and Japanese, and of 5 in Thai.
LONGEST_OF_HAN_AND_KANA = 4
LONGEST_OF_OTHERS = 10

# Pieces of contractions, which the pattern divides at the apostrophe; "won" is more often a verb.
_PIECES = (
    "ain aren couldn didn doesn don hadn hasn haven isn ll mightn mustn needn shan shouldn ve wasn "
    "weren wouldn"
)
STOP_WORDS = sorted(ENGLISH_STOP_WORDS.union(_PIECES.split()))


def vectorizer_for(texts: Sequence[str], **options: Any) -> CountVectorizer:
    """Return a ``CountVectorizer`` that finds the words of these texts, in any script.

    A word begins with a letter, so that numbers are none, and has two letters at least. One letter
    suffices in scripts whose letters are syllables or words, such as Chinese, Korean and Hindi.
    Combining marks, as of Thai, Hindi and vowelled Arabic, are parts of words. In texts without
    blanks between words, as of Chinese, Japanese and Thai, pairs of neighbouring letters are
    counted.

    Parameters
    ----------
    texts : sequence of n str
        The first 1,000 show whether words are separated.
    **options
        Parameters of ``CountVectorizer``, such as ``min_df``. ``stop_words="english"`` stands for
        ``STOP_WORDS``. With ``token_pattern``, ``tokenizer`` or another ``analyzer``, words are as
        these say.

    Returns
    -------
    vectorizer : CountVectorizer
        Not fitted.

    Warns
    -----
    UserWarning
        If pairs of letters are counted.

    Examples
    --------
    >>> from skcooc.words import vectorizer_for
    >>> texts = ["The EU and the UK don't agree in 2020", "देश में शांति"]
    >>> vectorizer = vectorizer_for(texts, stop_words="english").fit(texts)
    >>> vectorizer.get_feature_names_out().tolist()
    ['agree', 'eu', 'uk', 'देश', 'में', 'शांति']
    """
    if options.get("stop_words") == "english":
        options["stop_words"] = STOP_WORDS
    if options.keys() & {"token_pattern", "tokenizer", "analyzer"}:
        return CountVectorizer(**options)
    if not has_no_blanks(texts):
        return CountVectorizer(token_pattern=WORD, **options)
    warn(
        "The texts have no blanks between words, so pairs of neighbouring letters are counted. To "
        "count words, separate them first, for example with jieba, janome or pythainlp."
    )
    return CountVectorizer(tokenizer=pairs_of_letters, token_pattern=None, **options)


def has_no_blanks(texts: Sequence[str]) -> bool:
    """Tell whether texts are in a script without blanks, and their words are not separated.

    Parameters
    ----------
    texts : sequence of n str
        The first 1,000 are read.

    Returns
    -------
    has_no_blanks : bool
        True for Chinese, Japanese, Thai, Lao, Khmer and Burmese as they are usually written, False
        where blanks separate their words, as tokenizers do.

    Examples
    --------
    >>> from skcooc.words import has_no_blanks
    >>> has_no_blanks(["我们明天去北京旅游"]), has_no_blanks(["我们 明天 去 北京 旅游"])
    (True, False)
    """
    sample = texts[:N_TEXTS]
    runs = [run for text in sample for run in _UNSPACED_RUNS.findall(text)]
    n_letters = sum(map(len, runs))
    if not runs or 2 * n_letters < sum(len(part) for text in sample for part in text.split()):
        return False
    longest = (
        LONGEST_OF_HAN_AND_KANA if _HAN_AND_KANA.search(run) else LONGEST_OF_OTHERS for run in runs
    )
    n_in_long = sum(
        len(run) for run, length in zip(runs, longest, strict=True) if len(run) > length
    )
    return 2 * n_in_long > n_letters


def pairs_of_letters(text: str) -> Iterator[str]:
    """Yield pairs of neighbouring letters in scripts without blanks, and words in other scripts.

    A tokenizer for ``CountVectorizer(tokenizer=pairs_of_letters, token_pattern=None)``. A letter
    that stands alone is yielded as it is.

    Parameters
    ----------
    text : str

    Yields
    ------
    token : str

    Examples
    --------
    >>> from skcooc.words import pairs_of_letters
    >>> list(pairs_of_letters("新iPhone上市了"))
    ['新', 'iPhone', '上市', '市了']
    """
    for part in _UNSPACED_RUNS.split(text):
        letters = _UNSPACED_LETTERS.findall(part)
        if not letters:
            yield from _WORDS.findall(part)
        elif len(letters) == 1:
            yield part
        else:
            yield from map("".join, pairwise(letters))


def short_words(texts: Iterable[str]) -> Counter[str]:
    """Count the words that are too short for ``WORD``: single letters, but not of syllabic scripts.

    Parameters
    ----------
    texts : iterable of str

    Returns
    -------
    counts : Counter
        Number of occurrences of each, in lower case.

    Examples
    --------
    >>> from skcooc.words import short_words
    >>> short_words(["I want a vitamin, a strong one: C"]).most_common()
    [('a', 2), ('i', 1), ('c', 1)]
    """
    return Counter(
        word
        for text in texts
        for word in _SHORT_OR_LONG_WORDS.findall(text.lower())
        if not _WORDS.fullmatch(word)
    )
