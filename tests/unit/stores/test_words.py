"""What a question means: any text is one, and none is dangerous."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes.stores.words import (
    LONG,
    NOTHING,
    PHRASE_WORDS_MAX,
    QUESTION_CHARS_MAX,
    SHORT,
    WORDS_MAX,
    Lens,
    SearchQuery,
    Term,
    parse_query,
    words_of,
)

ANY = st.text(st.characters(), max_size=200)
MEAN = st.text(st.sampled_from("ab\"*-: ()^&|!<>'\\{}東"), max_size=60)


def wanted(*words: str) -> tuple[Term, ...]:
    return tuple(Term((word,)) for word in words)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("snowy owl", SearchQuery(wanted=wanted("snowy", "owl"))),
        ("owl OWL Owl", SearchQuery(wanted=wanted("owl"))),
        ('"snowy owl"', SearchQuery(wanted=(Term(("snowy", "owl")),))),
        ('"not closed', SearchQuery(wanted=(Term(("not", "closed")),))),
        ("owl -nest", SearchQuery(wanted=wanted("owl"), barred=wanted("nest"))),
        ('owl -"a nest"', SearchQuery(wanted=wanted("owl"), barred=(Term(("a", "nest")),))),
        ("nest*", SearchQuery(wanted=(Term(("nest",), begins=True),))),
        ('"an ow"*', SearchQuery(wanted=(Term(("an", "ow"), begins=True),))),
        ("falcon-heavy", SearchQuery(wanted=(Term(("falcon", "heavy")),))),
        ("Größe", SearchQuery(wanted=wanted("grosse"))),
        ("東京", SearchQuery(wanted=(Term(("東", "京")),))),
        ("東京*", SearchQuery(wanted=(Term(("東", "京")),))),
        ("n*", SearchQuery(wanted=wanted("n"), notes=(SHORT,))),
        ("", SearchQuery(notes=(NOTHING,))),
        ('- * "" -""', SearchQuery(notes=(NOTHING,))),
    ],
)
def test_a_question_is_read_as_people_mean_it(text: str, meant: SearchQuery) -> None:
    assert parse_query(text) == meant


def test_a_long_question_keeps_its_longest_words() -> None:
    question = parse_query("what did we say about the migration of the postgres server yesterday")
    assert question.wanted == wanted("migration", "yesterday")
    assert question.notes == (LONG,)
    assert parse_query("x" + " " * QUESTION_CHARS_MAX + "y").notes == (LONG,)
    assert len(parse_query("東京タワーに行きました").wanted[0].words) == PHRASE_WORDS_MAX


@given(st.one_of(ANY, MEAN))
@example("\ud83e \0 \ue000l")
@example("é" * 5_000)
def test_any_text_is_a_small_question_of_plain_words(text: str) -> None:
    question = parse_query(text)
    terms = (*question.wanted, *question.barred)
    words = [word for term in terms for word in term.words]
    assert len(question.wanted) <= WORDS_MAX >= len(question.barred)
    assert all(0 < len(term.words) <= PHRASE_WORDS_MAX for term in terms)
    assert all(re.fullmatch(r"[^\W_]{1,64}", word) for word in words)
    assert question.wanted or NOTHING in question.notes


@given(st.one_of(ANY, MEAN), st.one_of(ANY, MEAN))
def test_an_excerpt_of_any_text_marks_what_stands_there(text: str, asking: str) -> None:
    question = parse_query(asking)
    if not question.wanted:
        return
    shown, marks = Lens(question).excerpt(text)
    assert len(shown) <= 162
    ends = [end for mark in marks for end in mark]
    assert ends == sorted(ends)
    assert all(0 <= start < stop <= len(shown) for start, stop in marks)


@given(ANY)
def test_a_text_is_found_by_each_of_its_words(text: str) -> None:
    for word in words_of(text)[:20]:
        assert parse_query(word).wanted[0].words == tuple(words_of(word))
