"""A report says on what machine it was made, in figures that fit this one."""

from __future__ import annotations

import json
import os
import platform

from mpflow.hostfacts import host_facts, installed_version


def test_facts_of_this_machine_are_plain_and_fit_it() -> None:
    facts = host_facts()
    assert json.loads(json.dumps(facts)) == facts
    cores, memory = facts["cores"], facts["memory_mib"]
    assert 1 <= cores["used"] <= cores["affinity"] == len(os.sched_getaffinity(0))
    assert 0 < memory["available"] <= memory["limit"] <= memory["machine"]
    assert facts["python"] == platform.python_version()
    assert facts["packages"]["av"] == installed_version("av")
    assert set(facts["ffmpeg"]) == {"libavcodec", "libavformat", "libavutil"}


def test_a_package_that_is_not_there_has_no_version() -> None:
    assert installed_version("no-such-package-here") == ""
    assert "" not in host_facts()["packages"].values()
