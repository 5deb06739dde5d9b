"""The lab: experiments on K/V caches that anybody can run again, each beside the figure that was published for it.

``agentsim.engine.lab.experiment_registry`` names the experiments; each is a module of this package with an
``EXPERIMENT``. Results are values (:mod:`agentsim.engine.lab.experiment`); nothing here prints.
"""
