"""The OpenAI APIs of the endpoint: chat completions, responses, and what the server keeps of them."""
