from argparse import Namespace
from types import SimpleNamespace

import matplotlib.figure
import matplotlib.image
import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import corpora
from benchmarks.mondrian import make_mondrian
from benchmarks.papers import case_study, pairs
from benchmarks.papers.case_study import Study
from benchmarks.reporting import save_picture
from skcooc.datasets import make_cooccurrences
from tests.tables import refused


@pytest.fixture
def corpus():
    X = make_cooccurrences(
        40, 30, 4, n_tokens=2000, kind="coclusters", random_state=0, dtype=np.int64
    ).X
    names = np.array([f"word{i}" for i in range(40)])
    return corpora.Corpus(sp.csr_array(X), names, None, names[:30])


def test_words_that_are_kept_are_frequent_among_each_other():
    X = sp.csr_array([[9, 2, 0], [1, 9, 0], [0, 0, 3], [0, 0, 1]])
    rows, columns = np.array(list("abcd")), np.array(list("xyz"))
    kept = pairs.frequent(corpora.Corpus(X, rows, None, columns), 4)
    np.testing.assert_array_equal(kept.X.toarray(), [[9, 2], [1, 9]])  # z has 3 without d
    assert (list(kept.rows), list(kept.columns)) == (["a", "b"], ["x", "y"])


def test_pairs_are_drawn(corpus, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(corpora, "brown_pairs", lambda: corpus)
    path = tmp_path / "pairs.png"
    pairs.draw(Namespace(clusters=3, least=2, starts=1, picture=path, output=None))
    assert matplotlib.image.imread(path).ndim == 3
    nats = [float(line.split()[0]) for line in capsys.readouterr().out.splitlines()[3:]]
    assert len(nats) == 3
    assert nats == sorted(nats, reverse=True)


def test_a_saved_picture_has_nothing_behind_it_unless_it_had(tmp_path):
    for face, alpha in (("none", 0), ("white", 1)):
        figure = matplotlib.figure.Figure((2, 1), facecolor=face)
        figure.text(0.1, 0.5, "text", color="red", fontsize=30)
        save_picture(figure, tmp_path / "text.png")
        pixels = matplotlib.image.imread(tmp_path / "text.png")
        assert pixels[0, 0, 3] == alpha
        assert (pixels[..., 3] > 0.98).sum() > 20
        written = pixels[..., 3] * (1 - pixels[..., 1]) > 0.1  # not white, and there
        assert pixels[written][:, 0].min() > 0.9  # red at its edges, too


def test_clusters_are_in_the_order_of_the_groups(tmp_path):
    labels = np.repeat([2, 0, 3, 1], [12, 12, 8, 8])
    model = SimpleNamespace(labels_=labels, n_clusters_=4, cluster_centers_=np.eye(5)[:4])
    groups = np.repeat([0, 1, 0], [12, 20, 8])
    study = Study(model, [f"topic{k}" for k in range(5)], np.array(["a", "b"]), groups)
    np.testing.assert_array_equal(study.counts(), [[0, 8, 12, 0], [12, 0, 0, 8]])
    assert list(study.order()) == [2, 1, 0, 3]
    case_study.draw(study, tmp_path / "study.png")
    assert matplotlib.image.imread(tmp_path / "study.png").ndim == 3


def test_frequent_words_are_left_out_of_topics(corpus, monkeypatch):
    monkeypatch.setattr(case_study, "FREQUENT", 3)
    model = SimpleNamespace(components_=np.random.default_rng(0).random((3, 30)))
    everywhere = corpus.columns[np.argsort(-corpus.X.sum(axis=0))[:3]]
    words = " ".join(case_study.words_of(model, corpus)).split()
    assert len(words) == 3 * case_study.WORDS
    assert not set(everywhere) & set(words)


COORDINATES = np.arange(60 * 80).reshape(60, 80)


def test_every_texture_fills_a_rectangle():
    for n, seed in [(1, 0), (2, 1), (5, 2), (9, 0), (9, 1)]:
        image, labels = make_mondrian([np.full((4, 5), k) for k in range(n)], (40, 50), seed)
        np.testing.assert_array_equal(image, labels)
        assert np.unique(labels).tolist() == list(range(n))
        for k in range(n):
            y, x = np.nonzero(labels == k)
            assert len(y) == (np.ptp(y) + 1) * (np.ptp(x) + 1)


def test_parts_are_contiguous_small_textures_are_repeated_and_seeds_differ():
    image, labels = make_mondrian([COORDINATES, COORDINATES + 10_000], (50, 70), 0)
    for k in range(2):
        y, x = np.nonzero(labels == k)
        part = image[y.min() : y.max() + 1, x.min() : x.max() + 1]
        assert (np.diff(part, axis=1) == 1).all()
        assert (np.diff(part, axis=0) == 80).all()
    image, _ = make_mondrian([np.arange(12).reshape(3, 4)], (9, 12))
    np.testing.assert_array_equal(image, np.tile(image[:3, :4], (3, 3)))
    draw = [make_mondrian([COORDINATES, -COORDINATES], (30, 30), seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(draw[0].image, draw[1].image)
    assert not np.array_equal(draw[0].labels, draw[2].labels)


def test_invalid_input():
    for textures, shape, message in (
        ([], (8, 8), "at least one"),
        ([np.zeros((3, 3, 3))], (8, 8), r"\(h, w\)"),
        ([COORDINATES] * 5, (1, 2), "too small"),
        ([COORDINATES], (8, 8, 3), "height and the width"),
    ):
        refused(message, make_mondrian, textures, shape)
