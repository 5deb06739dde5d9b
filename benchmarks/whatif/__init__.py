"""A benchmark of what-ifs: agents that really run under both settings, and predictions made from the log of the first.

The world that answers shares no code with the simulation that is measured: entries, look-ups, lifetimes and bills are
written anew from the providers' published rules, and facts that no log shows are added. ``python -m benchmarks.whatif``
runs the agents, keeps only the logs that a person would have, has ``compare`` predict, and runs the agents again.
"""
