"""What providers do and what they charge: dated figures, each with its source."""
