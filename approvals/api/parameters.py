"""The query parameters that several calls share, typed as their texts."""

from typing import Annotated, Literal

from ninja import Query
from pydantic import Field

Limit = Annotated[int, Query(ge=1, le=200, description="At most so many items.")]
Flag = Annotated[Literal["0", "1"], Query(description="1 gives all interrupts of the run.")]
Filter = Annotated[str | None, Query(min_length=1, max_length=255, pattern=r"^[^\x00]+$")]
AfterId = Annotated[
    str | None,
    Query(pattern=r"^[a-z]{3}_[0-9a-z]{26}$", description="The `next` of the page before."),
]
Digits = Annotated[str, Field(pattern=r"^[0-9]{1,9}$")]
WaitS = Annotated[
    Digits | None,
    Query(description="Seconds to wait for news, 0 to 55; larger counts as 55."),
]
AfterSeq = Annotated[
    Digits | None, Query(description="Wait until the run's `seq` is larger than this.")
]
AfterNumber = Annotated[
    str,
    Query(pattern=r"^[0-9]{1,15}$", description="The `next` of the page before; 0 at the start."),
]
