"""
Averages of models
==================

EM ends in a local optimum, and each random start in another one. What they have in common is in the
data; where they differ, they err differently. The mean of what they predict is better than any of
them.
"""

# %%
# Every fourth of the docstrings of NumPy, SciPy and scikit-learn; one tenth of the words is held
# out.
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.datasets import load_docstrings
from skcooc.model_selection import split_counts

texts = load_docstrings().data[::4]
vectorizer = CountVectorizer(stop_words="english", min_df=5, token_pattern=r"[a-zA-Z]{3,}")
train, test = split_counts(vectorizer.fit_transform(texts), random_state=0)

# %%
# Averages of two, four and eight models with 20 aspects each. Beta is chosen for the mean, and
# is the larger the more models there are: a mean needs less regularisation.
from skcooc import AspectModel, AveragedModels, Dyads

averages = [
    AveragedModels(AspectModel(20, component_prior=0), n, n_jobs=2, random_state=0).fit(train)
    for n in (2, 4, 8)
]
for average in averages:
    print(
        f"{len(average.estimators_):2} models: inverse temperature {average.beta_:.2f}, "
        f"perplexity {average.perplexity(Dyads(test)):.0f}"
    )

# %%
# Single models for comparison, each with the temperature that is best for itself.
import matplotlib.pyplot as plt

singles = [
    AspectModel(20, component_prior=0, n_jobs=2, random_state=seed)
    .fit(train)
    .perplexity(Dyads(test))
    for seed in range(3)
]

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot([1] * 3, singles, "o", color="0.5", label="single models")
sizes = [len(average.estimators_) for average in averages]
perplexities = [average.perplexity(Dyads(test)) for average in averages]
ax.plot(sizes, perplexities, "o-", label="their average")
ax.set(xscale="log", xlabel="models in the average", ylabel="perplexity of held-out words")
ax.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()
