"""Who may ask a service without a token: programs of this machine, and its own pages, but no page from elsewhere.

A page from elsewhere can make a browser connect to this machine: under a name of its own that it points here, which the header
Host tells, or by sending a body of plain text without asking first, which Origin and Content-Type tell.
"""

import re
from collections.abc import Collection, Mapping

LOOPBACK = ("127.0.0.1", "::1", "localhost")
HOST = re.compile(rb"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d*)?", re.IGNORECASE)


def stranger(method: str, headers: Mapping[bytes, bytes], hosts: Collection[str]) -> tuple[int, str] | None:
    """The status and the sentence for a request that is not for these hosts, or comes from the page of another one."""
    host = headers.get(b"host")
    if host is not None and _name(host) not in hosts:
        told = host[:100].decode("ascii", "replace")
        return 421, f"Host {told!r} is no name of this service: ask for {' or '.join(hosts)}, or start it with a token"
    origin = headers.get(b"origin")
    if origin is None or method in ("GET", "HEAD") or origin.partition(b"://")[2] == host:
        return None
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        told = origin[:100].decode("ascii", "replace")
        return (
            415,
            f"a page of {told!r} must send Content-Type: application/json, which its browser has to ask for first",
        )
    return None


def _name(host: bytes) -> str | None:
    """The name or address without brackets and port; None of what is neither."""
    found = HOST.fullmatch(host)
    return None if found is None else (found[1] or found[2]).decode().lower()
