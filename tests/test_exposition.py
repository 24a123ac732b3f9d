"""Metrics and health are served over HTTP, whatever clients do and however the run is."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from prometheus_client.parser import text_string_to_metric_families
from snapshots import snapshot_of

from mpflow import exposition
from mpflow.errors import ConfigError, ResourceError
from mpflow.exposition import MAX_CLIENTS, STALE_S, Exposition, health, parse_address


@pytest.fixture
def served() -> Iterator[Exposition]:
    opened = Exposition.open("127.0.0.1:0")
    yield opened
    opened.close()


def get(served: Exposition, path: str, method: str = "GET") -> tuple[int, str, str]:
    host, port = parse_address(served.address)
    connection = http.client.HTTPConnection(host, port, timeout=30)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
    finally:
        connection.close()


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_prometheus_can_read_everything(served: Exposition) -> None:
    served.show(snapshot_of())
    status, kind, text = get(served, "/metrics")
    assert status == 200 and kind.startswith("text/plain; version=0.0.4")
    found = samples(text)
    assert found["mpflow_frames_total", ()] == 300
    assert found["mpflow_frames_dropped_total", ()] == 7
    assert found["mpflow_age_seconds", (("quantile", "0.99"),)] == pytest.approx(0.4)
    assert found["mpflow_mode", (("mode", "single-frame"),)] == 1
    assert found["mpflow_mode", (("mode", "throughput"),)] == 0
    assert found["mpflow_alerts_total", (("kind", "p99"),)] == 1
    assert found["mpflow_healthy", ()] == 1
    assert found["mpflow_stage_depth", (("stage", "detect"),)] == 3
    service = (("quantile", "0.5"), ("stage", "send"))
    assert found["mpflow_stage_service_seconds", service] == pytest.approx(0.01)
    worker = (("stage", "detect"), ("worker", "detect/0"))
    assert found["mpflow_worker_memory_bytes", worker] == 123456789
    assert found["mpflow_worker_cpu_seconds_total", worker] == 8.0
    assert "# HELP mpflow_frames_total" in text


def test_each_metric_has_one_type_and_says_what_it_is(served: Exposition) -> None:
    served.show(snapshot_of())
    families = list(text_string_to_metric_families(get(served, "/metrics")[2]))
    assert len({family.name for family in families}) == len(families)
    assert all(family.documentation and family.type != "unknown" for family in families)


def test_before_the_first_snapshot_there_is_nothing_and_no_health(served: Exposition) -> None:
    assert get(served, "/metrics")[0] == 503
    status, kind, text = get(served, "/health")
    assert status == 503 and kind == "application/json"
    assert json.loads(text) == {"healthy": False, "trouble": "the run is starting"}


def test_health_is_200_or_503_with_the_reason(served: Exposition) -> None:
    served.show(snapshot_of())
    status, _, text = get(served, "/health")
    assert status == 200 and json.loads(text)["mode"] == "single-frame"
    served.show(snapshot_of(healthy=False, trouble="stage detect has no worker"))
    status, _, text = get(served, "/health")
    assert status == 503 and json.loads(text)["trouble"] == "stage detect has no worker"


def test_a_supervisor_that_does_not_look_any_more_is_not_healthy() -> None:
    shown = (snapshot_of(), 100.0)
    assert health(shown, 100.0 + STALE_S)[0]
    healthy, values = health(shown, 101.0 + STALE_S)
    assert not healthy and values["trouble"] == "the supervisor has not looked for 6 s"


def test_anything_else_is_not_there(served: Exposition) -> None:
    assert get(served, "/")[0] == 404
    assert get(served, "/metrics?x=1")[0] == 503
    status, _, text = get(served, "/health", "HEAD")
    assert status == 503 and not text
    assert get(served, "/metrics", "POST")[0] == 501


def test_a_port_that_is_taken_is_refused_with_its_cure(served: Exposition) -> None:
    with pytest.raises(ResourceError, match=r"cannot be served at 127\.0\.0\.1:\d+: Address"):
        Exposition.open(served.address)


@pytest.mark.parametrize(
    "text", ["", "9100", ":9100", "127.0.0.1", "127.0.0.1:", "h:x", "h:65536", "::1:9100", "h:-1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no address"):
        Exposition.open(text)


def test_addresses() -> None:
    assert parse_address("localhost:9100") == ("localhost", 9100)
    assert parse_address("[::1]:0") == ("::1", 0)
    with pytest.raises(ResourceError, match="cannot be served at"):
        Exposition.open("host.invalid:9100")


def test_silent_clients_do_not_keep_others_out(served: Exposition) -> None:
    served.show(snapshot_of())
    address = parse_address(served.address)
    silent = [socket.create_connection(address) for _ in range(MAX_CLIENTS + 2)]
    for _ in range(3):
        assert get(served, "/health")[0] == 200
    # whoever had been there longest has made room
    silent[0].settimeout(60)
    assert silent[0].recv(1) == b""
    for each in silent:
        each.close()


def test_a_client_that_says_a_little_all_the_time_has_to_leave_in_the_end(
    monkeypatch: pytest.MonkeyPatch, served: Exposition
) -> None:
    monkeypatch.setattr(exposition, "CLIENT_S", 0.3)
    left = b"?"
    with socket.create_connection(parse_address(served.address), timeout=60) as slow:
        slow.settimeout(0.05)
        with suppress(ConnectionError):
            while left:
                slow.send(b"G")
                with suppress(TimeoutError):
                    left = slow.recv(1)
    assert get(served, "/health")[0] == 503


def test_a_client_that_leaves_at_once_is_no_news(
    served: Exposition, capfd: pytest.CaptureFixture[str]
) -> None:
    served.show(snapshot_of())
    for _ in range(5):
        with socket.create_connection(parse_address(served.address)) as client:
            client.send(b"GET /metrics HTTP/1.0\r\n\r\n")
    assert get(served, "/metrics")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_serving_ends(served: Exposition) -> None:
    address = parse_address(served.address)
    Exposition.open("127.0.0.1:0").close()
    other = Exposition.open("127.0.0.1:0")
    taken = other.address
    other.close()
    again = Exposition.open(taken)
    again.close()
    socket.create_connection(address).close()


def test_histograms_are_cumulative_and_end_with_everything() -> None:
    from mpflow.promtext import prometheus_text
    from mpflow.shm import Histogram
    from mpflow.views import buckets_of

    times = Histogram.of([500_000, 3_000_000, 40_000_000, 40_000_000, 60_000_000_000])
    text = prometheus_text(snapshot_of(ages=buckets_of(times))).decode()
    found = [
        line.rpartition(" ") for line in text.splitlines() if "frame_age_seconds_bucket" in line
    ]
    counts = [float(count) for _, _, count in found]
    assert counts == sorted(counts)
    assert (counts[0], counts[-2], counts[-1]) == (1, 4, 5)
    assert 'le="0.001048576"' in found[0][0]
    assert 'le="+Inf"' in found[-1][0]
    assert "mpflow_frame_age_seconds_count 5.0" in text
    assert "mpflow_frame_age_seconds_sum 60.0835" in text
