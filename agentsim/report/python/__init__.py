"""What Python programs and notebooks work with: ``agentsim.load``, ``agentsim.summary``."""
