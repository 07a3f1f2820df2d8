"""Mixture models for co-occurrence data, compatible with scikit-learn."""
