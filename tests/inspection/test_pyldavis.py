import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation

from skcooc import AspectModel, AsymmetricClustering
from skcooc.inspection import to_pyldavis
from tests.inspection.planted import hierarchy_model


@pytest.fixture(scope="module")
def X():
    """With an empty row and an empty column."""
    counts = np.random.default_rng(0).poisson(1.0, (30, 15))
    counts[4], counts[:, 6] = 0, 0
    return counts


@pytest.fixture(scope="module")
def model(X):
    return AspectModel(4, beta=0.9, component_prior=0, random_state=0, tol=1e-4).fit(X)


def test_arrays_against_the_model(model, X):
    arguments = to_pyldavis(model, sp.csr_array(X))
    np.testing.assert_allclose(arguments["topic_term_dists"], model.components_, atol=1e-11)
    assert arguments["topic_term_dists"].min() > 0.9e-12
    np.testing.assert_allclose(arguments["doc_topic_dists"], model.transform(X))
    assert arguments["doc_lengths"].tolist() == X.sum(axis=1).tolist()
    assert arguments["term_frequency"].tolist() == X.sum(axis=0).tolist()
    assert arguments["vocab"].tolist() == [f"x{j}" for j in range(15)]
    assert set(map(type, arguments.values())) == {np.ndarray}


def test_rows_are_distributions_also_of_float32_and_of_other_libraries(X):
    ours = AspectModel(4, beta=0.9, random_state=0).fit(X.astype(np.float32))
    for model in (ours, LatentDirichletAllocation(3, max_iter=2, random_state=0).fit(X)):
        arguments = to_pyldavis(model, X)
        for name in ("topic_term_dists", "doc_topic_dists"):
            assert arguments[name].dtype == np.float64
            np.testing.assert_allclose(arguments[name].sum(axis=1), 1, rtol=1e-12)
    model = hierarchy_model()
    arguments = to_pyldavis(model, np.ones((3, 30)))
    assert arguments["doc_topic_dists"].shape == (3, model.tree_.n_nodes)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        AspectModel(4, beta=0.9, component_prior=0, random_state=0),
        AsymmetricClustering(4, hard=True, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_the_page_of_pyldavis(estimator, X):
    pyLDAvis = pytest.importorskip("pyLDAvis")
    estimator.fit(X)
    prepared = pyLDAvis.prepare(**to_pyldavis(estimator, X), n_jobs=1, sort_topics=False)

    def no_constant(name):
        raise AssertionError(f"{name} is not JSON")

    data = json.loads(prepared.to_json(), parse_constant=no_constant)
    assert set(data["tinfo"]["Term"]) <= {f"x{j}" for j in range(15)}
    words = X.sum(axis=1) @ estimator.transform(X) / X.sum()
    np.testing.assert_allclose(np.array(data["mdsDat"]["Freq"]) / 100, words, rtol=1e-6)
    assert "<script" in pyLDAvis.prepared_data_to_html(prepared)
