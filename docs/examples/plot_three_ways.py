"""
Who, what and when: three ways at once
======================================

An observation may have three members: a user, an item and an hour. A table has two sides, and would
have to leave one of them out. :class:`~skcooc.TriadicAspectModel` has a distribution over each of
the three ways for every aspect.
"""

# %%
# Made-up purchases of three habits: coffee early, lunch at noon, films at night. Every user has two
# of them, and a fifth of what is bought is chance.
import numpy as np

rng = np.random.default_rng(0)
items = np.array(["coffee", "roll", "paper", "soup", "salad", "pasta", "film", "crisps", "beer"])
hours_of = np.array([[7, 8, 9], [12, 13, 14], [20, 21, 22]])
users = rng.integers(60, size=6000)
habits = (users + rng.integers(2, size=6000)) % 3
bought = items[3 * habits + rng.choice(3, size=6000, p=[0.5, 0.3, 0.2])]
hours = hours_of[habits, rng.integers(3, size=6000)]
chance = rng.random((2, 6000)) < 0.2
bought[chance[0]] = rng.choice(items, chance[0].sum())
hours[chance[1]] = rng.integers(6, 24, chance[1].sum())

# %%
# :class:`~skcooc.Triads` are such observations. A tenth of them is held out. From user and item the
# hour is predicted by three ways; from the item alone, by the table of items and hours.
from skcooc import AspectModel, TriadicAspectModel, Triads
from skcooc.model_selection import split_counts

observed = Triads.from_frame({"user": users, "item": bought, "hour": hours}, "user", "item", "hour")
train, test = split_counts(observed, random_state=0)
model = TriadicAspectModel(3, random_state=0).fit(train)
pairs = AspectModel(3, random_state=0).fit(train.dyads(1, 2))
print(f"{len(np.unique(hours))} hours")
print(f"from user and item: perplexity {model.perplexity(test):.1f}")
print(f"from the item:      perplexity {pairs.perplexity(test.dyads(1, 2)):.1f}")

# %%
# Each aspect has items and hours that go together, and a share of each user.
import matplotlib.pyplot as plt

names, at = observed.names[1], observed.names[2]
figure, axes = plt.subplots(3, 2, figsize=(7, 4.2), sharex="col", layout="constrained")
for z, (left, right) in enumerate(axes):
    left.bar(range(len(names)), model.middle_components_[z], color=f"C{z}")
    right.bar(at, model.components_[z], color=f"C{z}")
    left.set(ylabel=f"P(z) = {model.weights_[z]:.2f}", yticks=[])
    right.set_yticks([])
axes[0, 0].set_title("items")
axes[0, 1].set_title("hours")
axes[2, 0].set_xticks(range(len(names)), names, rotation=45)
plt.show()
