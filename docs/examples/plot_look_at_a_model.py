"""
An HTML report of a topic model
===============================

:func:`~skcooc.inspection.explore` writes a topic model into one HTML page: the words of each topic,
its documents, its share in groups of documents, and a map. The page needs only a browser and no
network. Below it stands in a frame; try *By section* and *Documents*.
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
# What an answer takes, for 20 topics of 2,000 abstracts: clicks or hovers, and seconds by the
# keystroke-level model (1.1 to point, 0.2 to click, 0.28 a key, 1.35 to think at each step). This
# page and pyLDAvis 3.4.1 were operated by a script in Chromium; topicwizard 1.1.4 and BERTopic
# 0.17.4 were counted from their layout and their calls, which are typed in full.
#
# ==================================  ===========  ============  ===========  =============
# question                            this page    pyLDAvis      topicwizard  BERTopic
# ==================================  ===========  ============  ===========  =============
# What topics are there?              0, 1.4 s     20, 49 s [1]  0, 1.4 s     1 call, 9.8 s
# How much of each?                   0, 1.4 s     20, 49 s      no numbers   1 call, 9.8 s
# Which words define a topic?         1, 2.5 s     1, 2.5 s      1, 2.7 s     1 call, 8.4 s
# Which documents belong to one?      1, 2.7 s     no            2, 5.3 s     1 call, 12 s
# In which of three groups is it?     1, 2.7 s     no            4, 11 s      2 calls, 31 s
# When?                               1, 2.7 s     no            no           2 calls, 27 s
# What is one document about?         1, 4.9 s     no            2, 7.8 s     1 call, 11 s
# Which of 20 words are ambiguous?    1, 2.7 s     20, 49 s      21, 56 s     20 calls [2]
# Which topics are alike?             0, 1.4 s     0, 1.4 s      0, 1.4 s     1 call, 10 s
# How good is the model?              1, 2.7 s     no            no           no
# Where is a word that is listed?     1, 2.5 s     1, 2.5 s      2, 7.0 s     1 call, 11 s
# Share what I see                    0, 1.9 s     0, 1.9 s      no, server   one figure
# until the page can be used          0.3 s        0.2 s         8 s          2 to 4 s
# ==================================  ===========  ============  ===========  =============
#
# [1] Topics have numbers, no names. [2] By similarity, with a model of embeddings. The page of
# pyLDAvis is smaller, and loads faster where its scripts are at hand; others are equal where they
# show the same.

# sphinx_gallery_thumbnail_path = "landing/explorer.png"
