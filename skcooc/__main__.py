"""``python -m skcooc``: compare models on a corpus, and look at what they found."""

from skcooc.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
