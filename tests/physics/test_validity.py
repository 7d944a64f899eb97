from dataclasses import fields, replace

from sureflow.physics.validity import LIMITS, Validity

INSIDE = Validity(2000.0, 1e-4, 1e6, 1.0, 5, viscous=True)
OUTSIDE = Validity(9000.0, 0.02, 2e7, 70.0, 2, viscous=True)


def test_every_number_has_a_limit_and_a_sentence():
    assert set(LIMITS) == {entry.name for entry in fields(Validity)} - {"viscous"}
    assert INSIDE.warnings() == []
    assert len(OUTSIDE.warnings()) == len(LIMITS)
    assert OUTSIDE.warnings()[-1].startswith("2 undisturbed cells ahead of the shock (under 3): ")


def test_an_inviscid_flow_has_no_boundary_layer_to_warn_of():
    assert len(replace(OUTSIDE, viscous=False).warnings()) == len(LIMITS) - 2
