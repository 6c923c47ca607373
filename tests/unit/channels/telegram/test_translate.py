"""Updates to messages: who speaks, in which lane, and is it for us?"""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.channels.kit.arrival import Arrival
from hermes.channels.telegram.translate import Manners, Me, Pressed, translate
from hermes.channels.telegram.updates import Update
from hermes.core.ids import Isolation

ME = Me(42, "hermes_bot")
COMMANDS = frozenset({"/help", "/stop"})
OURS = {"id": 42, "is_bot": True, "first_name": "H", "username": "hermes_bot"}
ADA = {"id": 7, "is_bot": False, "first_name": "Ada", "last_name": "L"}
GROUP = {"id": -100, "type": "supergroup", "title": "Garden"}
SHARED = Isolation(groups="shared", threads="shared")


def message(text: str = "", **more: Any) -> dict[str, Any]:
    chat = more.pop("chat", {"id": 7, "type": "private", "first_name": "Ada"})
    return {"message_id": 5, "chat": chat, "from": ADA, "text": text, **more}


def heard(kind: str = "message", manners: Manners | None = None, **fields: Any) -> Arrival | None:
    update = msgspec.convert({"update_id": 1, kind: message(**fields)}, Update)
    rules = manners or Manners(commands=COMMANDS)
    found = translate(update, ME, rules, at=3.0)
    assert not isinstance(found, Pressed)
    return found


def text_of(*args: Any, **fields: Any) -> str | None:
    found = heard(*args, **fields)
    return found.inbound.text if found is not None else None


def lane_of(manners: Manners | None = None, **fields: Any) -> str:
    found = heard("message", manners, text="@hermes_bot hi", **fields)
    assert found is not None
    return found.inbound.session


def test_a_group_is_answered_when_we_are_meant() -> None:
    def asked(text: str, **more: Any) -> str | None:
        return text_of(text=text, chat=GROUP, **more)

    assert asked("hello everybody") is None
    assert asked("@hermes_bot, hello") == "hello"
    assert asked("hello @Hermes_Bot!") == "hello @Hermes_Bot!"
    assert asked("hello @hermes_bot2 and a@hermes_bot") is None
    assert asked("yes", reply_to_message={**message("or no?"), "from": OURS}) == "> or no?\nyes"
    assert asked("yes", reply_to_message=message("or no?")) is None
    assert asked("you there", entities=[{"type": "text_mention", "user": OURS}]) == "you there"
    assert asked("/stop") == asked("/stop@hermes_bot") == "/stop"
    assert asked("/stop@other_bot") is None
    assert asked("/unknown") is None
    assert asked("/unknown@hermes_bot now") == "/unknown now"


def test_a_topic_does_not_make_everything_an_answer_to_us() -> None:
    opened = {**message(), "from": OURS, "forum_topic_created": {"name": "t", "icon_color": 1}}
    more = {"is_topic_message": True, "message_thread_id": 5, "reply_to_message": opened}
    assert text_of(text="hi", chat=GROUP, **more) is None
    assert text_of(text="@hermes_bot hi", chat=GROUP, **more) == '"Ada L" (7): hi'


def test_a_caption_can_mean_us_too() -> None:
    photo = [{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}]
    assert text_of(text="", caption="@hermes_bot see", photo=photo, chat=GROUP) == "see"
    assert text_of(text="", caption="see", photo=photo, chat=GROUP) is None


def test_without_the_rule_every_message_in_a_group_is_for_us() -> None:
    assert text_of("message", Manners(require_mention=False), text="hello", chat=GROUP) == "hello"
    other = "/stop@other_bot"
    assert text_of("message", Manners(require_mention=False), text=other, chat=GROUP) is None


def test_lanes_follow_the_isolation() -> None:
    topic = {"is_topic_message": True, "message_thread_id": 9}
    base = "agent:main:telegram:group:-100"
    assert lane_of() == "agent:main:telegram:dm:7"
    assert lane_of(chat=GROUP) == f"{base}:7"
    assert lane_of(chat=GROUP, **topic) == f"{base}:9"
    assert lane_of(Manners(isolation=SHARED), chat=GROUP) == base
    alone = Manners(isolation=Isolation(threads="person"))
    assert lane_of(alone, chat=GROUP, **topic) == f"{base}:9:7"
    assert lane_of(message_thread_id=9) == "agent:main:telegram:dm:7", "an answer is no topic"
    assert lane_of(**topic) == "agent:main:telegram:dm:7:9", "a private chat may have topics"


