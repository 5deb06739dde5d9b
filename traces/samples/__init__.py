"""Small traces that come with the program, and the modules that make them."""
