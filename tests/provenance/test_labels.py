"""The terms and fields of the standards, and the packet that holds both."""

from __future__ import annotations

import json

import pytest

from mpflow.provenance import gb45438, iptc
from mpflow.provenance.tags import declaration_of
from mpflow.provenance.xmp import packet, read_packet

FIELDS = {
    "Label",
    "ContentProducer",
    "ProduceID",
    "ReservedCode1",
    "ContentPropagator",
    "PropagateID",
    "ReservedCode2",
}
URI = "http://cv.iptc.org/newscodes/digitalsourcetype/compositeSynthetic"


def test_a_label_has_the_seven_fields_of_the_standard_and_ids_that_say_nothing() -> None:
    one, other = (gb45438.new_label("mpflow") for _ in range(2))
    data = json.loads(gb45438.label_text(one))
    assert set(data) == FIELDS
    assert (data["Label"], data["ContentProducer"]) == ("1", "mpflow")
    assert one.produce_id != other.produce_id
    assert gb45438.read_label(gb45438.label_text(one)) == one
    assert one.is_valid


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ('{"Label":"1","ContentProducer":"a","ProduceID":"b"}', True),
        ('{"AIGC":{"Label":"2","ContentProducer":"a","ProduceID":"b","More":1}}', True),
        ('{"Label":"7","ContentProducer":"a","ProduceID":"b"}', False),
        ('{"Label":"1","ContentProducer":"","ProduceID":"b"}', False),
        ('{"Label":1,"ContentProducer":"a","ProduceID":"b"}', None),
        ('{"Label":"1"}', None),
        ("[]", None),
        ("", None),
        ("AIGC", None),
    ],
)
def test_the_labels_of_others_are_read_and_judged(text: str, valid: bool | None) -> None:
    label = gb45438.read_label(text)
    assert (None if label is None else label.is_valid) is valid


@pytest.mark.parametrize(
    ("uri", "term", "synthetic"),
    [
        (URI, "compositeSynthetic", True),
        (URI.replace("http:", "https:") + "/", "compositeSynthetic", True),
        (f"{iptc.SCHEME}trainedAlgorithmicMedia", "trainedAlgorithmicMedia", True),
        (f"{iptc.SCHEME}digitalCapture", "digitalCapture", False),
        ("compositeSynthetic", None, False),
        (f"{URI} of Anna", None, False),
    ],
)
def test_only_uris_of_the_vocabulary_name_a_term(uri: str, term: str, synthetic: bool) -> None:
    assert iptc.term_of(uri) == term
    assert iptc.is_synthetic(uri) is synthetic


def test_a_packet_holds_both_whatever_the_producer_is_called() -> None:
    label = gb45438.label_text(gb45438.new_label('<A & "B">'))
    assert read_packet(packet(URI, label)) == (URI, label)


RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
EXT = f'xmlns:ext="{iptc.NAMESPACE}"'


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (f'<r {RDF} {EXT}><d ext:DigitalSourceType="{URI}"/></r>', URI),
        (f'<r {RDF} {EXT}><ext:DigitalSourceType rdf:resource="{URI}"/></r>', URI),
        (f"<r {RDF} {EXT}><ext:DigitalSourceType> {URI} </ext:DigitalSourceType></r>\0\0", URI),
        ("<r/>", ""),
        ("no xml", ""),
        ("", ""),
        (f'<!DOCTYPE r [<!ENTITY e "{URI}">]><r {EXT}><d ext:DigitalSourceType="&e;"/></r>', ""),
    ],
)
def test_packets_of_others_are_read_and_harmful_ones_say_nothing(data: str, found: str) -> None:
    assert read_packet(data.encode())[0] == found


def test_a_network_is_told_from_warped_photos_and_nothing_from_both() -> None:
    terms = {
        making: iptc.term_of(declaration_of(making).tags[iptc.PROPERTY])
        for making in ("composite", "generated")
    }
    assert terms == {
        "composite": "compositeSynthetic",
        "generated": "compositeWithTrainedAlgorithmicMedia",
    }
    assert not declaration_of("").tags
    assert not declaration_of("").packet
