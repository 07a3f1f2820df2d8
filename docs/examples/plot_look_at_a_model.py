"""
An HTML report of a topic model
===============================

:func:`~skcooc.inspection.explore` writes a topic model into one HTML page: the words of each topic,
its documents, its share in groups of documents, and a map. The page needs only a browser and no
network. The page at the end of this example is live: try *By section* and *Documents*.
"""

# %%
# Sixteen topics of the 1,189 chapters of the King James Bible.
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel
from skcooc.datasets import load_bible
from skcooc.inspection import explore

bible = load_bible()
pipeline = make_pipeline(
    CountVectorizer(stop_words="english", min_df=5, max_df=0.25),
    AspectModel(16, random_state=0),
).fit(bible.data)

# %%
# The sections of the Bible are the groups. ``explore(...).save("topics.html")`` writes a file. The
# how-to on :doc:`texts </howto/texts>` explains what is on the page.
explore(
    pipeline,
    bible.data,
    row_names=bible.names,
    groups={"section": bible.sections},
    title="The King James Bible",
)

# sphinx_gallery_thumbnail_path = "landing/explorer.png"
