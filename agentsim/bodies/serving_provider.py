"""Who the provider is: whose cache a request was sent to, and so whose rules and prices it is judged by.

One answer for captures, logs and the recorder. What somebody declared comes first, then the host that was called, then
the API whose shape the call has, then the model's name. A protocol is no provider: OpenAI's and Anthropic's are spoken
by many servers, so that the word ``openai`` of a gateway gives way to a host that is known to be another's.
"""

from __future__ import annotations

import re
from functools import lru_cache

UNKNOWN = "unknown"
LOCAL = "local"
"""A server on one's own machines, of whose kind nothing is known."""

NAMES = {
    "openai-responses": "openai",
    "openai-native": "openai",
    "openai-chat": "openai",
    "text-completion-openai": "openai",
    "openai-codex": "codex",
    "chatgpt": "codex",
    "claude": "anthropic",
    "claude-code": "anthropic",
    "anthropic_text": "anthropic",
    "gemini-cli": "google",
    "google-gemini-cli": "google",
    "google-generative-ai": "google",
    "gemini-api": "google",
    "gcp.gemini": "gemini",
    "gcp.gen_ai": "google",
    "gcp.vertex_ai": "vertex",
    "vertex_ai": "vertex",
    "vertex-ai": "vertex",
    "vertexai": "vertex",
    "google-vertex": "vertex",
    "google_vertex": "vertex",
    "google-vertex-anthropic": "vertex",
    "vertex_ai_beta": "vertex",
    "aws": "bedrock",
    "aws.bedrock": "bedrock",
    "aws-bedrock": "bedrock",
    "amazon-bedrock": "bedrock",
    "bedrock-converse": "bedrock",
    "bedrock_converse": "bedrock",
    "sagemaker": "bedrock",
    "azure": "foundry",
    "azure_ai": "foundry",
    "azure-ai": "foundry",
    "azure-openai": "foundry",
    "azure.ai.openai": "foundry",
    "azure.ai.inference": "foundry",
    "az.ai.openai": "foundry",
    "az.ai.inference": "foundry",
    "azure-foundry": "foundry",
    "microsoft-foundry": "foundry",
    "open-router": "openrouter",
    "deepseek-official": "deepseek",
    "deepseek-ai": "deepseek",
    "moonshot": "moonshotai",
    "moonshot-ai": "moonshotai",
    "moonshot_ai": "moonshotai",
    "kimi-coding": "moonshotai",
    "kimi-for-coding": "moonshotai",
    "z-ai": "zai",
    "z.ai": "zai",
    "zhipu": "zai",
    "zhipuai": "zai",
    "bigmodel": "zai",
    "zai-coding-plan": "zai",
    "dashscope": "qwen",
    "alibaba-cloud": "qwen",
    "bailian": "qwen",
    "qwen-code": "qwen",
    "minimax-cn": "minimax",
    "minimaxi": "minimax",
    "x-ai": "xai",
    "x_ai": "xai",
    "grok": "xai",
    "mistralai": "mistral",
    "mistral_ai": "mistral",
    "hosted_vllm": "vllm",
    "ollama_chat": "ollama",
    "llama.cpp": "llamacpp",
    "llama-cpp": "llamacpp",
    "llama-server": "llamacpp",
    "lm_studio": "llamacpp",
    "lmstudio": "llamacpp",
}
"""Names under which logs know a provider, and the name that rules and prices know it by."""

PROTOCOLS = frozenset(("openai", "anthropic", "custom_openai", "openai_like", "openai-compatible", "litellm_proxy"))
"""Declared names that may mean no more than the protocol that is spoken."""

_SAYS_NOTHING = frozenset(("custom_openai", "openai_like", "openai-compatible", "litellm_proxy", "litellm", "custom"))

