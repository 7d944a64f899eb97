"""The first page of the service and the page of its routes: plain HTML that needs nothing from elsewhere."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, Template

HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{{ title }}</title><link rel="icon" href="data:,">
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
td, th { text-align: left; padding: 0.2rem 1rem 0.2rem 0; vertical-align: top; } code { overflow-wrap: anywhere; }</style>
</head><body><h1>{{ title }}</h1>"""
INDEX = (
    HEAD
    + """{% for model in models %}<h2><a href="explore/{{ model.name | quoted }}">{{ model.name }}</a></h2>
<p>{{ model.model }}, learned from {{ model.runs }} runs; {{ model.bars }}.</p>
<table>{% for one in model.parameters %}<tr><th scope="row">{{ one.name }}</th>
<td>{{ "%g" % one.trained_on[0] }} to {{ "%g" % one.trained_on[1] }} {{ one.unit if one.unit != "1" else "" }}</td></tr>
{% endfor %}</table>
<p><code>/v1/predict?model={{ model.name | quoted }}{% for one in model.parameters %}&amp;{{ one.name | quoted }}={{
"%g" % ((one.trained_on[0] + one.trained_on[1]) / 2) }}{% endfor %}</code></p>{% endfor %}
<p><a href="docs">All routes</a>, <a href="openapi.json">OpenAPI</a>, <a href="metrics">metrics</a></p></body></html>"""
)
DOCS = (
    HEAD
    + """<p>The description for programs is <a href="openapi.json">openapi.json</a>. Errors are JSON with one sentence,
<code>{"error": "..."}</code>; a condition that is refused is answered with status 422.</p>
{% for path, methods in paths.items() %}{% for method, route in methods.items() %}
<h2><code>{{ method | upper }} {{ path }}</code></h2><p>{{ route.description or route.summary }}</p>
<table>{% for one in route.parameters or [] %}<tr><th scope="row"><code>{{ one.name }}</code></th>
<td>{{ one["in"] }}{{ ", required" if one.required else "" }}{{
". " + one.description if one.description else "" }}</td></tr>{% endfor %}</table>
{% if route.requestBody %}<table>{% for name, one in
route.requestBody.content["application/json"].schema.properties.items() %}<tr><th scope="row"><code>{{ name }}</code></th>
<td>in the body{{ ". " + one.description if one.description else "" }}</td></tr>{% endfor %}</table>{% endif %}
{% endfor %}{% endfor %}</body></html>"""
)


def index_page(models: Sequence[Mapping[str, Any]]) -> str:
    return _page(INDEX).render(title="sureflow", models=models)


def docs_page(openapi: Mapping[str, Any]) -> str:
    return _page(DOCS).render(title="Routes", paths=openapi["paths"])


def _page(text: str) -> Template:
    pages = Environment(autoescape=True)
    pages.filters["quoted"] = partial(quote, safe="")  # a name as a part of an address
    return pages.from_string(text)
