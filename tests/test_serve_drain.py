"""SIGTERM: every connection is answered, or ends without a reset; what is said and counted meanwhile."""

from __future__ import annotations

import signal
import socket
import sys

import pytest

import noppa
from noppa.serve.port import keep_out, kept_out, listen, somebody_waits
from tests.draining import KINDS, SMALL, answer, head_of, stopped_under_load
from tests.runs import PATIENCE, wait_until
from tests.serving import PROGRAM, Running, made_encoder, serving

#: A request may take as long as the test does.
PATIENT = [f"--{name}-seconds={PATIENCE}" for name in ("header", "body")]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("drain") / "small")


@pytest.mark.found(
    "load on the loopback", "up to 71 of 100 clients of a stopping server saw a reset"
)
@pytest.mark.parametrize("workers", [1, 2])
def test_nobody_sees_a_reset(encoder: noppa.Encoder, workers: int) -> None:
    """Clients that keep their connection or not, with short bodies and with long ones in pieces."""
    # As long as the slowest client may pause between two requests; its connection ends, as any idle one, after that.
    options = ["--workers", str(workers), "--drain-seconds", "3"]
    with serving(str(encoder.path), *options) as server:
        outcomes = stopped_under_load(server, each=3)
    assert set(outcomes) <= {"200+", "200", "503", "refused", "closed", "exit 0"}, outcomes
    last = outcomes["503"] + outcomes["refused"] + outcomes["closed"]
    assert last == 3 * len(KINDS), outcomes
    (stopping,) = server.events("stopping")
    assert stopping["drain_seconds"] == 3
    assert server.log.index(stopping) < server.log.index(server.events("stopped")[0])


#: Sends itself SIGTERM in the moment in which it says that it listens.
SHORT_LIVED = f"""
import os, signal
from noppa.serve import logs
own = logs.write
def write(event, **fields):
    done = own(event, **fields)
    if event == "listening":
        os.kill(os.getpid(), signal.SIGTERM)
    return done
logs.write = write
{PROGRAM}
"""


@pytest.mark.found("reading the code", "SIGTERM right after the first line was no graceful stop")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_that_listens_stops_gracefully(encoder: noppa.Encoder, workers: str) -> None:
    with serving(str(encoder.path), "--workers", workers, program=SHORT_LIVED) as server:
        assert server.process.wait(PATIENCE) == 0
    assert server.events("stopping")
    assert server.events("stopped")


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_newcomers_are_refused_and_who_has_connected_is_accepted(host: str) -> None:
    with listen(host, 0) as listener:
        place = listener.getsockname()[:2]
        assert not somebody_waits(listener)
        with socket.create_connection(place) as early:
            assert not kept_out(listener)
            keep_out(listener)
            assert kept_out(listener)
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(place)
            assert somebody_waits(listener)
            accepted, _ = listener.accept()
            with accepted:
                assert not somebody_waits(listener)
                early.sendall(b"hello")
                assert accepted.recv(5) == b"hello"


def stop_slowly(server: Running) -> None:
    """SIGTERM to a server that then drains until the next one."""
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: server.events("stopping"))


def test_a_body_that_is_being_sent_is_read_before_its_503(encoder: noppa.Encoder) -> None:
    """An answer that closes a connection with unread bytes is lost by the reset that follows."""
    with (
        serving(str(encoder.path), *PATIENT, "--drain-seconds", "600") as server,
        server.connect() as connection,
        server.connect() as expecting,
        server.client() as client,
    ):
        stop_slowly(server)
        connection.sendall(head_of(SMALL))
        # A client that waits for leave to send its body is told at once.
        expecting.sendall(head_of(SMALL).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"))
        assert answer(expecting) == "503"
        assert client.get("/ready").status_code == 503
        connection.sendall(SMALL)
        assert answer(connection) == "503"
        text = client.get("/metrics").text
        assert 'noppa_requests_total{code="503",route="/embed"} 2.0' in text
        server.process.send_signal(signal.SIGTERM)  # at once
        assert server.process.wait(PATIENCE) == 0


def test_idle_connections_end_without_a_reset(encoder: noppa.Encoder) -> None:
    with (
        serving(str(encoder.path), *PATIENT, "--drain-seconds", "0.1") as server,
        server.connect() as idle,
        server.connect() as half,
    ):
        half.sendall(head_of(SMALL)[:20])
        with server.client() as client:
            wait_until(lambda: "noppa_connections 3.0" in client.get("/metrics").text)
        server.process.send_signal(signal.SIGTERM)
        assert idle.recv(1) == b""
        half.sendall(head_of(SMALL)[20:] + SMALL)  # what has begun is answered
        assert answer(half) == "503"
        assert server.process.wait(PATIENCE) == 0
