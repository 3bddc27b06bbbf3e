"""The pictures of shapes: seeded, every class, labels where the shapes are."""

import torch
from transformer_course.data.shapes import CLASSES, drawn_shapes


def test_equal_seeds_give_equal_pictures_and_others_do_not() -> None:
    one, again, other = (drawn_shapes(5, seed=seed) for seed in (3, 3, 4))
    assert all(torch.equal(x, y) for x, y in zip(one, again, strict=True))
    assert not torch.equal(one[0], other[0])


def test_every_class_occurs_and_shapes_are_brighter_than_the_background() -> None:
    pictures, labels = drawn_shapes(200, seed=0)
    assert pictures.shape == (200, 1, 32, 32)
    assert labels.shape == (200, 32, 32)
    means = [pictures[:, 0][labels == number].mean() for number in range(len(CLASSES))]
    assert all(mean > means[0] + 0.5 for mean in means[1:])


def test_a_single_pixel_does_not_tell_the_class() -> None:
    """All kinds are drawn in the same brightness, on average."""
    pictures, labels = drawn_shapes(1000, seed=0)
    means = [pictures[:, 0][labels == number].mean().item() for number in range(1, 5)]
    assert max(means) - min(means) < 0.05


def test_one_shape_alone_has_one_class_and_stays_in_the_picture() -> None:
    _, labels = drawn_shapes(100, seed=1, most=1)
    for picture in labels:
        assert len(picture.unique()) == 2
    border = torch.cat([labels[:, 0], labels[:, -1], labels[:, :, 0], labels[:, :, -1]], 1)
    assert (border > 0).float().mean() < 0.2
