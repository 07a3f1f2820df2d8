"""``python -m skcooc``: the command ``skcooc`` where only Python is on the path."""

from skcooc.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