_HOSTS = (
    ("anthropic.com", "anthropic"),
    ("claude.ai", "anthropic"),
    ("anthropic.helicone.ai", "anthropic"),
    ("api.openai.com", "openai"),
    ("oai.helicone.ai", "openai"),
    ("chatgpt.com", "codex"),
    ("chat.openai.com", "codex"),
    ("openai.azure.com", "foundry"),
    ("cognitiveservices.azure.com", "foundry"),
    ("services.ai.azure.com", "foundry"),
    ("inference.ai.azure.com", "foundry"),
    ("models.ai.azure.com", "foundry"),
    ("aiplatform.googleapis.com", "vertex"),
    ("generativelanguage.googleapis.com", "gemini"),
    ("cloudcode-pa.googleapis.com", "gemini"),
    ("openrouter.ai", "openrouter"),
    ("deepseek.com", "deepseek"),
    ("z.ai", "zai"),
    ("bigmodel.cn", "zai"),
    ("moonshot.ai", "moonshotai"),
    ("moonshot.cn", "moonshotai"),
    ("kimi.com", "moonshotai"),
    ("minimax.io", "minimax"),
    ("minimax.chat", "minimax"),
    ("minimaxi.com", "minimax"),
    ("aliyuncs.com", "qwen"),
    ("x.ai", "xai"),
    ("mistral.ai", "mistral"),
    ("githubcopilot.com", "github-copilot"),
    ("groq.com", "groq"),
    ("together.xyz", "together"),
    ("together.ai", "together"),
    ("fireworks.ai", "fireworks"),
    ("cerebras.ai", "cerebras"),
    ("novita.ai", "novita"),
    ("baseten.co", "baseten"),
    ("perplexity.ai", "perplexity"),
)
_BEDROCK = re.compile(r"^bedrock(?:-[a-z]+)*\.[a-z0-9-]+\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$")

_KINDS = ("vllm", "sglang", "ollama", "llamacpp", "trtllm")
_PORTS = {"11434": "ollama", "30000": "sglang", "1234": "llamacpp"}
"""Ports that one kind of server and hardly another listens on unless it is told to."""

_PASS_ON = frozenset(("4000",))
"""Ports of gateways, which have no cache of prompts themselves."""

_OWN = re.compile(
    r"^(?:localhost|127\.[0-9.]+|0\.0\.0\.0|\[::1?\]|10\.[0-9.]+|192\.168\.[0-9.]+|172\.(?:1[6-9]|2[0-9]|3[01])\.[0-9.]+"
    r"|host\.docker\.internal|[a-z0-9_-]+|[a-z0-9_.-]+\.(?:local|lan|internal|localhost|svc|home\.arpa))$"
)

_FAMILIES = (
    ("claude", "anthropic"),
    ("gpt-oss", UNKNOWN),
    ("gpt-", "openai"),
    ("chatgpt", "openai"),
    ("codex", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "google"),
    ("deepseek", "deepseek"),
    ("grok", "xai"),
    ("kimi", "moonshotai"),
    ("moonshot", "moonshotai"),
    ("qwen", "alibaba"),
    ("qwq", "alibaba"),
    ("glm", "zai"),
    ("minimax", "minimax"),
    ("abab", "minimax"),
    ("mistral", "mistral"),
    ("codestral", "mistral"),
    ("devstral", "mistral"),
    ("magistral", "mistral"),
)
_CLOSED = frozenset(("anthropic", "openai", "google"))
"""Makers whose models nobody serves on a machine of his own: a local server that answers with one passes it on."""

_PREFIXES = frozenset(
    ("bedrock", "bedrock_converse", "vertex_ai", "vertex", "openrouter", "azure", "azure_ai", "hosted_vllm", "vllm",
     "ollama", "ollama_chat", "sglang", "lm_studio", "codex", "groq", "together_ai", "fireworks_ai")
)  # fmt: skip
"""Words in front of a model's name that say who serves it; makers' names there say only who made it."""

_ON_BEDROCK = re.compile(
    r"^(?:arn:aws[a-z-]*:bedrock:|(?:(?:us|eu|apac|ap|jp|au|ca|sa|me|af|global|us-gov)\.)?(?:anthropic|openai|amazon|meta"
    r"|deepseek|qwen|mistral|moonshot|moonshotai|zai|minimax|google|nvidia|cohere|ai21)\.[a-z])"
)
_ON_VERTEX = re.compile(r"^claude-[a-z0-9.-]+@20\d{6}$")

KNOWN_PROVIDERS = frozenset(
    (
        *(*NAMES, *NAMES.values(), *PROTOCOLS, *_KINDS),
        *(*(name for _, name in _HOSTS), *(maker for _, maker in _FAMILIES)),
        *(LOCAL, UNKNOWN, "bedrock", "alibaba"),
    )
)
"""Names of providers that come out here: public words, none of them made up by somebody for a server of his own."""

