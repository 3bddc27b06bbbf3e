"""Scenes: what stands in an image is what its caption says and its masks mark."""

from itertools import pairwise

import pytest
import torch
from transformer_course.data.scenes import (
    AND,
    BEGIN,
    COLOURS,
    END,
    HEIGHT,
    MOST,
    NOISE,
    SHAPES,
    WIDTH,
    WORDS,
    caption,
    scenes,
)

DRAWN = scenes(300, seed=3)


def test_equal_seeds_give_equal_scenes_and_others_do_not() -> None:
    again, other = scenes(300, seed=3), scenes(300, seed=4)
    assert torch.equal(DRAWN.images, again.images)
    assert torch.equal(DRAWN.captions, again.captions)
    assert not torch.equal(DRAWN.captions, other.captions)


def test_sizes_and_dtypes() -> None:
    assert DRAWN.images.shape == (300, 3, HEIGHT, WIDTH)
    assert DRAWN.images.dtype == torch.float32
    assert DRAWN.captions.shape == (300, 3 * MOST)
    assert DRAWN.masks.shape == (300, 3 * MOST, HEIGHT, WIDTH)
    assert DRAWN.masks.dtype == torch.bool
    assert len(DRAWN) == 300
    assert len(WORDS) == len(set(WORDS))


def test_a_caption_alternates_colour_shape_and_and_until_its_end() -> None:
    for words, length in zip(DRAWN.captions.tolist(), DRAWN.lengths.tolist(), strict=True):
        assert words[length - 1] == END
        assert set(words[length:]) <= {BEGIN}
        assert all(WORDS[word] in COLOURS for word in words[:length:3])
        assert all(WORDS[word] in SHAPES for word in words[1:length:3])
        assert all(word == AND for word in words[2 : length - 1 : 3])


def test_masks_belong_to_colours_and_shapes_alone() -> None:
    marked = DRAWN.masks.any(-1).any(-1)
    named = (DRAWN.captions != BEGIN) & (DRAWN.captions != AND) & (DRAWN.captions != END)
    assert torch.equal(marked, named)
    assert torch.equal(DRAWN.masks[:, ::3], DRAWN.masks[:, 1::3])


def test_each_mask_has_the_form_that_its_word_names() -> None:
    for scene, words in enumerate(DRAWN.captions.tolist()):
        for place in range(1, int(DRAWN.lengths[scene]), 3):
            rows, columns = DRAWN.masks[scene, place].nonzero().T
            cut = DRAWN.masks[scene, place, rows.min() :, columns.min() :]
            form = torch.tensor([[c == "#" for c in row] for row in SHAPES[WORDS[words[place]]]])
            assert torch.equal(cut[:7, :7], form)


def test_shapes_are_named_from_left_to_right_and_share_no_column() -> None:
    for scene, length in enumerate(DRAWN.lengths.tolist()):
        columns = DRAWN.masks[scene, 1:length:3].any(1)
        ends = [(int(row.nonzero().min()), int(row.nonzero().max())) for row in columns]
        assert all(one[1] < other[0] for one, other in pairwise(ends))


def test_the_objects_have_their_colour_and_the_rest_is_dark() -> None:
    ground = ~DRAWN.masks.any(1)
    dark = DRAWN.images.movedim(1, -1)[ground]
    assert abs(float(dark.mean())) < 0.01
    assert abs(float(dark.std()) - NOISE) < 0.01
    for scene, words in enumerate(DRAWN.captions.tolist()):
        pixels = DRAWN.images[scene][:, DRAWN.masks[scene, 0]].mean(1)
        nearest = {
            name: float(torch.cosine_similarity(pixels, torch.tensor(paint), dim=0))
            for name, paint in COLOURS.items()
        }
        assert max(nearest, key=lambda name: nearest[name]) == WORDS[words[0]]


def test_all_numbers_of_shapes_all_colours_and_all_places_occur() -> None:
    assert set(DRAWN.lengths.tolist()) == {3, 6, 9}
    assert set(DRAWN.captions.unique().tolist()) == set(range(len(WORDS)))
    everywhere = scenes(2000, seed=5, most=1).masks.any(0).any(0)
    assert everywhere[:, 1:-1].all()


@pytest.mark.parametrize(("least", "most"), [(1, 1), (2, 2), (3, 3), (1, 2)])
def test_the_number_of_shapes_can_be_chosen(least: int, most: int) -> None:
    few = scenes(60, seed=1, least=least, most=most)
    assert set(few.lengths.tolist()) == {3 * n for n in range(least, most + 1)}
    assert few.captions.shape == (60, 3 * most)


@pytest.mark.parametrize(("least", "most"), [(0, 1), (2, 1), (1, 4)])
def test_other_numbers_are_refused(least: int, most: int) -> None:
    with pytest.raises(ValueError, match=f"least={least}, most={most}"):
        scenes(1, seed=0, least=least, most=most)


def test_a_caption_is_text_up_to_its_end() -> None:
    words = torch.tensor([1, 5, AND, 3, 7, END, BEGIN, BEGIN, BEGIN])
    assert caption(words) == "red circle and blue cross"
    assert caption(words[:2]) == "red circle"
