"""Seconds and bytes."""
