"""What if: policies tried on the session that is open, its rows and sums revised while one looks."""