API_PROVIDERS = {"generate": "gemini", "converse": "bedrock", "invoke": "bedrock"}
"""APIs whose shape only one provider's servers have."""


def provider_of(
    *,
    declared: str | None = None,
    address: str | None = None,
    api: str | None = None,
    model: str = "",
    shown: str | None = None,
) -> str:
    """The provider that a request went to; ``"local"`` for a server of one's own, ``"unknown"`` where nothing tells.

    ``declared`` is the word of whoever wrote the log; ``address`` a URL, or the host in one; ``api`` the shape of the
    call (``messages``, ``chat``, ``responses``, ``compact``, ``generate``, ``converse``, ``invoke``); ``shown`` the
    server that an answer gives away by fields that only its kind writes.
    """
    named = provider_name(declared, "")
    told = host_provider(address, model) if address else ""
    if named and not (named in PROTOCOLS and told and told != named):
        if named not in _SAYS_NOTHING:
            return named
        named = ""
    if told and not (told == LOCAL and shown):
        return told
    if shown:
        return shown
    prefix, slash, _ = model.partition("/")
    if slash and prefix.lower() in _PREFIXES:
        return provider_name(prefix, UNKNOWN)
    if api in API_PROVIDERS:
        return API_PROVIDERS[api]
    maker = provider_of_model(model)
    return "anthropic" if maker == UNKNOWN and api == "messages" and not model else maker


def provider_name(name: str | None, unknown: str) -> str:
    """The provider's usual name; ``unknown`` where the log names none."""
    if not name:
        return unknown
    name = name.strip().lower()
    return NAMES.get(name, name) or unknown


def is_vendor(provider: str, model: str) -> bool:
    """Whether a provider is the maker of a model, as far as its name tells; True where the maker is not known."""
    maker = provider_of_model(model)
    return maker == UNKNOWN or _canonical(maker) == _canonical(provider)


def _canonical(provider: str) -> str:
    return {"alibaba": "qwen", "gemini": "google", "vertex": "google", "codex": "openai"}.get(provider, provider)


@lru_cache(maxsize=256)
def provider_of_model(model: str) -> str:
    """Who serves a model by its name alone: the cloud whose way of naming it is, else its maker; ``"unknown"`` for
    others, and for models that are made to be served by anybody."""
    whole = model.strip().lower()
    name = whole.rpartition("/")[2]
    if _ON_BEDROCK.match(whole) or _ON_BEDROCK.match(name):
        return "bedrock"
    if _ON_VERTEX.match(name):
        return "vertex"
    return next((maker for family, maker in _FAMILIES if name.startswith(family)), UNKNOWN)


def host_provider(address: str, model: str = "") -> str:
    """The provider behind an address; ``""`` where its host is nobody's that is known.

    A machine of one's own serves what can be had to serve; a model that cannot is passed on to its maker.
    """
    host, port, path = _parts(address)
    if not host:
        return ""
    if _BEDROCK.match(host):
        return "bedrock"
    for end, provider in _HOSTS:
        if host == end or host.endswith("." + end):
            return provider
    if host.endswith("-aiplatform.googleapis.com"):
        return "vertex"
    if host == "gateway.ai.cloudflare.com":
        return next((provider_name(part, "") for part in path.split("/")[4:5]), "")
    if not _OWN.match(host):
        return ""
    labels = re.split(r"[^a-z]+", host.replace("llama-cpp", "llamacpp").replace("llama.cpp", "llamacpp"))
    kind = next((kind for kind in _KINDS if kind in labels), _PORTS.get(port, ""))
    if kind:
        return kind
    if port in _PASS_ON:
        return ""
    maker = provider_of_model(model)
    return maker if maker in _CLOSED or maker in ("bedrock", "vertex") else LOCAL


def _parts(address: str) -> tuple[str, str, str]:
    """Host, port and path of an address, with or without its scheme."""
    rest = address.strip().lower().partition("//")[2] or address.strip().lower()
    authority, _, path = rest.partition("/")
    authority = authority.rpartition("@")[2].partition("?")[0]
    found = re.fullmatch(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(?::([0-9]{1,5}))?", authority)
    return (found[1].rstrip("."), found[2] or "", "/" + path) if found else ("", "", "")
