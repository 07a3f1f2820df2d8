"""Quality of factorisations, topics, clusterings and rankings, whatever estimator they come from.

Normalised mutual information and the adjusted Rand index of one partition are scikit-learn's:
:func:`sklearn.metrics.normalized_mutual_info_score`, :func:`sklearn.metrics.adjusted_rand_score`.
"""

from skcooc.metrics.coclustering import (
    clustering_accuracy,
    coclustering_adjusted_rand,
    mutual_information,
    mutual_information_kept,
)
from skcooc.metrics.factorisations import best_smoothing, perplexity, unigram
from skcooc.metrics.likelihood import integrated_complete_likelihood
from skcooc.metrics.predictions import best_weights, perplexity_of
from skcooc.metrics.ranking import average_precision_by_query
from skcooc.metrics.recommending import make_ranking_scorer, ndcg_at_k, recall_at_k
from skcooc.metrics.topics import npmi_coherence, topic_diversity
from skcooc.metrics.unseen import make_unseen_scorer, score_parts, unseen_perplexity

__all__ = [
    "average_precision_by_query",
    "best_smoothing",
    "best_weights",
    "clustering_accuracy",
    "coclustering_adjusted_rand",
    "integrated_complete_likelihood",
    "make_ranking_scorer",
    "make_unseen_scorer",
    "mutual_information",
    "mutual_information_kept",
    "ndcg_at_k",
    "npmi_coherence",
    "perplexity",
    "perplexity_of",
    "recall_at_k",
    "score_parts",
    "topic_diversity",
    "unigram",
    "unseen_perplexity",
]
