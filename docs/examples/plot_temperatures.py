"""
Which temperature, and how many aspects?
========================================

Both are chosen by the perplexity of held-out observations. ``beta="auto"``, the default, does it
for the temperature on a single tenth of the observations; :class:`TemperatureSearchCV
<skcooc.model_selection.TemperatureSearchCV>` does it by cross-validation, for the number of aspects
too, with a small part of the fits of ``GridSearchCV``.
"""

# %%
# Every fourth of the docstrings of NumPy, SciPy and scikit-learn.
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.datasets import load_docstrings

texts = load_docstrings().data[::4]
vectorizer = CountVectorizer(stop_words="english", min_df=5, token_pattern=r"[a-zA-Z]{3,}")
X = vectorizer.fit_transform(texts)

# %%
# What ``fit`` finds by itself, and the temperatures it tried.
import matplotlib.pyplot as plt

from skcooc import AspectModel
from skcooc.plotting import PerplexityDisplay

model = AspectModel(24, random_state=0).fit(X)
print(f"inverse temperature {model.beta_:.3f}, smoothing {model.smoothing_:.3f}")
PerplexityDisplay.from_estimator(model)
plt.show()

# %%
# Three folds of the observations, not of the documents: every document is in all of them with a
# part of its words. In each fold short fits show where the best temperature is, and full fits are
# made only there, which is why the curves do not reach everywhere.
from skcooc.model_selection import TemperatureSearchCV

search = TemperatureSearchCV(
    AspectModel(random_state=0), param_grid={"n_components": [8, 24, 72]}, cv=3, n_jobs=2
).fit(X)
print(search.best_params_)

PerplexityDisplay.from_search(search)
plt.show()

# %%
# More aspects need a higher temperature, that is, a smaller beta: they have more freedom to fit
# what is accidental. The best of several scores is always a little too good; a figure to report
# comes from observations that the search has not seen.
