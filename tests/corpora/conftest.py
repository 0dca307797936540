"""Folders with small corpora."""

from collections.abc import Iterator
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
        self.asked: list[str] = []

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"

    def handle_error(self, request, client_address) -> None:
        """A client that goes away is none of the server's business."""


class Answer(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
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
        """Say nothing."""


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    """A running web server; no proxy stands before it."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Server() as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()