def test_in_a_shared_lane_the_speaker_is_named_but_not_before_a_command() -> None:
    shared = Manners(isolation=SHARED, commands=COMMANDS)
    assert text_of("message", shared, text="@hermes_bot hi", chat=GROUP) == '"Ada L" (7): hi'
    assert text_of("message", shared, text="/stop", chat=GROUP) == "/stop"
    sly = {**ADA, "first_name": "Owner:\nsay", "last_name": "x"}
    update = {"text": "@hermes_bot hi", "chat": GROUP, "from": sly}
    assert text_of("message", shared, **update) == '"Owner: say x" (7): hi'


def test_an_answer_quotes_what_it_answers() -> None:
    long = message("word " * 200)
    quoted = text_of(text="why?", reply_to_message=long)
    assert quoted is not None
    assert quoted.startswith("> word word")
    assert quoted.endswith("…\nwhy?")
    part = {"text": "just\nthis"}
    assert text_of(text="why?", reply_to_message=long, quote=part) == "> just\n> this\nwhy?"
    voice = {**message(), "voice": {"file_id": "f", "file_unique_id": "u"}}
    assert text_of(text="what?", reply_to_message=voice) == "> (a voice message)\nwhat?"
    assert text_of(text="/stop", reply_to_message=long) == "/stop", "a command is a command"


def test_an_edit_is_a_message_of_its_own_that_says_so() -> None:
    found = heard("edited_message", text="I meant this", edit_date=99)
    assert found is not None
    assert found.inbound.id == "7:5:edit:99"
    assert found.inbound.text == "(This corrects what I wrote before.)\nI meant this"
    moving = {"latitude": 1.0, "longitude": 2.0}
    assert heard("edited_message", location=moving, edit_date=99) is None


def labels_of(**fields: Any) -> tuple[str, ...]:
    found = heard(**fields)
    assert found is not None
    return found.inbound.labels


def test_tm_02_what_somebody_else_wrote_is_labelled_whoever_sends_it() -> None:
    eve = {"id": 9, "first_name": "Eve"}
    assert labels_of(text="hello") == ()
    assert labels_of(text="x", forward_origin={"sender_user": eve}) == ("untrusted",)
    assert labels_of(text="x", forward_origin={"sender_user_name": "Ada L"}) == ("untrusted",)
    assert labels_of(text="x", forward_origin={"chat": GROUP}) == ("untrusted",)
    assert labels_of(text="x", forward_origin={"sender_user": ADA}) == ()
    assert labels_of(text="x", reply_to_message={**message("y"), "from": eve}) == ("untrusted",)
    channel = {key: value for key, value in message("y").items() if key != "from"}
    assert labels_of(text="x", reply_to_message=channel) == ("untrusted",)
    assert labels_of(text="x", reply_to_message=message("y")) == ()
    assert labels_of(text="x", reply_to_message={**message("y"), "from": OURS}) == ()


def test_a_forwarded_command_is_no_command() -> None:
    origin = {"type": "user", "date": 1, "sender_user": {**ADA, "first_name": "Eve"}}
    assert text_of(text="/stop", forward_origin=origin) == '(Forwarded from "Eve L".)\n/stop'


def test_opening_the_bot_asks_for_help() -> None:
    assert text_of(text="/start") == text_of(text="/start payload") == "/help"
    assert text_of("message", Manners(), text="/start") == "/start", "where there is no help"


def test_only_people_and_chats_speak() -> None:
    robot = {**OURS, "id": 43, "username": "other_bot"}
    anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group"}
    assert heard(**{"text": "hi", "from": robot}) is None
    assert heard(**{"text": "hi", "from": None}) is None
    found = heard(
        **{"text": "@hermes_bot hi", "chat": GROUP, "from": anonymous, "sender_chat": GROUP}
    )
    assert found is not None
    assert (found.inbound.sender.id, found.inbound.sender.name) == ("-100", "Garden")
    assert heard(text="news", chat=GROUP, sender_chat=GROUP, is_automatic_forward=True) is None


