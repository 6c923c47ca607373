"""Notice an answer that announces an act and makes no call, such as “Let me check the file”.

The model is then asked once more in the same turn. A doubt means no: an answer, an offer or a
question to the person is left alone. Only the last sentence counts, because what follows an
announcement is usually what was announced.
"""

import re

from hermes.lazy import LazyPattern

TEXT_CHARS_MAX, SENTENCE_CHARS_MAX = 2_000, 240
NUDGE = (
    "[Note by Hermes, not by the person: you announced an act and made no call. If you meant it, "
    "make the call now. If you have nothing to do, give the person your answer.]"
)

_VERBS = (
    "check|look|read|open|view|inspect|examine|search|find|list|run|re-?run|execute|create|write|"
    "edit|modify|update|fix|patch|add|remove|delete|install|test|verify|fetch|download|browse|scan|"
    "review|explore|investigate|load|save|build|compile|commit|rename|move|copy|query|grep|start"
)
_DOING = (
    "checking|looking|reading|opening|viewing|inspecting|examining|searching|finding|listing|"
    "running|executing|creating|writing|editing|modifying|updating|fixing|adding|removing|testing|"
    "installing|verifying|fetching|scanning|reviewing|exploring|investigating"
)
_LEAD = (
    r"(?:(?:ok(?:ay)?|sure|alright|all right|great|good|perfect|right|got it|certainly|of course|"
    r"understood|now|next|first|then|so|and|but|to do (?:this|that|so))[,.!:]?\s+)*"
)
_ENGLISH = (
    rf"{_LEAD}(?:i'll|i will|i am going to|i'm going to|i'm about to|let me)\s+"
    r"(?:(?:now|first|next|then|just|quickly|also|go ahead and|try to|proceed to|go and|take|have)"
    rf"\s+)*(?:(?:{_VERBS})\b|(?:start|begin|proceed) (?:by|with) (?:{_DOING})\b|"
    r"a (?:quick )?look\b)"
)
_GERMAN = (
    r"(?:(?:ok(?:ay)?|gut|klar|gern|zuerst|jetzt|nun|dann)[,.!:]?\s+)*"
    r"(?:ich werde|werde ich|lass mich|lassen sie mich)\s+[^.!]*"
    r"\b(?:prüfen|nachsehen|nachschauen|ansehen|anschauen|lesen|suchen|ausführen|erstellen|anlegen|"
    r"schreiben|öffnen|auflisten|ändern|testen|starten|durchsuchen)"
)
_FRENCH = (
    r"(?:(?:ok|bien|d'accord|bien sûr|d'abord|maintenant)[,.!:]?\s+)*"
    r"(?:je vais|laissez-moi|laisse-moi)\s+(?:(?:d'abord|maintenant)\s+)?"
    r"(?:vérifier|regarder|lire|chercher|exécuter|créer|écrire|ouvrir|lister|modifier|tester|lancer|"
    r"examiner)\b"
)
_SPANISH = (
    r"(?:(?:ok|bien|claro|de acuerdo|primero|ahora)[,.!:]?\s+)*(?:voy a|déjame|permíteme)\s+"
    r"(?:revisar|leer|buscar|ejecutar|crear|escribir|abrir|listar|comprobar|verificar|modificar|"
    r"probar|examinar)\b"
)
_ANNOUNCES = LazyPattern(rf"(?:{_ENGLISH}|{_GERMAN}|{_FRENCH}|{_SPANISH})", re.IGNORECASE)
# It depends on the person, is for another time, or is talk.
_LATER = LazyPattern(
    r"\b(?:if|once|when(?:ever)?|after|unless|until|before|should|would|could|as soon as|tell me|"
    r"let me know|please|you(?:'(?:d|ll|re|ve))?|tomorrow|tonight|later|every|each|daily|weekly|"
    r"hourly|monday|tuesday|wednesday|thursday|friday|saturday|sunday|from now on|in mind|back to|"
    r"next (?:time|week|month|year)|in (?:the )?future|forward to|at \d|in \d|wenn|falls|sobald|"
    r"bitte|morgen|später|dir|ihnen|dich|si|cuando|quand|lorsque|demain|mañana)\b",
    re.IGNORECASE,
)
_FOR_YOU = LazyPattern(r"\bfor you\b", re.IGNORECASE)
_SENTENCES = LazyPattern(r"(?<=[.!…:])\s+")
_NO_PROSE = ("```", "|", ">", "- ", "* ", "#", "    ", "~~~")


def announces_act(text: str) -> bool:
    """Return True if its last sentence says what the model is about to do, and no more."""
    text = text.strip().replace("\u2019", "'")
    if not text or len(text) > TEXT_CHARS_MAX or "```" in text:
        return False
    paragraph = text.rpartition("\n")[2]
    if paragraph.startswith(_NO_PROSE) or "?" in paragraph:
        return False
    sentences = [
        each
        for each in _SENTENCES.sub("\n", paragraph.strip("*_ ")).split("\n")
        if each.strip("*_ ")
    ]
    last = sentences[-1].strip("*_ ") if sentences else ""
    if not last or len(last) > SENTENCE_CHARS_MAX:
        return False
    told = _FOR_YOU.sub("", last)
    return _ANNOUNCES.match(told) is not None and _LATER.search(told) is None
