from html.parser import HTMLParser

from explore.trained import of_kind, trained
from serve.local_client import local_client

ODD = 'a#b"c d&\\'


def test_links_of_models_with_odd_names():
    links = []

    class Links(HTMLParser):
        def handle_starttag(self, tag, attrs):
            links.extend(value for name, value in attrs if (tag, name) == ("a", "href"))

    with local_client({ODD: trained("interpolation")}) as client:
        Links().feed(client.get("/").text)
        (explorer,) = (link for link in links if link.startswith("explore/"))
        assert client.get(f"/{explorer}").status_code == 200


def test_labels_of_models_with_odd_names():
    with local_client({ODD: trained("interpolation")}) as client:
        assert 'sureflow_batches{model="a#b\\"c d&\\\\"} 0' in client.get("/metrics").text.splitlines()


def test_parameters_are_those_of_all_models():
    with local_client({"shock": trained("interpolation"), "moving": of_kind("moving")}) as client:
        told = client.get("/openapi.json").json()["paths"]["/v1/predict"]["get"]["parameters"]
        found = {one["name"]: one for one in told if one["name"] in ("mach", "altitude_km", "angle", "thickness")}
        assert len(found) == 4
        assert not any(one["required"] for one in found.values())
        assert "moving" in found["angle"]["description"]
        assert "A parameter of the model moving" in client.get("/docs").text
        assert client.get("/v1/predict?model=moving&angle=1.1&thickness=0.5").status_code == 200
