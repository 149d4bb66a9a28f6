"""Calls of tools that wait for an approval."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Any, Literal

from . import _paths as paths
from ._http import Http
from ._session import paginate
from ._threads import Portal
from .wire import Approval


class AsyncApprovals:
    """The approvals of the caller's organization."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(
        self, *, scope: Literal["mine", "all"] | None = None, page_size: int | None = None
    ) -> AsyncGenerator[Approval, None]:
        """Lists those that wait for the caller, by expiry. With `scope="all"`, operators list all of them."""
        return paginate(self._http, paths.APPROVALS, {"scope": scope, "pageSize": page_size}, Approval)

    async def get(self, id: str) -> Approval:
        """Returns an approval, such as the one in the `details` of the error of a turn that waits for it."""
        return Approval.model_validate(await self._http.call("GET", paths.approval(id)))

    async def approve(self, approval: Approval, *, arguments_json: str | None = None) -> Approval:
        """Approves the call that a person has seen, and no other. Its turn goes on by itself.

        Args:
            approval: The approval as it was read.
            arguments_json: Other arguments, if the tool's policy allows it.
        """
        return await self._answer(approval, "approve", {"ArgumentsJson": arguments_json})

    async def deny(self, approval: Approval, *, reason: str | None = None) -> Approval:
        """Denies the call. The model gets the reason."""
        return await self._answer(approval, "deny", {"Reason": reason})

    async def _answer(self, approval: Approval, answer: str, members: dict[str, Any]) -> Approval:
        body = {"Hash": approval.hash, **{name: value for name, value in members.items() if value is not None}}
        return Approval.model_validate(
            await self._http.call("POST", paths.approval(approval.approval_id, answer), body)
        )


class Approvals:
    """The approvals of the caller's organization."""

    def __init__(self, portal: Portal, approvals: AsyncApprovals) -> None:
        self._portal = portal
        self._approvals = approvals

    def list(self, *, scope: Literal["mine", "all"] | None = None, page_size: int | None = None) -> Iterator[Approval]:
        """Lists those that wait for the caller, by expiry. With `scope="all"`, operators list all of them."""
        return self._portal.iterate(self._approvals.list(scope=scope, page_size=page_size))

    def get(self, id: str) -> Approval:
        """Returns an approval, such as the one in the `details` of the error of a turn that waits for it."""
        return self._portal.run(self._approvals.get(id))

    def approve(self, approval: Approval, *, arguments_json: str | None = None) -> Approval:
        """Approves the call that a person has seen, and no other. Its turn goes on by itself.

        Args:
            approval: The approval as it was read.
            arguments_json: Other arguments, if the tool's policy allows it.
        """
        return self._portal.run(self._approvals.approve(approval, arguments_json=arguments_json))

    def deny(self, approval: Approval, *, reason: str | None = None) -> Approval:
        """Denies the call. The model gets the reason."""
        return self._portal.run(self._approvals.deny(approval, reason=reason))
