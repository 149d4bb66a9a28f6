"""Errors, and the retries that each allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import httpx

from .wire import ApiError

Retry = Literal["same_request", "new_turn", "never"]
"""The retry that an error allows: `same_request` sends the same request again later, ids included; `new_turn` sends the
same input as a new turn; `never` needs a change first."""

SAME_REQUEST: dict[str, int] = {
    "TooManyRequests": 429,
    "BudgetExceeded": 429,
    "TurnInProgress": 409,
    "SessionBusy": 409,
    "StorageUnavailable": 503,
    "Internal": 500,
    "FunctionFailed": 502,
    "FunctionTimedOut": 504,
}
"""Codes that allow a retry of the same request, with their HTTP status."""

NEW_TURN: dict[str, int] = {
    "TurnCancelled": 409,
    "TurnSuperseded": 409,
    "ToolDeadlineExpired": 409,
    "TurnAbandoned": 503,
    "TurnNotStored": 503,
    "ModelRateLimited": 503,
    "ModelUnavailable": 503,
    "ModelTimedOut": 504,
    "ModelReplyMalformed": 502,
    "ModelReplyIncomplete": 502,
    "ModelReplyEmpty": 502,
    "ToolRoundsExceeded": 502,
    "TurnOverBudget": 429,
}
"""Codes of a turn that failed for good, with their HTTP status."""

#: Statuses that allow a retry of a response that comes from a proxy or gateway instead of the API.
TRANSIENT_STATUSES = {408, 425, 429, 500, 502, 503, 504}


class AptixError(Exception):
    """An error of the API, of the connection to it, or of this client.

    Example:
        try:
            answer = session.run("Hello")
        except AptixError as error:
            if error.retry != "new_turn":
                raise
            answer = session.run("Hello")
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int | None = None,
        details: str | None = None,
        retry: Retry = "never",
        retry_after: float | None = None,
        errors: list[ApiError] | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        """The API's error code, or one of this client's: `Unreachable`, `Interrupted`, `Unreadable`, `Closed`."""
        self.status = status
        """The HTTP status; `None` without a response."""
        self.details = details
        """The member, rule or id that the error is about."""
        self.retry: Retry = retry
        """The retry that this error allows."""
        self.retry_after = retry_after
        """Seconds before a retry, if the API gives them."""
        self.errors = errors or []
        """All errors of the response. The first is this one."""
        self.request_id = request_id
        """The request's id in the service's logs."""

    def __repr__(self) -> str:
        return f"AptixError({self.message!r}, code={self.code!r}, status={self.status!r}, retry={self.retry!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Processes pass errors on as their attributes.
        return _restore, (self.message, self.code), self.__dict__

    @classmethod
    def from_envelope(cls, envelope: Mapping[str, Any], response: httpx.Response | None = None) -> AptixError:
        """Returns the first error of an envelope."""
        errors = [error for error in envelope.get("Errors") or [] if isinstance(error, dict)]
        first: dict[str, Any] = errors[0] if errors else {}
        code = str(first.get("ErrorCode", "Unreadable"))
        retry: Retry = "same_request" if code in SAME_REQUEST else "new_turn" if code in NEW_TURN else "never"
        headers: Mapping[str, str] = {} if response is None else response.headers
        after = first.get("RetryAfterSeconds")
        is_error_status = response is not None and response.status_code >= 400
        return cls(
            first.get("Message", "The response has no error message"),
            code=code,
            status=response.status_code
            if response is not None and is_error_status
            else SAME_REQUEST.get(code) or NEW_TURN.get(code),
            details=first.get("Details"),
            retry=first.get("Retry", retry),
            retry_after=parse_seconds(headers.get("retry-after") if after is None else after),
            errors=[ApiError.model_construct(**_api_error(error)) for error in errors],
            request_id=headers.get("x-request-id"),
        )

    @classmethod
    def unreadable(cls, response: httpx.Response) -> AptixError:
        """Returns the error for a response that is not an envelope, such as a proxy's page or an empty body."""
        status = response.status_code
        return cls(
            f"Unexpected response with HTTP status {status}. Is this the API?",
            code="Unreadable",
            status=status,
            retry="same_request" if status in TRANSIENT_STATUSES else "never",
            retry_after=parse_seconds(response.headers.get("retry-after")),
        )

    @classmethod
    def unreachable(cls, url: httpx.URL) -> AptixError:
        """Returns the error for a request without a response."""
        shown = str(url.copy_with(query=None, fragment=None)).rstrip("/")
        return cls(f"Can't reach the API at {shown}. Is it running?", code="Unreachable", retry="same_request")

    @classmethod
    def interrupted(cls, retry_after: float | None = None) -> AptixError:
        """Returns the error for a truncated response, or a stream that ended before its turn."""
        message = "The connection was lost before the response ended"
        return cls(message, code="Interrupted", retry="same_request", retry_after=retry_after)

    @classmethod
    def stopped(cls) -> AptixError:
        """Returns the error for a turn that was stopped before it reached the API."""
        return cls("The turn was cancelled.", code="TurnCancelled", retry="new_turn")

    @classmethod
    def closed(cls) -> AptixError:
        """Returns the error for a turn whose reading was closed. The turn itself continues."""
        return cls(
            "Reading the turn was closed. Use session.resume() to continue.", code="Closed", retry="same_request"
        )


def _restore(message: str, code: str) -> AptixError:
    return AptixError(message, code=code)


def _api_error(error: Mapping[str, Any]) -> dict[str, Any]:
    """Maps the members of an error to attributes. Members of an error are never refused."""
    return {
        "error_code": error.get("ErrorCode"),
        "message": error.get("Message"),
        "system_error": error.get("SystemError"),
        "retry": error.get("Retry"),
        "details": error.get("Details"),
        "retry_after_seconds": error.get("RetryAfterSeconds"),
    }


def parse_seconds(value: str | float | None) -> float | None:
    """Parses a number of seconds. Returns `None` for anything but a non-negative number."""
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
