"""
A page to look through a model
==============================

Documented functions and classes of NumPy, SciPy and scikit-learn, fitted by an aspect model, and
the page that :func:`skcooc.inspection.explore` makes of it: one HTML file that needs no network.
Here it stands in a frame.
"""

# %%
# A fourth of the docstrings, and their words. With the texts and the vectorizer at hand, the page
# shows the documents with each word in the colour of its topic.
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel
from skcooc.datasets import load_docstrings
from skcooc.inspection import explore

corpus = load_docstrings()
texts, names = corpus.data[::4], corpus.names[::4]
libraries = [name.split(".")[0] for name in names]
pipeline = make_pipeline(
    CountVectorizer(stop_words="english", min_df=5, max_df=0.2, token_pattern="[a-z]{3,}"),
    AspectModel(12, beta=0.85, random_state=0),
).fit(texts)

# %%
# The libraries are the groups. Topics can be renamed; choose one, or try *Map* and *Documents*.
# ``.save("topics.html")`` would write the page into a file.
explore(pipeline, texts, row_names=names, groups=libraries, title="Docstrings")

# sphinx_gallery_thumbnail_path = "landing/explorer.png"
