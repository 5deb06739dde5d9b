"""Twenty beginnings of different kinds, for comparing implementations of a model."""

PROMPTS = (
    "The capital of France is",
    "def fibonacci(n):\n    ",
    "Once upon a time, in a village by the sea,",
    "Water boils at 100 degrees Celsius because",
    "List three fruits:\n1.",
    '{"name": "Ada", "born": 1815, "field":',
    "Dear Sir or Madam,\n\nI am writing to",
    "import numpy as np\n\nx = np.",
    "The quick brown fox",
    "Q: What is 17 + 25?\nA:",
    "In 1969, the first humans",
    "SELECT name, COUNT(*) FROM orders",
    "Der schnelle braune Fuchs",
    "La vie est belle, mais",
    "# Release notes\n\n## 2.0.0\n\n-",
    "To make a good cup of tea, you should first",
    "Error: cannot open file 'data.csv':",
    "The three laws of motion were",
    "for (int i = 0; i < 10; i++) {",
    "My favourite colour is blue. Yours is",
)
