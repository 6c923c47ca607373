"""OpenAI's chat completions protocol: its two pure halves, and its path."""

from typing import Final

from hermes.providers.openai_fold import OpenAIFold
from hermes.providers.openai_render import render
from hermes.providers.served import Speech

OPENAI_CHAT: Final = Speech("/chat/completions", render, OpenAIFold)
