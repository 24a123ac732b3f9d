"""Models: the manifest says what there is, the store has it on disk, sessions run it.

    configs/models.yaml -> ModelStore.path(name) -> open_session(path) -> YuNet(session).detect
        manifest.py          store.py, fetch.py        sessions.py          yunet.py
                             transform.py

Everything here can be used alone, without a pipeline.
"""
