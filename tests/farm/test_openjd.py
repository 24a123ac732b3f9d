"""The Open Job Description template: valid by the specification's own model, and in our words."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from mpflow.cli import cli

FILE = resources.files("mpflow.configs").joinpath("farm", "openjd.yaml")


@pytest.fixture
def template() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return loaded


def words(step: dict[str, Any]) -> list[str]:
    action = step["script"]["actions"]["onRun"]
    return [action["command"], *action["args"]]


def test_template_is_valid_and_makes_a_task_for_each_chunk(template: dict[str, Any]) -> None:
    model = pytest.importorskip("openjd.model")
    parsed = model.decode_job_template(template=template)
    value, kind = model.ParameterValue, model.ParameterValueType
    job = model.create_job(
        job_template=parsed,
        job_parameter_values={
            "Input": value(type=kind.PATH, value="/share/in.mp4"),
            "Output": value(type=kind.PATH, value="/share/out.mp4"),
            "Chunks": value(type=kind.INT, value="3"),
            "Preset": value(type=kind.STRING, value="redact"),
            "Command": value(type=kind.STRING, value="mpflow"),
        },
    )
    assert job.name == "mpflow redact"
    steps = {step.name: step for step in job.steps}
    space = model.StepParameterSpaceIterator(space=steps["Render"].parameterSpace)
    assert [task["Number"].value for task in space] == ["1", "2", "3"]
    assert [d.dependsOn for d in steps["Concat"].dependencies] == ["Render"]


def test_each_step_waits_for_the_one_before(template: dict[str, Any]) -> None:
    assert template["specificationVersion"] == "jobtemplate-2023-09"
    waits = {
        s["name"]: [d["dependsOn"] for d in s.get("dependencies", [])] for s in template["steps"]
    }
    assert waits == {"Plan": [], "Render": ["Plan"], "Concat": ["Render"]}


def test_steps_use_commands_and_flags_that_there_are(template: dict[str, Any]) -> None:
    plan, render, concat = (words(step) for step in template["steps"])
    assert plan[:2] == ["{{Param.Command}}", "plan"]
    assert concat[:2] == ["{{Param.Command}}", "concat"]
    assert ' render "$1.parts/plan.json" --chunk ' in render[2]
    for command, given in (("plan", plan), ("render", ["--chunk"]), ("concat", concat)):
        shown = CliRunner().invoke(cli, [command, "--help"]).output
        for word in given:
            if word.startswith("--"):
                assert word.partition("=")[0] in shown
