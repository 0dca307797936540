"""Folders with small corpora."""

import io
import tarfile
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest


@pytest.fixture
def root(tmp_path) -> Path:
    """A data root that is empty."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


class Server(ThreadingHTTPServer):
    """A web server on this machine: files, redirects, errors, and connections that break."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.failures: dict[str, int] = {}
        self.cut: dict[str, int] = {}
        self.endless: set[str] = set()
        self.requests: list[str] = []

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"

    def handle_error(self, request, client_address) -> None:
        """A client that goes away is none of the server's business."""


class Answer(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        if self.path in self.server.redirects:
            self.send_response(302)
            self.send_header("Location", self.server.redirects[self.path])
            self.end_headers()
        elif self.path in self.server.endless:
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(bytes(65536))
        elif self.path in self.server.files:
            content = self.server.files[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: self.server.cut.get(self.path, len(content))])
        else:
            self.send_error(self.server.failures.get(self.path, 404))

    def log_message(self, *args) -> None:
        """Print nothing."""


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    """A running web server, without a proxy."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Server() as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def mteval(documents: Mapping[str, list[str]], *, side: str = "srcset") -> str:
    """A test set as WIT3 writes it; the text of segments is put in as it is."""
    parts = []
    for name, texts in documents.items():
        segments = "".join(f'<seg id="{n}"> {text} </seg>\n' for n, text in enumerate(texts, start=1))
        parts.append(f'<doc docid="{name}" genre="lectures">\n<title>Not &amp; text</title>\n{segments}</doc>\n')
    body = f'<{side} setid="x" srclang="german">\n{"".join(parts)}</{side}>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n{body}\n</mteval>\n'


@pytest.fixture(name="mteval")
def _mteval():
    return mteval


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """A ``.tgz`` with these members."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            raw = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(raw)
            tar.addfile(member, io.BytesIO(raw))
    return buffer.getvalue()


@pytest.fixture(name="archive")
def _archive():
    return archive
