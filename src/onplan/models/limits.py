"""How long a conversation each model takes, by a table with its date, and a cautious guess for the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from onplan.models.names import bare_name


class ContextLimits(msgspec.Struct, frozen=True):
    """Tokens of a prompt. `date`: when the table was last compared with the providers' own pages; `models`:
    by the beginning of the name, of which the longest counts."""

    date: str
    default: int
    models: Mapping[str, int]

    def of_model(self, name: str) -> int:
        """Of a model by any of its names. A server may allow less than its model could take."""
        bare = bare_name(name).rpartition("/")[2]
        fitting = [beginning for beginning in self.models if bare.startswith(beginning)]
        return self.models[max(fitting, key=len)] if fitting else self.default


def load_limits() -> ContextLimits:
    """The table that comes with this version."""
    return msgspec.json.decode(Path(__file__).with_name("limits.json").read_bytes(), type=ContextLimits)
