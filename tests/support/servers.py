"""Real media servers from Debian, each a child process on ports of its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from senders import free_port, wait_for_port

_MODULE = Path("/usr/lib/nginx/modules/ngx_rtmp_module.so")
_NGINX = """
load_module {module};
daemon off; master_process off; worker_processes 1;
pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
rtmp {{ server {{
    listen 127.0.0.1:{port}; access_log off; chunk_size 4096;
    application live {{ live on; record off; }}
}} }}
"""

needs_nginx = pytest.mark.skipif(
    shutil.which("nginx") is None or not _MODULE.exists(),
    reason="needs Debian's nginx and libnginx-mod-rtmp",
)
needs_rtsp_server = pytest.mark.skipif(
    shutil.which("rtsp-server-perl") is None, reason="needs Debian's rtsp-server-perl"
)


@contextmanager
def _running(command: list[str], *ports: int) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            for port in ports:
                wait_for_port(port)
            yield child
        finally:
            child.kill()
            child.wait()


@dataclass(frozen=True, slots=True)
class Nginx:
    """An RTMP server: senders publish to ``url``, and it is read from there. May run repeatedly."""

    folder: Path
    port: int

    @classmethod
    def at(cls, folder: Path) -> Nginx:
        """A server with its files in a folder."""
        return cls(folder, free_port())

    @property
    def url(self) -> str:
        """Where a stream goes and comes from."""
        return f"rtmp://127.0.0.1:{self.port}/live/stream"

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """The server, up and taking connections."""
        text = _NGINX.format(module=_MODULE, folder=self.folder, port=self.port)
        config = self.folder / "nginx.conf"
        config.write_text(text, encoding="utf-8")
        where = ["-p", str(self.folder), "-e", str(self.folder / "error.log")]
        with _running(["nginx", "-c", str(config), *where], self.port) as child:
            yield child


@dataclass(frozen=True, slots=True)
class RtspServer:
    """An RTSP server: senders announce at ``inlet``, it is read from ``url``. UDP only."""

    source: int
    client: int

    @classmethod
    def at_free_ports(cls) -> RtspServer:
        """A server on ports that nobody has."""
        return cls(free_port(), free_port())

    @property
    def inlet(self) -> str:
        """Where a sender announces its stream."""
        return f"rtsp://127.0.0.1:{self.source}/cam"

    @property
    def url(self) -> str:
        """Where the stream is read."""
        return f"rtsp://127.0.0.1:{self.client}/cam"

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """The server, up and taking connections."""
        own = "127.0.0.1"
        command = ["rtsp-server-perl", "--clientport", str(self.client)]
        command += ["--serverport", str(self.source), "--loglevel", "0"]
        command += ["--client_listen_address", own, "--source_listen_address", own]
        with _running(command, self.client, self.source) as child:
            yield child
