"""How a model is fitted to counts: plans, searches, restarts, streams, fold-in."""
