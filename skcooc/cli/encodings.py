"""The encoding that a text which is not UTF-8 probably has."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

MOST_LINES = 2000  # that are looked at
PLAUSIBLE = 0.85  # share of the characters outside ASCII
MIN_KANA = 0.1  # share of them in Japanese
CYRILLIC = re.compile(
    r"(?<![А-яЁёA-Za-z])[А-ЯЁ](?![A-Za-z])|(?<![A-Za-z])[а-яё](?![A-Za-z])|[«»–—…№“”„]"
)
GREEK = re.compile(r"(?<![Ά-ώA-Za-z])[Ά-Ϋ](?![A-Za-z])|(?<![A-Za-z])[ά-ώ](?![A-Za-z])|[«»–—…΄“”]")
LATIN = re.compile(
    r"(?<=[A-Za-z])[ß-öø-ÿœšž]|[ß-öø-ÿœšž](?=[A-Za-z])|(?<!\w)[À-ÖØ-ÞŒŠŽ](?=[a-z])|"
    r"(?<!\w)[à-öø-ÿ](?!\w)|[«»“”„‘’‚–—…€£§°©®·¿¡\xa0]"
)
KANA = re.compile(r"[ぁ-ゖァ-ヺー]")
WIDE_SIGNS = re.compile(r"[　-〃〈-】！-～·—…“”‘’]")


def likely_encoding(data: bytes) -> str | None:
    """The encoding in which most characters are usual ones of its script; None if few are."""
    lines = [line for line in data.split(b"\n") if not line.isascii()]
    sample = b"\n".join(lines[:MOST_LINES])
    shares = dict[str, float]()
    for encoding, usual_share in CANDIDATES.items():
        with suppress(UnicodeDecodeError):
            shares[encoding] = usual_share(sample.decode(encoding))
    best = max(shares, key=lambda encoding: shares[encoding], default=None)
    return best if best is not None and shares[best] >= PLAUSIBLE else None


def _share(usual: re.Pattern[str]) -> Callable[[str], float]:
    def share(text: str) -> float:
        n = sum(not character.isascii() for character in text)
        return len(usual.findall(text)) / max(n, 1)

    return share


def _share_by_lead(encoding: str, leads: range, min_kana: float = 0) -> Callable[[str], float]:
    """Signs, kana of Japanese, and characters whose first byte in an encoding is a usual one."""

    def share(text: str) -> float:
        characters = [character for character in text if not character.isascii()]
        n = max(len(characters), 1)
        n_kana = len(KANA.findall(text))
        if n_kana < min_kana * n:
            return 0.0
        first_bytes = (character.encode(encoding, "replace")[0] for character in characters)
        n_signs = len(WIDE_SIGNS.findall(text))
        return (sum(byte in leads for byte in first_bytes) + n_signs + n_kana * (min_kana > 0)) / n

    return share


# Korean comes before Chinese, in which its bytes are usual ones too.
CANDIDATES = {
    "euc_kr": _share_by_lead("euc_kr", range(0xB0, 0xC9)),
    "shift_jis": _share_by_lead("shift_jis", range(0x88, 0x98), MIN_KANA),
    "cp932": _share_by_lead("cp932", range(0x88, 0x98), MIN_KANA),
    "euc_jp": _share_by_lead("euc_jp", range(0xB0, 0xD0), MIN_KANA),
    "gb18030": _share_by_lead("gb2312", range(0xB0, 0xD8)),
    "big5": _share_by_lead("big5", range(0xA4, 0xC7)),
    "cp1251": _share(CYRILLIC),
    "koi8_r": _share(CYRILLIC),
    "cp1253": _share(GREEK),
    "cp1252": _share(LATIN),
}
