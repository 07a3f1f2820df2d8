"""
Words before and words after: aspects of the Bible
==================================================

Two words in a row are a dyad: the preceding word is the row of the table, the following word the
column. The aspect model of such a table is the aggregate Markov model of Saul and Pereira: between
the two words stands an aspect, of which there are much fewer than words,

.. math:: P(y \\mid x) = \\sum_z P(z \\mid x) \\, P(y \\mid z).

After figure 1 of Hofmann, Puzicha and Jordan, *Learning from dyadic data* (NIPS 1998), on the same
text, the King James Bible. In the paper, punctuation marks are words of their own. With them, a
third of the aspects has little else than marks on one of its sides. So they are left out here, and
with them the 27 % of the bigrams that have one: words at the two sides of a comma are no bigram.
"""

# %%
# The table has a row and a column for each word. One tenth of the bigrams is held out; everything
# else is left to the defaults, under which the inverse temperature is found on bigrams that are
# held out inside ``fit``.
import numpy as np

from benchmarks import corpora
from skcooc import AspectModel, Dyads
from skcooc.metrics import perplexity, unigram
from skcooc.model_selection import split_counts

X, words, _, _ = corpora.bible()
spelt = np.array([word[0].isalpha() for word in words])
X, words = X[spelt][:, spelt], words[spelt]
print(f"{X.shape[0]} words, {X.sum()} bigrams")

train, test = split_counts(X.astype(np.float32), random_state=0)
model = AspectModel(n_components=32, random_state=0).fit(train)

alone = perplexity(test, np.ones((len(words), 1)), [unigram(train)])
print(f"inverse temperature {model.beta_:.2f}")
print(f"perplexity of the held-out bigrams: {model.perplexity(Dyads(test)):.0f}")
print(f"without the preceding word: {alone:.0f}")

# %%
# An aspect has two distributions of words: those it comes after, P(x given z), which Bayes' rule
# gives, and those it generates, P(y given z). Although both sides have the same words, the aspects
# use them differently: *two*, *three* and *seven* come before *years* and *cubits*, and *hundred*
# is on either side.
before = model.row_distribution_[:, None] * model.embedding_
before = (before / before.sum(axis=0)).T
after = model.components_


def table(distribution, n_words=7):
    """The most probable words of a distribution."""
    return " ".join(words[np.argsort(-distribution)[:n_words]])


by_weight = np.argsort(-model.weights_)
for z in by_weight:
    print(f"{model.weights_[z]:.3f}  {table(before[z]):46} | {table(after[z])}")

# %%
# Most of the aspects are grammar: pronouns and the verbs after them, verbs and their prepositions,
# auxiliaries and participles, possessives and parts of the body. *And*, *of* and *the* are in many
# of them; among the smallest are the purest. The picture has every third aspect by its weight, so
# that nothing is selected, and the last.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(3, 4, figsize=(9, 6.2), layout="constrained")
for z, ax in zip([*by_weight[::3], by_weight[-1]], axes.flat, strict=True):
    for side, distribution, color in ((-1, before[z], "C0"), (1, after[z], "C1")):
        top = np.argsort(-distribution)[:5]
        ax.barh(np.arange(5), side * distribution[top], color=color, alpha=0.4)
        for y, j in enumerate(top):
            ax.text(side * 0.02, y, words[j], ha="left" if side > 0 else "right", va="center",
                    fontsize=8, parse_math=False)  # fmt: skip
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.set(xlim=(-1, 1), ylim=(4.6, -0.6), xticks=[-0.5, 0, 0.5], yticks=[])
    ax.set_xticklabels(["0.5", "0", "0.5"], fontsize=7)
    ax.set_title(f"P(z) = {model.weights_[z]:.3f}", fontsize=8)
    ax.spines[["left", "right", "top"]].set_visible(False)
figure.suptitle("Preceding words P(x given z), and following words P(y given z)", fontsize=10)
plt.show()
