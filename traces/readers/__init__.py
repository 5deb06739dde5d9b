"""One reader for each log format; :mod:`agentsim.traces.format_registry` lists them."""
