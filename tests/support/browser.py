"""A headless browser, pages that attack the service, and their reports."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PAGE = Path(__file__).with_name("attack.html")
_PATIENCE_S = 90.0

_QUIET = (
    "--headless=new",
    "--no-sandbox",  # the sandbox refuses root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--host-resolver-rules=MAP *.example 127.0.0.1",
)

Report = Sequence[Mapping[str, Any]]


def browser() -> str | None:
    """Return the path of Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@dataclass(frozen=True, slots=True)
class Route:
    """A request that a page attempts.

    Attributes:
        method: HTTP method.
        path: Path of the service.
        body: Request body; empty for none.
    """

    method: str
    path: str
    body: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page that sends requests as soon as it is loaded.

    Attributes:
        name: Name of the page and of its site.
        routes: Requests that it attempts.
        target: URL of the service; empty for the page's own address.
        leads_to: Where the page's own address is forwarded to after loading.
    """

    name: str
    routes: Sequence[Route]
    target: str = ""
    leads_to: str = ""

    def html(self) -> bytes:
        """Return the page as HTML."""
        routes = json.dumps([{s: getattr(r, s) for s in r.__slots__} for r in self.routes])
        text = _PAGE.read_text().replace("/*routes*/[]", routes)
        return text.replace("/*target*/", self.target).replace("/*name*/", self.name).encode()


@dataclass(slots=True)
class Sites:
    """A server of pages, each on its own site, and of a page that frames them all.

    Attributes:
        pages: Pages by name.
        reports: Reports by name of the page.
    """

    pages: Mapping[str, Page] = field(default_factory=dict)
    reports: dict[str, Report] = field(default_factory=dict)
    port: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def frames(self) -> bytes:
        """Return the page with a frame for each page."""
        urls = (f"http://{name}.example:{self.port}/page/{name}" for name in self.pages)
        return "".join(f"<iframe src='{url}'></iframe>" for url in urls).encode()

    def take(self, name: str, report: bytes) -> None:
        """Store a report."""
        self.reports[name] = json.loads(report)
        if self.reports.keys() == self.pages.keys():
            self.done.set()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, sites: Sites) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sites = sites


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _answer(self) -> None:
        sites = self.server.sites
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        _, kind, name = [*self.path.split("/", 2), ""][:3]
        if self.path == "/frames":
            self._send(200, "text/html", sites.frames())
        elif kind == "page":
            self._send(200, "text/html", sites.pages[name].html())
        elif kind == "report":
            sites.take(name, body)
            self._send(200, "text/plain", b"")
        else:
            self._lead_on(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _answer  # noqa: N815 - names of http.server

    def _lead_on(self, body: bytes) -> None:
        """Forward a request unchanged, as after DNS rebinding."""
        name = self.headers["Host"].partition(".")[0]
        page = self.server.sites.pages.get(name)
        if page is None or not page.leads_to:
            self._send(404, "text/plain", b"")
            return
        connection = http.client.HTTPConnection(urlsplit(page.leads_to).netloc, timeout=_PATIENCE_S)
        connection.request(self.command, self.path, body or None, dict(self.headers))
        reply = connection.getresponse()
        self._send(reply.status, reply.headers["Content-Type"] or "text/plain", reply.read())
        connection.close()

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Suppress log output."""


@contextmanager
def serving() -> Iterator[Sites]:
    """Serve pages, which are added later."""
    sites = Sites()
    server = _Server(sites)
    sites.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield sites
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def show(program: str, sites: Sites, folder: Path) -> Mapping[str, Report]:
    """Load all pages in a browser and return their reports."""
    url = f"http://frames.example:{sites.port}/frames"
    command = [program, *_QUIET, f"--user-data-dir={folder}", url]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder)},
        start_new_session=True,
    )
    try:
        assert sites.done.wait(_PATIENCE_S), f"only {sorted(sites.reports)} have reported"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return sites.reports
