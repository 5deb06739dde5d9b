"""A recorded session against a real endpoint: what the rules predict, beside what was reported."""
