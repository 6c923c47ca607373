"""Model providers: two wire protocols, a catalogue of servers, and a scripted provider."""
