"""The Cranfield collection: abstracts, queries and relevance judgements."""

import hashlib
import json
from numbers import Integral, Real
from os import PathLike
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_file, get_data_home
from sklearn.utils import Bunch

from skcooc.protocol import Array
from skcooc.protocol.decorators import validated
from skcooc.protocol.scikit_learn import Interval

BASE_URL = (
    "https://raw.githubusercontent.com/feroshjacob/cranfield/"
    "d9d5324f03a128bafb33a9165b1457077284e3f4/src/main/resources/"
)

CHECKSUMS = {  # SHA256
    "cranfield_data.json": "8cc447e428b09fc6578e0920a2e310be743ce19e0f02bc6e4e44e3ba91de24d2",
    "cran.qry.json": "0d28ea319c0a04fc5e09b6d99b09abd47edb0e17816a4cc2928b206947cc83a2",
    "cranqrel.json": "c551a82fffa85e9d22f400e2f219ea905b14d645a4ffacf0990a2a1a03ea181e",
}

DESCR = """\
The Cranfield collection (C. W. Cleverdon, Cranfield, 1960s): 1400 abstracts on aerodynamics, 225
queries, and 1837 judgements of the relevance of a document to a query. The classic small test
collection of information retrieval, passed around freely for research; it has no explicit licence.

Each text begins with the title of its document, so that the titles are not to be added to it.
Documents 471 and 995 are empty (995 is nevertheless judged, for query 125).

A judgement is (query, document, code). Queries are numbered 1 to 225 by their position; the
original query file has other numbers, with gaps, which the judgements do not use. A small code is
a more relevant document: 1 = complete answer, 2 = high, 3 = useful, 4 = of minimum interest (128,
387, 734 and 363 judgements). The last judgement of each query has the code -1 (225 in all), which
this scale does not mention: the document looks like the paper from which the question arose. Many
copies of the collection, the one read here among them, have 1 in its place; -1 is put back. So say
which rows count as relevant: all of them (8.2 documents a query) or those above zero (7.2)."""


class Cranfield(Bunch):
    data: list[str]
    titles: list[str]
    ids: Array
    queries: list[str]
    query_ids: Array
    relevance: Array
    DESCR: str


@validated(
    {
        "data_home": [str, PathLike, None],
        "download_if_missing": ["boolean"],
        "n_retries": [Interval(Integral, 1, None, closed="left")],
        "delay": [Interval(Real, 0.0, None, closed="neither")],
    }
)
def fetch_cranfield(
    *, data_home: str | PathLike[str] | None = None, download_if_missing: bool = True,
    n_retries: int = 3, delay: float = 1.0,
) -> Cranfield:  # fmt: skip
    """Load the Cranfield collection, downloading it (1.9 MB) the first time.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Data folder, by default that of scikit-learn
        (:func:`sklearn.datasets.get_data_home`); the files lie in its subfolder ``cranfield``.
    download_if_missing : bool, default=True
        If False, raise an OSError if there is no data, or with wrong checksums.
    n_retries, delay : int, default=3; float, default=1.0
        Number of retries after HTTP errors, and seconds between them.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        A dictionary with the attributes:

        * ``data``: list of str, length 1400. The texts, each beginning with its title. Documents
          471 and 995 are empty.
        * ``titles``, ``queries``: lists of str, of lengths 1400 and 225.
        * ``ids``, ``query_ids``: ndarrays of int64. Numbers from 1, in order.
        * ``relevance``: ndarray of shape (1837, 3), int64. Judgements (query, document, code).
        * ``DESCR``: str, with the codes.

    Examples
    --------
    >>> from skcooc.datasets import fetch_cranfield
    >>> fetch_cranfield().queries[2]  # doctest: +SKIP
    'what problems of heat conduction in composite slabs have been solved so far .'
    """
    folder = Path(get_data_home(data_home)) / "cranfield"
    if download_if_missing:
        folder.mkdir(exist_ok=True)
        paths = [
            fetch_file(BASE_URL + name, folder, sha256=checksum, n_retries=n_retries, delay=delay)
            for name, checksum in CHECKSUMS.items()
        ]
    else:
        paths = [folder / name for name in CHECKSUMS]
        for path, checksum in zip(paths, CHECKSUMS.values(), strict=True):
            if not path.exists():
                raise OSError("Data not found and `download_if_missing` is False")
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest != checksum:
                raise OSError(
                    f"The SHA256 checksum of {path} ({digest}) differs from expected ({checksum}) "
                    "and `download_if_missing` is False"
                )
    documents, queries, judgements = (json.loads(path.read_bytes()) for path in paths)
    queries = [query for query in queries if query["query number"] > 0]  # the last is a sentinel
    keys = ("query_num", "id", "position")
    relevance = np.array([[int(row[key]) for key in keys] for row in judgements], dtype=np.int64)
    last = np.append(relevance[1:, 0] != relevance[:-1, 0], True)
    relevance[last, 2] = -1
    return Cranfield(
        data=[" ".join(document["body"].split()) for document in documents],
        titles=[" ".join(document["title"].split()) for document in documents],
        ids=np.array([document["id"] for document in documents], dtype=np.int64),
        queries=[" ".join(query["query"].split()) for query in queries],
        query_ids=np.array([query["query number"] for query in queries], dtype=np.int64),
        relevance=relevance,
        DESCR=DESCR,
    )
