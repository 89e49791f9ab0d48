"""Any server that speaks OpenAI's chat completions: vLLM, Ollama, llama.cpp, LM Studio and others."""

from agenticiqa.models.openai import OpenAIVLMClient
from agenticiqa.models.transport import sdk_readiness
from agenticiqa.vlm_client import Provider


class CompatibleVLMClient(OpenAIVLMClient):
    """The same wire format at another address; the key is optional."""

    provider = "compatible"
    # The older name is the one that every server knows.
    max_tokens_parameter = "max_tokens"
    image_detail = None
    schema_limits = True
    # Many of these servers take tools and do nothing with them; a schema they enforce.
    calls_tools = False


PROVIDER = Provider(
    name="compatible",
    description="Any OpenAI-compatible server: vLLM, Ollama, llama.cpp, LM Studio",
    create=CompatibleVLMClient,
    readiness=sdk_readiness("openai", "openai", "COMPATIBLE_BASE_URL", "base_url"),
)
