"""Quality of factorisations, topics, clusterings and rankings of any estimator.

Normalised mutual information and the adjusted Rand index of one partition are scikit-learn's:
:func:`sklearn.metrics.normalized_mutual_info_score`, :func:`sklearn.metrics.adjusted_rand_score`.
"""

from skcooc.metrics.coclustering import (
    clustering_accuracy,
    coclustering_adjusted_rand,
    integrated_complete_likelihood,
    mutual_information,
    mutual_information_kept,
)
from skcooc.metrics.predictions import (
    best_smoothing,
    best_weights,
    make_unseen_scorer,
    perplexity,
    perplexity_of,
    score_parts,
    unigram,
    unseen_perplexity,
)
from skcooc.metrics.ranking import (
    average_precision_by_query,
    make_ranking_scorer,
    ndcg_at_k,
    recall_at_k,
)
from skcooc.metrics.texts import make_text_scorer
from skcooc.metrics.topics import npmi_coherence, topic_diversity

__all__ = [
    "average_precision_by_query", "best_smoothing", "best_weights", "clustering_accuracy",
    "coclustering_adjusted_rand", "integrated_complete_likelihood", "make_ranking_scorer",
    "make_text_scorer", "make_unseen_scorer", "mutual_information", "mutual_information_kept",
    "ndcg_at_k", "npmi_coherence", "perplexity", "perplexity_of", "recall_at_k", "score_parts",
    "topic_diversity", "unigram", "unseen_perplexity",
]  # fmt: skip
