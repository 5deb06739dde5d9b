"""What the next act of an agent will cost: acts priced before they are done, from what its cache holds now."""
