"""
Perplexity in the course of a fit
=================================

What a temperature is for: at inverse temperature 1 EM maximises the likelihood, and the perplexity
of held-out observations falls and then rises again. At smaller ones it falls, and stays. After
figure 7 of Hofmann and Puzicha, *Statistical models for co-occurrence data* (1998), on other data:
every fourth of the docstrings of NumPy, SciPy and scikit-learn.
"""

# %%
# One tenth of the words of every docstring is held out.
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.datasets import load_docstrings
from skcooc.model_selection import split_counts

vectorizer = CountVectorizer(stop_words="english", min_df=5, token_pattern=r"[a-zA-Z]{3,}")
X = vectorizer.fit_transform(load_docstrings().data[::4]).astype(np.float32)
train, test = split_counts(X, random_state=0)
print(f"{X.shape[0]} docstrings, {X.shape[1]} words, {X.sum():.0f} observations")


# %%
# The estimators take scikit-learn's callbacks, and one of these sees the model after every
# iteration. This one notes the perplexity of the words that are held out, and of those that are
# not, both with a thousandth of the unigram mixed in.
from skcooc.metrics import perplexity


class Curves:
    """Perplexity of held-out and of training observations after every iteration."""

    def __init__(self):
        self.held_out, self.training = [], []

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing to close."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to note."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        """Score the model as it is now; True would stop the fit."""
        if context.task_name == "iteration":
            A, B, b = (getattr(fitted_estimator, name) for name in NAMES)
            self.held_out.append(perplexity(test, A, B, background=b, smoothing=1e-3))
            self.training.append(perplexity(train, A, B, background=b, smoothing=1e-3))
        return False


NAMES = "embedding_", "components_", "unigram_"

# %%
# The same random start at five temperatures; plain EM, as in the memo. It warns that it has not
# converged after a hundred iterations, which is as it should be here.
import warnings

from sklearn.exceptions import ConvergenceWarning

from skcooc import AspectModel

warnings.simplefilter("ignore", ConvergenceWarning)
curves = {}
for beta in (1.0, 0.9, 0.8, 0.7, 0.6):
    model = AspectModel(64, beta=beta, solver=1.0, max_iter=100, tol=0, random_state=0)
    curves[beta] = Curves()
    model.set_callbacks(curves[beta]).fit(train)
    held_out = curves[beta].held_out
    print(f"beta {beta}: least {min(held_out):.0f}, last {held_out[-1]:.0f}")

# %%
# The better a model explains the words it was fitted to, the better it predicts others only up to a
# point. With the right temperature it hardly matters when EM is stopped. Where the temperature is
# too high all aspects become the same, and the model is the unigram again.
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
colours = plt.get_cmap("plasma")(np.linspace(0.05, 0.85, len(curves)))
for (beta, curve), colour in zip(curves.items(), colours, strict=True):
    left.plot(curve.held_out, color=colour, label=f"β = {beta}")
    right.plot(curve.training, color=colour)
left.set(yscale="log", title="held-out words", xlabel="iterations", ylabel="perplexity")
left.set_yticks([200, 300, 400, 600], ["200", "300", "400", "600"])
left.minorticks_off()
right.set(title="training words", xlabel="iterations")
figure.legend(frameon=False, loc="outside right center")
plt.show()
