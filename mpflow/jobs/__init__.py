"""Jobs: what is to be made of which input, and what stays of it when it goes wrong.

    discover.py   inputs and folders -> files
    naming.py     a file -> the names of its output and of the partial
    plan.py       both -> JobSpecs, with every conflict found before anything starts
    folders.py    the folders of outputs
    models.py     the models that a pipeline needs
    settle.py     an output that was not finished is kept if it plays, and named
    batch.py      one job after another over a session; one failure does not stop the others

The command line and the Python door both go through here.
"""

from mpflow.jobs.plan import Planned, Request, draw_plan, plan_jobs
from mpflow.jobs.settle import settle

__all__ = ["Request", "Planned", "draw_plan", "plan_jobs", "settle"]
