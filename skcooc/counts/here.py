"""What counts do that lie in memory, and others do elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Here:
    """Counts on which a model works directly."""

    def expect(self, model: Any, params: Any, rows: Any, beta: float) -> tuple[Any, Any]:
        """The E-step of a model on these counts: row states and statistics."""
        return model.expect(self, params, rows, beta)

    def over_states(self, function: Callable[..., Any], *states: Any) -> Any:
        """function(*states), which makes states of these rows of others."""
        return function(*states)
