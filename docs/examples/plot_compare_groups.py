"""
Topics, and their shares in groups of documents
===============================================

What are the topics of a collection, and which group of documents writes about what? Four displays
of one model of the King James Bible. A topic has the same colour in all of them.
"""

# %%
# Sixteen topics of 1,189 chapters. The sections of the Bible are the groups.
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from skcooc import AspectModel
from skcooc.datasets import load_bible
from skcooc.inspection import compare_shares
from skcooc.plotting import SharesDisplay, StructureDisplay, TopicMapDisplay, TopicsDisplay

bible = load_bible()
order = list(dict.fromkeys(bible.sections))  # from Law to Revelation
section = pd.Series(pd.Categorical(bible.sections, order), name="section")
pipeline = make_pipeline(
    CountVectorizer(stop_words="english", min_df=5, max_df=0.25),
    AspectModel(16, random_state=0),
).fit(bible.data)

# %%
# **Words.** The nine largest topics with their characteristic words, which are more probable in the
# topic than overall. A bar is the probability of the word in the topic, the mark its probability in
# the whole collection.
TopicsDisplay.from_estimator(pipeline, topics=9, n_features=7)

# %%
# **Shares.** A dot is the share of a topic in all words of a section, the dashed line its share in
# the whole collection.
SharesDisplay.from_estimator(pipeline, section, X=bible.data, topics=6)

# %%
# Is a difference between a section and all others more than chance? The 95 % intervals are from
# resampled chapters; the p-values are adjusted for the number of tests.
table = compare_shares(pipeline, section, X=bible.data, random_state=0)
found = table[table["p_adjusted"] < 0.05].sort_values("difference", ascending=False)
print(f"{len(found)} of {table['n_tests'][0]} differences are significant. The largest:")
columns = ["group", "topic", "share", "rest", "low", "high"]
print(found[columns].head(6).round(2).to_string(index=False))

# %%
# **Chapters.** Each bar is a chapter, divided into its topics.
StructureDisplay.from_estimator(pipeline, section)

# %%
# **A map.** Topics with similar words are neighbours. Do not interpret large distances.
TopicMapDisplay.from_estimator(pipeline)
