import pytest

BODY = {"parameters": {"mach": 24, "altitude_km": 45}}


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("proposals?cuont=3", "the key 'cuont' is not one of count, model"),
        ("proposals?count=2&count=3", "'count' is given twice in the query: give it once"),
        ("predict?mach=24&mach=25&altitude_km=45", "'mach' is given twice in the query: give it once"),
        ("predict?mach=24&=25&altitude_km=45", "'' is not a parameter: this model takes mach, altitude_km"),
        ("predict?mach=x&altitude_km=45", "mach='x' is not a number"),
        ("predict?=x", "''='x' is not a number"),
    ],
)
def test_what_would_be_ignored_is_refused(client, path, words):
    answer = client.get(f"/v1/{path}")
    assert (answer.status_code, answer.json()) == (422, {"error": words})


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("predict?extrapolate=true", "the key 'extrapolate' is not one of format"),
        ("verdicts?model=shock", "the key 'model' has no place in the query: give it in the body"),
    ],
)
def test_queries_beside_a_body(client, path, words):
    answer = client.post(f"/v1/{path}", json=BODY)
    assert (answer.status_code, answer.json()) == (422, {"error": words})
