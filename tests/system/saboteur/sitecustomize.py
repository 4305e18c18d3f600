"""Run by every Python that has this folder on its path: makes runs of certain experiments end badly.

`sick/exit` calls sys.exit, `sick/kill` kills itself, `sick/rank` fails on its second rank.
"""

import importlib.abc
import importlib.util
import os
import signal
import sys

MODULE = "xformer.runs.carry_out"


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def load_and_wrap(module):
            load(module)
            carry_out = module.carry_out
            module.carry_out = lambda folder, *args, **kwargs: _sabotage(carry_out, folder, *args, **kwargs)

        spec.loader.exec_module = load_and_wrap
        return spec


def _sabotage(carry_out, folder, *args, **kwargs):
    experiment = folder.config().experiment
    if experiment == "sick/exit":
        sys.exit(0)
    if experiment == "sick/kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if experiment == "sick/rank" and os.environ.get("RANK") == "1":
        raise RuntimeError("this rank is sick")
    return carry_out(folder, *args, **kwargs)


sys.meta_path.insert(0, _Finder())
