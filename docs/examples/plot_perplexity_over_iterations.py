"""
Why temper EM? Perplexity over the iterations
=============================================

At beta = 1 EM maximises the likelihood, and the model overfits: perplexity of held-out words rises
with the iterations. At a smaller inverse temperature beta it stays low. After
figure 7 of Hofmann and Puzicha (1998), on the King James Bible.
"""

# %%
# Half of the chapters. One tenth of the tokens of each is held out.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer

from skcooc import AspectModel
from skcooc.datasets import load_bible
from skcooc.metrics import perplexity
from skcooc.model_selection import split_counts

vectorizer = CountVectorizer(stop_words="english", min_df=3, max_df=0.25)
X = vectorizer.fit_transform(load_bible().data[::2]).astype(np.float32)
train, test = split_counts(X, random_state=0)


# %%
# Estimators take scikit-learn's callbacks. This one scores the model after every iteration, with
# 0.1 % of the overall word frequencies mixed in.
class Curves:
    """Perplexity of held-out and of training tokens after every iteration."""

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
        if fitted_estimator is not None:  # it is None in iterations of the start
            now = fitted_estimator
            for counts, curve in ((test, self.held_out), (train, self.training)):
                options = {"background": now.unigram_, "smoothing": 1e-3}
                curve.append(perplexity(counts, now.embedding_, now.components_, **options))
        return False


# %%
# The same initialisation at four temperatures, with plain EM and a fixed number of iterations. The
# first eight iterations are the warm-up, in which documents are clustered; all fits share it.
warnings.simplefilter("ignore", ConvergenceWarning)
curves = {}
for beta in (1.0, 0.9, 0.8, 0.7):
    model = AspectModel(32, beta=beta, solver="em", max_iter=80, tol=0, random_state=0)
    curves[beta] = Curves()
    model.set_callbacks(curves[beta]).fit(train)
    held_out = curves[beta].held_out
    print(f"beta {beta}: lowest {min(held_out):.0f}, last {held_out[-1]:.0f}")

# %%
# With plain EM the perplexity of held-out words doubles, while that of training words falls. With
# tempering the training words fit less well and the held-out words better, and the result hardly
# depends on the number of iterations. ``AspectModel`` tunes beta by default.
figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.4), sharey=True, layout="constrained")
colours = plt.get_cmap("plasma")(np.linspace(0.05, 0.85, len(curves)))
for (beta, curve), colour in zip(curves.items(), colours, strict=True):
    axes[0].plot(curve.held_out, color=colour, label=f"β = {beta}", linewidth=2)
    axes[1].plot(curve.training, color=colour, linewidth=2)
for ax, title in zip(axes, ("held-out words", "training words"), strict=True):
    ax.set_title(title, fontsize=11)
    ax.set_xlabel("iterations")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("perplexity")
figure.legend(frameon=False, loc="outside right center")
plt.show()
