"""The Gemini API of the endpoint: requests as they come, answers as the API gives them, and caches with names."""
