import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import corpora
from tests.data import requires_data

PAST, NEXT = slice(-1), slice(1, None)
NEWS = {f"rec.{name}": 1000 for name in ("autos", "motorcycles", "sport.baseball", "sport.hockey")}
REUTERS = {"acq": 2126, "grain": 494, "interest": 221, "money-fx": 432, "ship": 243}

STEMMED = {"cranfield", "cranfield_and_neurips", "newsgroups4", "reuters5"}


@requires_data
@pytest.mark.parametrize(
    ("name", "shape", "total", "nnz", "classes"),
    [
        ("cranfield", (1400, 1728), 110_940, 72_352, None),
        ("classic3", (3891, 4303), 256_348, None, [1033, 1460, 1398]),
        ("brown_pairs", (6054, 6961), 45_483, 33_645, None),
        ("newsgroups20", (19_997, 29_954), 2_508_129, 1_721_764, [1000] * 15 + [997] + [1000] * 4),
        ("bible", (12_842, 12_842), 913_309, 142_028, None),
        ("reuters5", (3516, 3824), 306_729, 188_472, REUTERS),
        ("newsgroups4", (4000, 7675), 403_019, 279_879, NEWS),
        ("cranfield_and_neurips", (7759, 1728), 472_270, None, [1400, 6359]),
        (["cluster"], (157, 491), 10_442, 7038, None),
        (["neural", "network"], (855, 1557), 74_111, 51_884, None),
    ],
)
def test_documented_figures(name, shape, total, nnz, classes):
    """Of corpora by their names, or of abstracts by words of their titles."""
    if isinstance(name, list) or name in STEMMED:
        pytest.importorskip("snowballstemmer")
    words = name if isinstance(name, list) else []
    X, rows, labels, columns = corpora.neurips(words) if words else getattr(corpora, name)()
    assert X.format == "csr"
    assert X.shape == shape
    assert X.sum() == total
    assert nnz is None or X.nnz == nnz
    assert columns.shape == (shape[1],)
    assert rows is None or rows.shape == (shape[0],)
    found = None
    if labels is not None:
        found = dict(zip(*np.unique(labels, return_counts=True), strict=True))
    assert (list(found.values()) if isinstance(classes, list) else found) == classes
    if isinstance(classes, dict):
        assert X.sum(axis=1).min() > 0
        assert len(set(rows)) == shape[0]
    if words:
        assert (X > 0).sum(axis=0).min() == 5
        assert all(any(word in title.lower() for word in words) for title in rows)
    if name == "cranfield":
        p = X.sum(axis=0) / X.sum()
        assert np.exp(-(p * np.log(p)).sum()) == pytest.approx(684.6, abs=0.05)
        assert rows[X.sum(axis=1) == 0].tolist() == [471, 995]


@requires_data
def test_textures_are_grey_and_differ():
    pytest.importorskip("matplotlib")
    textures = corpora.textures()
    assert set(textures) == {"D4", "D16", "D19", "D21", "D29", "D55", "D68", "D84"}
    for image in textures.values():
        assert image.shape == (256, 256)
        assert image.dtype == np.uint8
        assert len(np.unique(image)) > 80
    assert len({image.tobytes() for image in textures.values()}) == 8


@requires_data
def test_brown_keeps_null_and_bible_rows_are_the_preceding_words():
    corpus = corpora.brown_pairs()
    assert "null" in corpus.rows
    assert "" not in corpus.rows
    X, rows, _, columns = corpora.bible()
    index = {word: i for i, word in enumerate(columns)}
    assert X[index["in"], index["the"]] > X[index["the"], index["in"]]
    assert rows is columns
    books = corpora.bible_text()
    first, second = (np.concatenate([words[some] for words in books]) for some in (PAST, NEXT))
    assert len(books) == 66
    assert abs(X - sp.csr_array((np.ones(len(first)), (first, second)), shape=X.shape)).sum() == 0


NAMES = "cranfield classic3 brown_pairs newsgroups4 newsgroups20 reuters5 bible bible_text textures"


def test_tokens_and_a_missing_folder(tmp_path, monkeypatch):
    found = corpora.TOKEN.findall("boundary-layer's flow - 3-d re2")
    assert found == ["boundary-layer's", "flow", "d", "re"]
    monkeypatch.setenv("SKCOOC_DATA", str(tmp_path))
    assert corpora.folder() == tmp_path
    assert not corpora.available()
    for name in NAMES.split():
        with pytest.raises(FileNotFoundError, match="set SKCOOC_DATA"):
            getattr(corpora, name)()
    with pytest.raises(FileNotFoundError, match="set SKCOOC_DATA"):
        corpora.neurips(["cluster"])
