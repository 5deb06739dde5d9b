"""A session on a time axis: when requests ran, how long their cache entries lived, and who came too late."""
