"""Errors keep their class, cure and facts when they travel."""

import inspect

import pytest

from mpflow import errors
from mpflow.errors import MpflowError, from_wire, to_wire

CLASSES = [
    cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, MpflowError)
]


@pytest.mark.parametrize("cls", CLASSES)
def test_every_error_is_the_same_on_the_other_side(cls: type[MpflowError]) -> None:
    there = from_wire(to_wire(cls("it broke", cure="mend it", facts={"stage": "detect"})))
    assert type(there) is cls
    assert str(there) == "it broke (mend it)"
    assert there.facts == {"stage": "detect"}
    assert there.exit_status == cls.exit_status


def test_a_foreign_exception_becomes_an_internal_error_with_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        1 // 0  # noqa: B018
    there = from_wire(to_wire(caught.value))
    assert there.what.startswith("ZeroDivisionError: ")
    assert "test_errors.py" in there.remote_traceback
    assert there.exit_status == 1


def test_a_subclass_from_outside_travels_as_the_nearest_known_class() -> None:
    class OurError(errors.InputError):
        """Defined where the other side cannot know it."""

    assert type(from_wire(to_wire(OurError("no")))) is errors.InputError
