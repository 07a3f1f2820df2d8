"""The live page of `explore` that the site shows: topics of the King James Bible."""

from pathlib import Path
from typing import Any

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sphinx.application import Sphinx

from skcooc import AspectModel
from skcooc.datasets import load_bible
from skcooc.inspection import Explorer, explore

NAME = "explorer.html"


def bible_page(image: str | None = None) -> Explorer:
    """Make the page, by the code of the first page of the site."""
    bible = load_bible()
    vectorizer = CountVectorizer(stop_words="english", min_df=5, max_df=0.25)
    model = make_pipeline(vectorizer, AspectModel(16, random_state=0)).fit(bible.data)
    return explore(
        model,
        bible.data,
        row_names=bible.names,
        groups={"section": bible.sections},
        title="The King James Bible",
        image=image,
    )


def write(app: Sphinx, error: Exception | None) -> None:
    """Save the page beside the pages of the site, whose links lead to it."""
    if error is None and app.builder.format == "html":
        base = app.config.html_baseurl
        page = bible_page(image=f"{base}_static/card.png" if base else None)
        page.save(Path(app.outdir) / NAME)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect what Sphinx calls."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
