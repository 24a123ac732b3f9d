"""What stands between the commands (cli.py) and the rooms below: asking, showing, stopping.

    arguments.py   flags -> overrides of the configuration, each with its origin
    stops.py       SIGINT, SIGTERM, SIGHUP -> requests to stop
    show.py        which display a run gets
    bar.py         a progress bar for a terminal     lines.py  JSON lines for programs
    text.py        sentences and tables on standard error
    runs.py        one run, from arguments to exit status
    course.py      its jobs through a session, shown and reported
    farm.py        plan and concat                   rendering.py  render
    door.py        every error -> a sentence, a line of JSON, an exit status

Logs and sentences go to standard error; standard output is for JSON, paths and media.
"""
