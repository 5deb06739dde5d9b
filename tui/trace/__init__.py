"""One session on screens: its rows, the story of the selected row, its time axis, its sums, and what-ifs."""
