"""DeepSeek. It takes no schema."""

from ragassay.models.capabilities import Capabilities
from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="deepseek",
    title="DeepSeek",
    base_url="https://api.deepseek.com/v1",
    keys=("DEEPSEEK_API_KEY",),
    known=Capabilities(format="object", seed=False),
    thinking="thinking_type",
)
