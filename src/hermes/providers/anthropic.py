"""Anthropic's Messages protocol: its two pure halves, and its path."""

from typing import Final

from hermes.providers.anthropic_fold import AnthropicFold
from hermes.providers.anthropic_render import render
from hermes.providers.served import Speech

ANTHROPIC_MESSAGES: Final = Speech("/messages", render, AnthropicFold)
