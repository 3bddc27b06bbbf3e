"""The sentences of the Declaration: the same ones in each language, in one Unicode form."""

import unicodedata

from transformer_course.data.declaration import FIRST, OTHERS


def test_each_language_has_the_same_number_of_sentences() -> None:
    assert list(FIRST) == list(OTHERS)
    assert {len(sentences) for sentences in OTHERS.values()} == {8}


def test_no_sentence_occurs_twice() -> None:
    sentences = [*FIRST.values(), *(one for many in OTHERS.values() for one in many)]
    assert len(set(sentences)) == 4 * 9


def test_characters_are_composed_and_spaces_single() -> None:
    for language, first in FIRST.items():
        for sentence in (first, *OTHERS[language]):
            assert unicodedata.normalize("NFC", sentence) == sentence
            assert " ".join(sentence.split()) == sentence
            assert sentence.endswith(".")


def test_scripts_differ_in_bytes_a_character() -> None:
    sizes = {name: len(text.encode()) / len(text) for name, text in FIRST.items()}
    assert sizes["English"] == 1.0
    assert 1.0 < sizes["German"] < 1.1 < 1.8 < sizes["Greek"] < sizes["Korean"] < 3.0
