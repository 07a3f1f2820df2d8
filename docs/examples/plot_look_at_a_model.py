"""
An HTML report of a topic model
===============================

:func:`~skcooc.inspection.explore` writes a topic model into one HTML page: the words of each topic,
its documents, its share in groups of documents, and a map. The page needs only a browser and no
network. Below it stands in a frame; try *Shares* and *Documents*.
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

# %%
# Clicks or searches to an answer about K topics, counted in a browser on this page, and read from
# the layout of pyLDAvis 3.4.1; both keep the view in the address:
#
# ========================================  =========  ============
# question                                  this page  pyLDAvis
# ========================================  =========  ============
# What topics are there?                    0          K, no names
# How much of each?                         0          K
# Which words define a topic?               0          1
# Which documents belong to one?            1, scroll  not possible
# In which group is it?                     1          not possible
# When?                                     1, scroll  not possible
# What is one document about?               1          not possible
# Which topics share a word?                1          1, if listed
# Which topics are alike?                   0          0
# How good is the model?                    1          not possible
# Where is a word?                          1          not possible
# Share what I see                          0          0
# ========================================  =========  ============

# sphinx_gallery_thumbnail_path = "landing/explorer.png"