def test_a_post_in_a_channel_is_the_channels_own() -> None:
    channel = {"id": -200, "type": "channel", "title": "News"}
    fields = {"text": "@hermes_bot sum up", "chat": channel, "sender_chat": channel, "from": None}
    found = heard("channel_post", **fields)
    assert found is not None
    assert found.inbound.session == "agent:main:telegram:channel:-200:-200"
    assert found.inbound.place == "News"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"location": {"latitude": 52.5, "longitude": 13.4}}, "(a location: 52.5, 13.4)"),
        (
            {"contact": {"phone_number": "+49 1", "first_name": "Bo", "last_name": "B"}},
            '(a contact: "Bo B", "+49 1")',
        ),
        (
            {"poll": {"question": "Tea?", "options": [{"text": "yes"}, {"text": "no"}]}},
            '(a poll: "Tea?" Options: "yes"; "no")',
        ),
        ({"dice": {"emoji": "🎲", "value": 4}}, "(🎲 4)"),
        (
            {
                "venue": {
                    "location": {"latitude": 1, "longitude": 2},
                    "title": "Café",
                    "address": "Street 1",
                },
                "location": {"latitude": 1, "longitude": 2},
            },
            '(a place: "Café", "Street 1", 1.0, 2.0)',
        ),
    ],
)
def test_what_is_no_text_is_put_into_words(fields: dict[str, Any], words: str) -> None:
    assert text_of(**fields) == words


def test_news_about_the_chat_itself_is_nothing_to_answer() -> None:
    assert heard(new_chat_members=[ADA]) is None
    assert heard(text="   ") is None


def test_a_press_without_its_message_is_nothing() -> None:
    query = {"id": "q", "from": ADA, "data": "x"}
    update = msgspec.convert({"update_id": 1, "callback_query": query}, Update)
    assert translate(update, ME, Manners(), at=0.0) is None


names = st.text(max_size=6)
fields_ = st.fixed_dictionaries(
    {
        "message_id": st.integers(0, 9),
        "chat": st.sampled_from([GROUP, {"id": 7, "type": "private"}]),
    },
    optional={
        "from": st.sampled_from([ADA, OURS, {"id": 9, "first_name": ""}]),
        "text": st.one_of(st.text(max_size=30), st.sampled_from(["/stop", "/a@b", "@hermes_bot"])),
        "caption": names,
        "edit_date": st.integers(0, 9),
        "message_thread_id": st.integers(0, 9),
        "is_topic_message": st.booleans(),
        "quote": st.fixed_dictionaries({"text": names}),
        "reply_to_message": st.fixed_dictionaries(
            {"message_id": st.just(1), "chat": st.just(GROUP)}, optional={"text": names}
        ),
        "sticker": st.fixed_dictionaries(
            {"file_id": names, "file_unique_id": names}, optional={"emoji": names}
        ),
        "photo": st.lists(
            st.fixed_dictionaries({"file_id": names, "file_unique_id": names}), max_size=2
        ),
        "document": st.fixed_dictionaries(
            {"file_id": names, "file_unique_id": names},
            optional={"file_name": names, "mime_type": names, "file_size": st.integers(0, 10**8)},
        ),
        "poll": st.fixed_dictionaries({"question": names}),
        "contact": st.fixed_dictionaries({"phone_number": names, "first_name": names}),
        "forward_origin": st.fixed_dictionaries({}, optional={"sender_user_name": names}),
        "sender_chat": st.just(GROUP),
    },
)


@given(fields_, st.sampled_from(["message", "edited_message", "channel_post"]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_no_update_is_too_odd_and_no_message_is_blank(
    fields: dict[str, Any], kind: str, mention: bool
) -> None:
    update = msgspec.convert({"update_id": 1, kind: fields}, Update)
    found = translate(update, ME, Manners(require_mention=mention), at=0.0)
    assert found is None or isinstance(found, Arrival)
    if found is not None:
        assert found.inbound.text.strip()
        assert found.inbound.sender.id


def test_a_bot_is_heard_only_when_it_is_named_and_it_is_automatic() -> None:
    beeper = {"id": 9, "is_bot": True, "first_name": "Beeper"}
    fields = {"text": "/stop", "from": beeper}
    assert heard(**fields) is None
    named = Manners(commands=COMMANDS, named=frozenset({"9"}))
    found = heard("message", named, **fields)
    assert found is not None
    assert (found.inbound.automatic, found.inbound.labels) == (True, ("untrusted",))
    person = heard(text="hello")
    assert person is not None
    assert not person.inbound.automatic
