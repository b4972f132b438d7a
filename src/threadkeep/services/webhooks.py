"""Webhooks: which addresses may be called, and one call.

A caller names the address, so a call could reach what only this machine can: every address that
the name stands for is looked at when the call is made, and the call goes to exactly that one, so
a name that changes its meaning in between gains nothing. Redirects are not followed.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx

from threadkeep.engine.json import encode
from threadkeep.errors import InvalidRequestError
from threadkeep.model.deliveries import Delivery

TIMEOUT_SECONDS = 5.0  # of one call, from the name's look-up to the answer's status
MAX_URL_LENGTH = 4096  # characters, unless configured
DEFAULT_PORTS = {"http": 80, "https": 443}
NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+", re.IGNORECASE)  # the last label of an odd IPv4 address

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class WebhookPolicy:
    """Which addresses may be called, and what every call carries.

    Attributes:
        is_enabled: Whether any call is made at all.
        require_https: Refuse ``http``.
        allowed_domains: Only these hosts, ``*.name`` for all below a name; empty for every host.
        allowed_ports: Only these; empty for every port.
        max_url_length: In characters.
        disable_loopback: Refuse this machine's own addresses.
        headers: Sent with each call.
        secret: Signs the calls; ``None`` leaves them unsigned.
    """

    is_enabled: bool = True
    require_https: bool = False
    allowed_domains: tuple[str, ...] = ()
    allowed_ports: tuple[int, ...] = ()
    max_url_length: int = MAX_URL_LENGTH
    disable_loopback: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    secret: str | None = field(default=None, repr=False)


class Webhooks:
    """Calls under a policy."""

    def __init__(self, policy: WebhookPolicy) -> None:
        self._policy = policy
        self._client: httpx.AsyncClient | None = None

    def checked(self, url: str | None) -> str | None:
        """Return the address a run is to be told to; ``None`` where none is called.

        Raises:
            InvalidRequestError: It may not be called.
        """
        if url is None or not self._policy.is_enabled:
            return None
        self._parsed(url)
        return url

    async def send(self, delivery: Delivery) -> str | None:
        """Make one attempt; return why it failed, or ``None`` when it arrived."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._send(delivery)
        except TimeoutError:
            return f"no answer within {TIMEOUT_SECONDS:g} seconds"
        except InvalidRequestError as error:
            return str(error)
        except (httpx.HTTPError, OSError, UnicodeError) as error:
            return f"{type(error).__name__}: {error}"

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _send(self, delivery: Delivery) -> str | None:
        url = self._parsed(delivery.url)
        body = encode(delivery.payload)
        address = await self._resolved(url)
        host = url.netloc.decode("ascii")
        if self._client is None:
            self._client = httpx.AsyncClient(
                trust_env=False, follow_redirects=False, timeout=TIMEOUT_SECONDS
            )
        request = self._client.build_request(
            "POST",
            url.copy_with(host=str(address)),
            content=body,
            headers={
                **self._policy.headers,
                **self._signed(body),
                "Host": host,
                "Content-Type": "application/json",
                "User-Agent": "threadkeep",
                "X-Threadkeep-Delivery": delivery.delivery_id,
                "X-Threadkeep-Attempt": str(delivery.attempt),
            },
            extensions={"sni_hostname": url.host, "timeout": _timeouts()},
        )
        answer = await self._client.send(request, stream=True)
        await answer.aclose()  # the status says it all; a body could be endless
        if answer.is_success:
            return None
        if answer.has_redirect_location:
            return f"answered {answer.status_code}: redirects are not followed"
        return f"answered {answer.status_code}"

    def _signed(self, body: bytes) -> dict[str, str]:
        """Return the header that proves who calls and when."""
        if self._policy.secret is None:
            return {}
        moment = str(int(time.time()))
        signed = moment.encode() + b"." + body
        digest = hmac.new(self._policy.secret.encode(), signed, hashlib.sha256).hexdigest()
        return {"X-Threadkeep-Signature": f"t={moment},v1={digest}"}

    def _parsed(self, text: str) -> httpx.URL:
        policy = self._policy
        if len(text) > policy.max_url_length:
            raise _refused(f"longer than {policy.max_url_length} characters")
        url = _absolute(text)
        if policy.require_https and url.scheme != "https":
            raise _refused("no https URL, which webhooks.url.require_https asks for")
        port = url.port or DEFAULT_PORTS[url.scheme]
        if policy.allowed_ports and port not in policy.allowed_ports:
            raise _refused(f"at port {port}, which is not among webhooks.url.allowed_ports")
        self._check_host(url.host)
        return url

    def _check_host(self, host: str) -> None:
        domains = self._policy.allowed_domains
        if domains and not _is_below(host, domains):
            raise _refused(f"at {host!r}, which is not among webhooks.url.allowed_domains")
        if (address := _literal(host)) is not None:
            self._check(address)
        elif self._policy.disable_loopback and _is_local_name(host):
            raise _refused(_LOOPBACK)

    async def _resolved(self, url: httpx.URL) -> Address:
        """Look a host up, and return the address to call.

        Raises:
            InvalidRequestError: One of its addresses may not be called.
            OSError: It has none.
        """
        if (literal := _literal(url.host)) is not None:
            return literal
        port = url.port or DEFAULT_PORTS[url.scheme]
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(url.raw_host.decode("ascii"), port, type=socket.SOCK_STREAM)
        addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
        for address in addresses:
            self._check(address)
        return addresses[0]

    def _check(self, address: Address) -> None:
        meant = _meant(address)
        if meant.is_loopback or meant.is_unspecified:
            if self._policy.disable_loopback:
                raise _refused(_LOOPBACK)
        elif meant.is_link_local or meant.is_multicast or meant.is_reserved:
            raise _refused(f"at {address}, an address for this network's own services")


_LOOPBACK = (
    'at this machine itself; {"webhooks": {"url": {"disable_loopback": false}}} in langgraph.json '
    "allows it"
)


def _absolute(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise _refused(f"no URL: {error}") from error
    if url.scheme not in DEFAULT_PORTS or not url.host:
        raise _refused("no absolute http or https URL")
    if url.userinfo:
        raise _refused("a URL with a user or password, which would be kept and shown")
    return url


def _refused(why: str) -> InvalidRequestError:
    return InvalidRequestError(f"the webhook is {why}")


def _timeouts() -> dict[str, float]:
    return dict.fromkeys(("connect", "read", "write", "pool"), TIMEOUT_SECONDS)


def _literal(host: str) -> Address | None:
    """Return the address a host is written as, also in the odd ways of ``inet_aton``."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    if not NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host.rstrip(".")))
    except (OSError, UnicodeError) as error:
        raise _refused(f"at {host!r}, which is neither a name nor an address") from error


def _meant(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 one carries, else the address."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    carried = address.ipv4_mapped or address.sixtofour
    if carried is None and address in ipaddress.ip_network("64:ff9b::/96"):
        carried = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return carried or address


def _is_local_name(host: str) -> bool:
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith(".localhost")


def _is_below(host: str, domains: tuple[str, ...]) -> bool:
    name = host.rstrip(".").lower()
    return any(
        name.endswith(domain[1:].lower()) if domain.startswith("*.") else name == domain.lower()
        for domain in domains
    )
