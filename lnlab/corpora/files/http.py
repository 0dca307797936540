"""Reading over HTTP. No other scheme can be requested or reached by a redirect."""

from http.client import HTTPMessage
from typing import IO, cast
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

TIMEOUT = 30.0
"""Seconds without a byte after which a download has failed."""


class SameScheme(HTTPRedirectHandler):
    """Follows a redirect only to the scheme it comes from."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        """The request that follows.

        Raises:
            URLError: the scheme is another.
        """
        if urlsplit(newurl).scheme != urlsplit(req.full_url).scheme:
            raise URLError(f"redirected to another scheme, {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def open_url(url: str) -> IO[bytes]:
    """The body of an ``http`` or ``https`` address. Proxies of the environment are used.

    Raises:
        URLError: the address cannot be reached, answers with an error, or leads to another scheme.
    """
    # Not `build_opener`, which would open file:, ftp: and data: addresses as well.
    director = OpenerDirector()
    handlers = (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, SameScheme, HTTPErrorProcessor)
    for handler in handlers:
        director.add_handler(handler())
    response = director.open(url, timeout=TIMEOUT)
    if response is None:
        raise URLError("only http and https are read")
    return cast("IO[bytes]", response)
