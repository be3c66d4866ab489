"""Which URLs may be fetched and which addresses may be reached; pure: it asks no name server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from onplan.errors import ToolError
from onplan.plan.text import one_line

_MAX_URL = 4_000
_MAX_HOST = 253
_PORTS = {"http": 80, "https": 443}
_authority = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:@\\/?#%\s]+))(?::([0-9]{1,5})?)?")
_name = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_number = re.compile(r"[0-9]+|0x[0-9a-f]*")

# The special-purpose registries of IANA (RFC 6890 and what was added since).
_SPECIAL_V4 = (
    ("0.0.0.0/8", "an unspecified"),
    ("10.0.0.0/8", "a private"),
    ("100.64.0.0/10", "a shared (CGNAT)"),
    ("127.0.0.0/8", "a loopback"),
    ("169.254.0.0/16", "a link-local"),
    ("172.16.0.0/12", "a private"),
    ("192.0.0.0/24", "a reserved"),
    ("192.0.2.0/24", "a reserved"),
    ("192.88.99.0/24", "a reserved"),
    ("192.168.0.0/16", "a private"),
    ("198.18.0.0/15", "a reserved"),
    ("198.51.100.0/24", "a reserved"),
    ("203.0.113.0/24", "a reserved"),
    ("224.0.0.0/4", "a multicast"),
    ("240.0.0.0/4", "a reserved"),
)
_SPECIAL_V6 = (
    ("::/128", "an unspecified"),
    ("::1/128", "a loopback"),
    ("64:ff9b:1::/48", "a private"),
    ("fc00::/7", "a private"),
    ("fe80::/10", "a link-local"),
    ("fec0::/10", "a private"),
    ("ff00::/8", "a multicast"),
    ("2001::/23", "a reserved"),
    ("2001:db8::/32", "a reserved"),
    ("3fff::/20", "a reserved"),
)
# Blocks whose addresses stand for an IPv4 address, and how many bits follow it: mapped, translated
# (RFC 2765), NAT64 (RFC 6052), 6to4 (RFC 3056).
_EMBEDDING = (("::ffff:0:0/96", 0), ("::ffff:0:0:0/96", 0), ("64:ff9b::/96", 0), ("2002::/16", 80))
_GLOBAL_V6 = "2000::/3"


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart once, so that what is checked is also what is connected to.

    `host`: ASCII, lower case, without a trailing dot; an IPv6 address without its brackets. `path`
    includes the query and begins with `/`. The fragment is gone.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port as in the `Host` header."""
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{_bracketed(self.host)}{port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def is_address(self) -> bool:
        return ":" in self.host or _number.fullmatch(self.host.rpartition(".")[2]) is not None

    def url_at(self, address: str) -> str:
        """The same URL with `address` in place of the host."""
        return f"{self.scheme}://{_bracketed(address)}:{self.port}{self.path}"


def parse_target(url: str) -> Target:
    """`url` taken apart. Raises `ToolError` for whatever could be read in two ways."""
    url = url.strip()
    shown = one_line(url[:200])
    if len(url) > _MAX_URL:
        raise ToolError(f"the URL is too long ({len(url):,} characters; at most {_MAX_URL:,})")
    if not url.isprintable():
        raise ToolError(f"the URL {shown} holds control or invisible characters: leave them out")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ToolError(f"{shown} is not a URL: {error}") from None
    if parts.scheme not in _PORTS or not parts.netloc:
        raise ToolError(f"{shown or 'an empty text'} cannot be fetched: give a URL with http:// or https://")
    if "@" in parts.netloc:
        raise ToolError(
            "the URL holds a user name or password: leave it out, nothing is fetched with a login"
        )
    found = _authority.fullmatch(parts.netloc)
    if found is None or not 0 < (port := int(found[3] or _PORTS[parts.scheme])) < 65_536:
        raise ToolError(f"{one_line(parts.netloc[:200])} is not a host with an optional port from 1 to 65535")
    host = _address_v6(found[1]) if found[1] else _host_name(found[2])
    query = f"?{parts.query}" if parts.query else ""
    return Target(parts.scheme, host, port, f"{parts.path or '/'}{query}".replace(" ", "%20"))


def special_kind(address: str) -> str:
    """What `address` is if not a public unicast address, with its article: "a private"; "" for public.

    An IPv6 address that stands for an IPv4 address is what that one is. Raises `ValueError` for a text
    that is no address.
    """
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv4Address):
        return _kind_in(_SPECIAL_V4, parsed)
    for block, following in _EMBEDDING:
        if parsed in ip_network(block):
            return _kind_in(_SPECIAL_V4, IPv4Address(int(parsed) >> following & 0xFFFFFFFF))
    kind = _kind_in(_SPECIAL_V6, parsed)
    return kind or ("" if parsed in ip_network(_GLOBAL_V6) else "a reserved")


def _kind_in(special: tuple[tuple[str, str], ...], address: IPv4Address | IPv6Address) -> str:
    return next((kind for block, kind in special if address in ip_network(block)), "")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _address_v6(text: str) -> str:
    try:
        return IPv6Address(text).compressed
    except ValueError:
        raise ToolError(f"[{text[:80]}] is not an IPv6 address") from None


def _host_name(text: str) -> str:
    name = (text if text.isascii() else _to_ascii(text)).lower().removesuffix(".")
    if len(name) > _MAX_HOST or _name.fullmatch(name) is None:
        raise ToolError(f"{one_line(text[:200])} is not a host name")
    if _number.fullmatch(name.rpartition(".")[2]) is None:
        return name
    try:
        return str(IPv4Address(name))
    except ValueError:
        # Octal, hexadecimal and shortened numbers: programs disagree on what they stand for.
        raise ToolError(
            f"{name[:80]} is not an IPv4 address: write it as four decimal numbers without leading zeros"
        ) from None


def _to_ascii(text: str) -> str:
    import idna

    try:
        return idna.encode(text, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise ToolError(f"{one_line(text[:200])} is not a valid international host name") from None
