"""Who the provider is: declared, then the host, then the shape of the call, then the model."""

from __future__ import annotations

import pytest

from agentsim.bodies.serving_provider import provider_name, provider_of, provider_of_model
from agentsim.rules.prices.price_book import rate_card
from agentsim.rules.providers.rules_library import load_rules

ADDRESSES = {
    "https://api.anthropic.com/v1/messages": "anthropic",
    "https://api.openai.com/v1/chat/completions": "openai",
    "https://chatgpt.com/backend-api/codex/responses": "codex",
    "https://api.deepseek.com/anthropic/v1/messages": "deepseek",
    "https://api.z.ai/api/anthropic/v1/messages": "zai",
    "https://open.bigmodel.cn/api/paas/v4/chat/completions": "zai",
    "https://api.moonshot.cn/v1/chat/completions": "moonshotai",
    "https://api.kimi.com/coding/v1/messages": "moonshotai",
    "https://api.minimax.io/anthropic/v1/messages": "minimax",
    "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions": "qwen",
    "https://api.x.ai/v1/chat/completions": "xai",
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent": "gemini",
    "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic": "vertex",
    "https://openrouter.ai/api/v1/chat/completions": "openrouter",
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/x/converse": "bedrock",
    "https://mine.openai.azure.com/openai/deployments/d/chat/completions?api-version=1": "foundry",
    "http://localhost:11434/v1/chat/completions": "ollama",
    "http://vllm:8000/v1/chat/completions": "vllm",
    "http://127.0.0.1:30000/v1/chat/completions": "sglang",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_host_tells(address: str) -> None:
    assert provider_of(address=address, api="chat", model="some-model") == ADDRESSES[address]


def test_what_was_declared_comes_before_the_host_and_a_protocol_does_not() -> None:
    host = "https://api.deepseek.com/v1"
    assert provider_of(declared="Together", address=host) == "together"
    assert provider_of(declared="openai", address=host) == "deepseek"
    assert provider_of(declared="openai", address="https://gateway.example/v1", model="kimi-k3") == "openai"
    assert provider_of(declared="openai_like", model="kimi-k3") == "moonshotai"


def test_the_shape_tells_only_where_one_provider_has_it() -> None:
    assert provider_of(api="generate", model="gemini-3-pro") == "gemini"
    assert provider_of(api="converse", model="some") == "bedrock"
    assert provider_of(api="messages", model="kimi-k3") == "moonshotai"
    assert provider_of(api="messages") == "anthropic"
    assert provider_of(api="chat", model="llama-4") == "unknown"


def test_a_machine_of_ones_own_serves_what_can_be_had() -> None:
    mine = "http://192.168.1.7:8080/v1"
    assert provider_of(address=mine, api="chat", model="qwen3-coder") == "local"
    assert provider_of(address=mine, api="chat", model="qwen3-coder", shown="llamacpp") == "llamacpp"
    assert provider_of(address=mine, api="messages", model="claude-opus-5") == "anthropic"
    assert provider_of(address="http://localhost:4000", api="chat", model="deepseek-v4-pro") == "deepseek"
    assert provider_of(address="http://localhost:8000", model="gpt-oss-120b") == "local"


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("us.anthropic.claude-opus-4-6-v1:0", "bedrock"),
        ("bedrock/anthropic.claude-opus-4-6-v1:0", "bedrock"),
        ("claude-opus-4@20250514", "vertex"),
        ("anthropic/claude-sonnet-4.6", "anthropic"),
        ("openrouter/anthropic/claude-sonnet-4.6", "openrouter"),
        ("MiniMax-M3", "minimax"),
        ("o3-mini", "openai"),
        ("llama-4", "unknown"),
    ],
)
def test_the_name_of_a_model_tells_last(model: str, provider: str) -> None:
    assert provider_of(model=model) == provider


@pytest.mark.parametrize("provider", sorted(set(ADDRESSES.values())))
def test_rules_are_known_for_each(provider: str) -> None:
    assert load_rules(provider).provider


def test_a_provider_by_another_name_has_the_same_prices() -> None:
    for name, model in (("codex", "gpt-5.5"), ("zai", "glm-5.3"), ("foundry", "gpt-5.5"), ("moonshotai", "kimi-k3")):
        assert rate_card(name, model, None, 1000) is not None
    assert provider_name("dashscope", "unknown") == "qwen"
    assert provider_of_model("kimi-k3") == "moonshotai"
