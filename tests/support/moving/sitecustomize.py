"""Lets a test move the workers of a stage. Python imports this by itself when it starts.

``MPFLOW_TEST_MOVES`` names a socket on which a supervisor then takes one request after another:
``seat STAGE``, ``vacate STAGE``, ``await LABEL STATE`` (answered when the worker is in that state),
``crew`` (all states). Nobody else moves workers meanwhile. See support/moves.py.
"""

import os
import socket
import sys


def take_orders(path: str) -> None:
    from mpflow.crew import Crew
    from mpflow.joblead import JobLead
    from mpflow.lifecycle import JobState

    tick, make, seat, vacate = JobLead.tick, Crew.__init__, Crew.seat, Crew.vacate
    Crew.seat = Crew.vacate = lambda self, stage, why: False
    crews = []

    def make_and_remember(crew: Crew, *given: object) -> None:
        make(crew, *given)
        crews[:] = [crew]

    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.bind(path)
    door.listen(8)
    door.setblocking(False)
    waiting = []

    def answer(lead: JobLead, words: list) -> str:
        if words[0] in ("seat", "vacate") and not lead.run.machine.is_in(JobState.RUNNING):
            return ""  # a gate can be reached before all have begun
        match words:
            case ["seat", stage]:
                return str(seat(crews[0], stage, "a test asks for it"))
            case ["vacate", stage]:
                return str(vacate(crews[0], stage, "a test asks for it"))
            case ["await", label, state]:
                there = {h.label: h for h in lead.run.workers}[label]
                begun = state != "busy" or (there.begun and there.needed)
                return "True" if there.machine.state == state and begun else ""
            case _:
                return " ".join(f"{h.label}={h.machine.state}" for h in lead.run.workers)

    def tick_and_obey(lead: JobLead, now: float, overslept: float) -> None:
        tick(lead, now, overslept)
        try:
            while True:
                client, _ = door.accept()
                client.setblocking(True)
                waiting.append((client, client.recv(256).decode().split()))
        except BlockingIOError:
            pass
        for client, words in list(waiting):
            if text := answer(lead, words):
                client.send(text.encode())
                client.close()
                waiting.remove((client, words))

    JobLead.tick, Crew.__init__ = tick_and_obey, make_and_remember


path = os.environ.get("MPFLOW_TEST_MOVES")
if path and "mpflow.supervisor" in sys.orig_argv:
    take_orders(path)
