"""Look into a fitted model: what its components are about, which rows are alike, its hierarchy."""

from skcooc.inspection.export import export_dict, export_text
from skcooc.inspection.features import (
    characteristic_features,
    node_top_features,
    top_features,
)
from skcooc.inspection.rows import nearest_rows, typical_rows

__all__ = [
    "characteristic_features",
    "export_dict",
    "export_text",
    "nearest_rows",
    "node_top_features",
    "top_features",
    "typical_rows",
]
