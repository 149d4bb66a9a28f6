"""Requests to the API: authentication, timeouts and retries."""

from __future__ import annotations

import asyncio
import codecs
import functools
import inspect
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Union, cast

import httpx

from ._retry import Backoff, RetryOptions
from ._threads import call_function
from .errors import AptixError

Token = Union[str, Callable[[], Union[str, Awaitable[str]]]]
"""The caller's token, or a function that returns one. The function is called once more if the API rejects the token."""

#: Retries of a download, each with a fresh link.
MAX_LINK_RETRIES = 2


class Http:
    """The connections of one client."""

    def __init__(
        self, base_url: str, token: Token, retry: RetryOptions, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self.base = httpx.URL(base_url if base_url.endswith("/") else base_url + "/")
        if self.base.scheme not in ("http", "https") or not self.base.host:
            raise ValueError(f"Invalid base_url {base_url!r}: expected a URL like http://127.0.0.1:9000")
        self.retry = retry
        self.was_reached = False
        """True once the API has answered."""
        self.on_close: set[Callable[[], Awaitable[None]]] = set()
        """Functions that end what still uses the connections."""
        self._token = token
        self._cached_token: asyncio.Future[str] | None = None
        self._client = httpx.AsyncClient(
            transport=transport,
            verify=_tls(),
            timeout=httpx.Timeout(retry.idle_timeout, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
            # A proxy of the environment can't reach this machine.
            trust_env=not _is_loopback(self.base.host),
        )

    async def close(self) -> None:
        """Closes the connections, after what uses them."""
        await asyncio.gather(*(end() for end in list(self.on_close)))
        await self._client.aclose()

    async def request(self, method: str, path: str, headers: dict[str, str], body: str | None = None) -> httpx.Response:
        """Sends one request, and a second one with a fresh token if the API rejects the first.

        Returns the response with its body unread. Raises on every error status.
        """
        token = self._get_token()
        response = await self._send(method, path, headers, body, await asyncio.shield(token))
        if response.status_code == 401 and callable(self._token):
            # Concurrent requests that were rejected share one fresh token.
            if self._cached_token is token:
                self._cached_token = None
            await response.aclose()
            response = await self._send(method, path, headers, body, await asyncio.shield(self._get_token()))
        if response.status_code >= 300:
            envelope = parse_envelope(await read_body(response))
            raise AptixError.from_envelope(envelope, response) if envelope else AptixError.unreadable(response)
        return response

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """Sends an idempotent request, with retries, and returns its result."""
        backoff = Backoff(self.retry, lambda: self.was_reached)
        text = None if body is None else to_json(body)
        while True:
            try:
                response = await self.request(method, path, {"accept": "application/json"}, text)
                envelope = await read_envelope(response)
                return require_success(envelope, response)["Result"]
            except AptixError as error:
                delay = backoff.next_delay(error)
            await asyncio.sleep(delay)

    async def fetch_payload(self, link: str) -> httpx.Response:
        """Downloads the target of a link of the API.

        The API exchanges the link for a signed URL, which is fetched without a token.
        """
        backoff = Backoff(self.retry, lambda: self.was_reached, MAX_LINK_RETRIES)
        while True:
            url = self.base.join((await self.call("GET", link))["Url"])
            try:
                response = await self._send_request(self._client.build_request("GET", url))
                # Signed URLs expire within minutes: request a new one if this one is rejected.
                if response.status_code >= 300:
                    await response.aclose()
                    status = response.status_code
                    raise AptixError(
                        f"Can't read the payload: HTTP status {status}",
                        code="Unreadable",
                        status=status,
                        retry="never" if status == 404 else "same_request",
                    )
                try:
                    await response.aread()
                except httpx.TransportError as error:
                    raise AptixError.interrupted() from error
                return response
            except AptixError as error:
                delay = backoff.next_delay(error)
            await asyncio.sleep(delay)

    async def _send(
        self, method: str, path: str, headers: dict[str, str], body: str | None, token: str
    ) -> httpx.Response:
        url = self.base.join(path)
        if (url.scheme, url.host, url.port) != (self.base.scheme, self.base.host, self.base.port):
            raise ValueError(f"{url.scheme}://{url.host} is not the API's origin: the token is not sent there")
        headers = {**headers, "authorization": f"Bearer {token}"}
        if body is not None:
            headers["content-type"] = "application/json"
        content = None if body is None else body.encode()
        return await self._send_request(self._client.build_request(method, url, headers=headers, content=content))

    async def _send_request(self, request: httpx.Request) -> httpx.Response:
        try:
            response = await self._client.send(request, stream=True)
        except httpx.TransportError as error:
            is_api = (request.url.host, request.url.port) == (self.base.host, self.base.port)
            raise AptixError.unreachable(self.base if is_api else request.url) from error
        self.was_reached = True
        return response

    def _get_token(self) -> asyncio.Future[str]:
        if self._cached_token is None:
            self._cached_token = asyncio.ensure_future(self._read_token())
            self._cached_token.add_done_callback(self._forget_failed_token)
        return self._cached_token

    async def _read_token(self) -> str:
        if isinstance(self._token, str):
            return self._token
        token = await call_function(self._token)
        return cast(str, await token if inspect.isawaitable(token) else token)

    def _forget_failed_token(self, token: asyncio.Future[str]) -> None:
        if (token.cancelled() or token.exception() is not None) and self._cached_token is token:
            self._cached_token = None


async def text_chunks(response: httpx.Response) -> AsyncIterator[str]:
    """Yields the text of a body as it arrives. A silence longer than the idle timeout counts as a lost connection."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        async for chunk in response.aiter_bytes():
            yield decoder.decode(chunk)
    except (httpx.TransportError, httpx.DecodingError) as error:
        raise AptixError.interrupted() from error
    finally:
        await response.aclose()


async def read_body(response: httpx.Response) -> str:
    """Reads a whole body."""
    return "".join([chunk async for chunk in text_chunks(response)])


async def read_envelope(response: httpx.Response) -> dict[str, Any]:
    """Reads the envelope of a JSON response."""
    envelope = parse_envelope(await read_body(response))
    if envelope is None:
        raise AptixError.unreadable(response)
    return envelope


def parse_envelope(text: str) -> dict[str, Any] | None:
    """Parses an envelope. Returns `None` for any other text."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and isinstance(value.get("Successful"), bool) else None


def require_success(envelope: dict[str, Any], response: httpx.Response | None = None) -> dict[str, Any]:
    """Returns the envelope if it reports success; raises its error otherwise."""
    if not envelope["Successful"]:
        raise AptixError.from_envelope(envelope, response)
    return envelope


def to_json(value: Any) -> str:
    """Serializes a request. Retries send the same text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@functools.cache
def _tls() -> ssl.SSLContext:
    """Returns the TLS settings of all clients. Reading the certificates takes longer than a turn of a local cloud."""
    return httpx.create_ssl_context()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
