"""Models behind two wire protocols, a catalogue of those who speak them, and a scripted one."""
