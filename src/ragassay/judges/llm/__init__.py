"""The judge that asks a language model: prompts, replies, quotes and planted control items."""
