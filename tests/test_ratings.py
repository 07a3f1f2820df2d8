"""Ratings as weights of dyads: against EM over one rating at a time, and what it is good for."""

import numpy as np

from skcooc import AspectModel, Dyads

RNG = np.random.default_rng(0)
TASTE, GENRE = np.arange(40) % 2, np.arange(24) % 2
USER = np.repeat(np.arange(40), 10)
FILM = np.concatenate([RNG.choice(24, 10, replace=False) for _ in range(40)])
STARS = np.where(TASTE[USER] == GENRE[FILM], 4.5, 1.0) + 0.5 * (RNG.random(400) < 0.5)
RATED = Dyads.from_frame({"user": USER, "film": FILM, "stars": STARS}, "user", "film", "stars")
CHOSEN = Dyads.from_frame({"user": USER, "film": FILM}, "user", "film")


def literal_step(user, film, stars, of_users, of_films, shares):
    """An iteration of EM, rating by rating: P(x given z), P(y given z) and P(z)."""
    users, films = np.zeros_like(of_users), np.zeros_like(of_films)
    for i, j, w in zip(user, film, stars, strict=True):
        joint = [shares[k] * of_users[k, i] * of_films[k, j] for k in range(len(shares))]
        for k, p in enumerate(joint):
            users[k, i] += w * p / sum(joint)
            films[k, j] += w * p / sum(joint)
    weights = films.sum(axis=1)
    return users / weights[:, None], films / weights[:, None], weights / weights.sum()


def of(model):
    return model.row_components_, model.components_, model.component_distribution_


def distance(model, stars):
    """How far an iteration goes from where a model has settled."""
    after = literal_step(USER, FILM, stars, *of(model))
    return max(np.abs(new - old).max() for new, old in zip(after, of(model), strict=True))


def test_em_weights_each_dyad_by_its_rating():
    model = AspectModel(2, beta=1.0, solver=1.0, tol=0, max_iter=1000, random_state=0)
    model.fit(RATED)
    assert distance(model, STARS) < 1e-6
    assert distance(model, np.ones(400)) > 1e-2  # the twin that does not look at the ratings


def liked(model):
    """Share of the films recommended that are to the taste of the user."""
    items = model.recommend(np.arange(40), 5).items.astype(int)
    return (GENRE[items] == TASTE[:, None]).mean()


def test_what_is_recommended_is_liked():
    weighted, plain = (AspectModel(2, beta=0.95, random_state=0).fit(X) for X in (RATED, CHOSEN))
    assert liked(weighted) > 0.95
    assert liked(plain) < 0.7  # the twin: films were chosen whatever the taste
