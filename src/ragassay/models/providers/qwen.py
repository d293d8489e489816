"""Qwen, by the compatible mode of DashScope."""

from ragassay.models.provider import Provider

PROVIDER = Provider(
    scheme="qwen",
    title="Qwen (DashScope)",
    base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    keys=("DASHSCOPE_API_KEY",),
    thinking="enable_thinking",
)
