"""
Topics, co-clusters and a tree of the Bible
===========================================

Three models of one table of counts, and what each of them shows. The table has the 1,189 chapters
of the King James Bible and their words.
"""

# %%
# Words in a quarter of the chapters or more are left out, such as *unto* and *thou*, and words in
# fewer than five chapters.
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.datasets import load_bible

bible = load_bible()
vectorizer = CountVectorizer(stop_words="english", min_df=5, max_df=0.25)
X = vectorizer.fit_transform(bible.data)
words = vectorizer.get_feature_names_out()
books, sections = np.array(bible.groups), np.array(bible.sections)
print(f"{X.shape[0]} chapters, {X.shape[1]} words, {X.sum()} tokens")


def colours(n):
    return plt.get_cmap("turbo")(np.linspace(0.09, 0.91, n))


# %%
# **Topics.** Every chapter is a mixture of topics, and a topic is a distribution over words. Each
# row of the picture is a topic with its three most characteristic words. The area of a circle is
# the share of the topic in a section of the Bible.
from skcooc import AspectModel
from skcooc.inspection import characteristic_features

topics = AspectModel(16, random_state=0).fit(X)
n_tokens = topics.row_distribution_[:, None] * topics.embedding_  # (chapters, topics)
parts = list(dict.fromkeys(bible.sections))
shares = np.array([n_tokens[sections == part].sum(axis=0) for part in parts])
shares /= shares.sum(axis=1, keepdims=True)  # (sections, topics)


def draw_topics(figure, n_words=3, largest=480):
    order = np.argsort((shares / shares.sum(axis=0) * np.arange(len(parts))[:, None]).sum(axis=0))
    labels = characteristic_features(topics, words, n_features=n_words)
    ax = figure.add_subplot()
    for place, (k, colour) in enumerate(zip(order, colours(len(order)), strict=True)):
        ax.scatter(range(len(parts)), [place] * len(parts), largest * shares[:, k], color=[colour],
                   clip_on=False)  # fmt: skip
    ax.set(xlim=(-0.6, len(parts) - 0.4), ylim=(len(order) - 0.4, -0.7))
    ax.set_yticks(range(len(order)), [" ".join(labels[k]) for k in order], fontsize=9)
    ax.set_xticks(range(len(parts)), parts, fontsize=9, rotation=60, ha="left", va="bottom",
                  rotation_mode="anchor")  # fmt: skip
    ax.tick_params(length=0, labeltop=True, labelbottom=False, pad=2)
    ax.spines[:].set_visible(False)


draw_topics(plt.figure(figsize=(3.75, 3.9), layout="constrained"))
plt.show()

# %%
# **Co-clusters.** Every chapter belongs to one cluster of chapters, and every word to one of words.
# The stronger the colour, the more often the two meet, compared with independence: none at the
# frequency expected or below, full at four times that frequency or above.
from skcooc import SymmetricClustering

both = SymmetricClustering(8, 10, random_state=0).fit(X)
counts = np.array([X[both.row_labels_ == c].sum(axis=0).A1 for c in range(8)])  # (8, words)
expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
typical = (counts * np.log(np.maximum(counts, 1e-9) / expected)).max(axis=0)  # of each word


def name_chapters(labels, c, n_books):
    """The books with the most chapters in a cluster."""
    return ", ".join(book for book, _ in Counter(books[labels == c]).most_common(n_books))


def draw_coclusters(figure, n_words=3):
    lift = np.clip(np.log2(np.maximum(both.association_, 1e-9)) / 2, 0, 1)  # (8, 10)
    rows = np.argsort([np.flatnonzero(both.row_labels_ == c).mean() for c in range(8)])
    columns = np.argsort(lift[rows].argmax(axis=0), kind="stable")
    ax = figure.add_subplot()
    for place, (d, colour) in enumerate(zip(columns, colours(10), strict=True)):
        ax.bar(range(8), 0.94, 0.94, place - 0.47,
               color=[(*colour[:3], alpha) for alpha in lift[rows, d]])  # fmt: skip
    members = [np.flatnonzero(both.column_labels_ == d) for d in columns]
    labels = [" ".join(words[m[np.argsort(-typical[m])[:n_words]]]) for m in members]
    ax.set(xlim=(-0.5, 7.5), ylim=(9.5, -0.5))
    ax.set_yticks(range(10), labels, fontsize=9)
    names = [name_chapters(both.row_labels_, c, 1) for c in rows]
    ax.set_xticks(range(8), names, fontsize=9, rotation=60, ha="left", va="bottom",
                  rotation_mode="anchor")  # fmt: skip
    ax.tick_params(length=0, labeltop=True, labelbottom=False, pad=2)
    ax.spines[:].set_visible(False)


draw_coclusters(plt.figure(figsize=(3.75, 3.9), layout="constrained"))
plt.show()

# %%
# **A tree.** Every chapter belongs to a leaf, and each of its words comes from a node on the path
# from the root to that leaf: general words gather at the top, specific ones at the leaves. Each
# node has the words that tell it from the node above; a leaf has the two books with most chapters
# there.
from skcooc import ClusterAbstraction

tree = ClusterAbstraction(8, n_init=5, random_state=0).fit(X)  # the best of five starts


def draw_tree(figure, n_words=4, n_books=2, width=11.0):
    nodes, features = tree.tree_, characteristic_features(tree, words, n_features=n_words)
    cluster_of = {leaf: cluster for cluster, leaf in enumerate(nodes.leaves.tolist())}
    line, n_lines = {}, 0  # of each node; a leaf has two

    def visit(node):
        nonlocal n_lines
        line[node] = n_lines
        n_lines += 1.9 if node in cluster_of else 1.1
        for child in nodes.children(node).tolist():
            visit(child)

    visit(0)
    ax = figure.add_subplot()
    shade = plt.rcParams["text.color"]
    for node, y in line.items():
        x = 0.35 + 1.1 * nodes.depths[node]
        for child in nodes.children(node).tolist():
            ax.plot([x, x, x + 0.9], [y, line[child], line[child]], color="0.6", lw=0.8, zorder=0)
        cluster, text = cluster_of.get(node), ", ".join(features[node])
        if cluster is None:
            ax.scatter(x, y, 30, color="0.6")
            ax.text(x + 0.35, y, text, fontsize=9, va="center", color=shade)
        else:
            ax.scatter(x, y, 70, color=colours(8)[cluster])
            name = name_chapters(tree.labels_, cluster, n_books)
            ax.text(x + 0.45, y, name, fontsize=9, va="center", weight="bold", color=shade)
            ax.text(x + 0.45, y + 0.8, text, fontsize=9, va="center", color=shade)
    ax.set(xlim=(0, width), ylim=(n_lines - 0.3, -0.7))
    ax.set_axis_off()


draw_tree(plt.figure(figsize=(3.75, 3.9), layout="constrained"))
plt.show()
