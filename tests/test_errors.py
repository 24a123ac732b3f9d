"""Errors keep their class, cure and facts when they travel."""

import errno
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


class OutOfMemoryError(RuntimeError):
    """As cupy and torch name theirs."""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (OutOfMemoryError("on the device"), True),
        (RuntimeError("CUDA failure 2: out of memory ; GPU=0"), True),
        (RuntimeError("CUDA_ERROR_OUT_OF_MEMORY: out of memory"), True),
        (RuntimeError("Failed to allocate memory for requested buffer of size 939524096"), True),
        (RuntimeError("CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED"), True),
        (RuntimeError("std::bad_alloc"), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (ValueError("operands could not be broadcast"), False),
        (errors.ModelError("the model is out of memory"), False),
    ],
    ids=str,
)
def test_lack_of_memory_is_known_by_class_or_by_words(error: Exception, expected: bool) -> None:
    assert errors.is_out_of_memory(error) is expected


def test_lack_of_memory_is_seen_below_what_was_raised_over_it() -> None:
    error = ValueError("no batch")
    error.__cause__ = MemoryError()
    assert errors.is_out_of_memory(error)
    error.__cause__ = KeyError("input")
    assert not errors.is_out_of_memory(error)


def test_no_error_tells_what_lets_somebody_in() -> None:
    error = errors.InputError("'rtsp://bob:p w@cam/1' is gone", cure="try http://h/?token=s")
    assert str(error) == "'rtsp://***@cam/1' is gone (try http://h/?token=***)"
    assert error.args == (error.what, error.cure)
