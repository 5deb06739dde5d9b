"""What did this LLM agent lose to its prompt cache, why, and what did it cost?"""

__version__ = "0.1.0"
