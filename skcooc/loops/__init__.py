"""Compiled loops of single models over a block of counts, one file for a kind of loop."""
