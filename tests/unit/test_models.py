"""What is known of models without asking them."""

from hermes.app.models import WINDOW_ASSUMED, context_window, window_of
from hermes.settings.shape import ModelSettings, Settings


def test_people_are_told_what_the_built_in_model_can_read() -> None:
    smallest = ModelSettings(provider="built-in", name="smollm2-135m", weights="/nowhere")
    settings = Settings(model=smallest)
    assert context_window(settings, "") == 4_096
    assert context_window(settings, "openrouter:someone/model") == WINDOW_ASSUMED
    assert window_of(settings, "") == WINDOW_ASSUMED, "it is given the latest words of any length"
    assert window_of(settings, "local:qwen2.5-coder-0.5b") == 8_192, "it is given all of them"
    chosen = Settings(
        model=ModelSettings(provider="custom", name="m", context_length=9_000, weights="/nowhere")
    )
    assert context_window(chosen, "") == 9_000
    assert context_window(chosen, "local:smollm2-135m") == 4_096
