"""Only HTTP is read, and no redirect leads elsewhere."""

from urllib.error import HTTPError, URLError

import pytest

from lnlab.corpora.files.http import open_url

ELSEWHERE = ["file:///etc/hostname", "ftp://127.0.0.1/x", "data:text/plain,hello", "gopher://127.0.0.1/"]


@pytest.mark.parametrize("target", [*ELSEWHERE, "https://127.0.0.1/x"])
def test_another_scheme_is_not_read_nor_followed_to(server, target, golden):
    if target in ELSEWHERE:
        with golden.raises(URLError):
            open_url(target)
    server.redirects["/moved"] = target
    with pytest.raises((URLError, HTTPError), match=r"another scheme|not allowed"):
        open_url(server.url("moved"))


def test_a_redirect_within_the_scheme_is_followed_but_not_for_ever(server):
    server.files["/here"] = b"text"
    server.redirects |= {"/moved": server.url("here"), "/round": server.url("round")}
    with open_url(server.url("moved")) as response:
        assert response.read() == b"text"
    with pytest.raises(HTTPError, match="infinite loop") as caught:
        open_url(server.url("round"))
    caught.value.close()


@pytest.mark.parametrize("status", [403, 404, 500])
def test_an_error_is_an_error(server, status):
    server.failures["/broken"] = status
    with pytest.raises(HTTPError, match=str(status)) as caught:
        open_url(server.url("broken"))
    caught.value.close()
