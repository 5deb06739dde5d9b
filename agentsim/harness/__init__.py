"""The harness simulator: agents that do not exist yet, as processes on a SimPy clock.

A :class:`agentsim.harness.plan.Plan` says what an agent sends and which mechanisms its harness has;
:func:`agentsim.harness.plan_run.simulate` runs it against any backend and returns the same Session and Ledger that a
recording gives.
"""
