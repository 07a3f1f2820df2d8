"""``python -m skcooc``: compare models on a corpus, and report their topics."""

from skcooc.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
