"""Jobs: what is to be made of which input, and what stays of it when it goes wrong.

    discover.py   inputs and folders -> files
    naming.py     a file -> the names of its output and of the partial
    plan.py       both -> JobSpecs, with every conflict found before anything starts
    conflicts.py  what the jobs must not do to each other, to inputs, to outputs that exist
    sidefiles.py  where each job's tokens and timeline go
    sidecar.py    what says beside an output what was done to it
    operations.py stages, options and models, told without a name
    folders.py    the folders of outputs
    models.py     the models that a pipeline needs
    settle.py     an output that was not finished is kept if it plays, and named
    runreport.py  the whole run as JSON
    batch.py      one job after another over a session; one failure does not stop the others

The command line and the Python door both go through here.
"""

from mpflow.jobs.conflicts import Planned
from mpflow.jobs.plan import Request, draw_plan, jobs_of, plan_jobs
from mpflow.jobs.settle import settle

__all__ = ["Request", "Planned", "draw_plan", "jobs_of", "plan_jobs", "settle"]
