"""A page of Dash with the field of a model on its mesh and a slider: what `benchmarks/explorer.py` compares with."""

import sys

import numpy as np
import plotly.graph_objects as go
from dash import Dash, Input, Output, dcc, html

import sureflow as sf
from sureflow.explore.surfaces import drawn

model = sf.load(sys.argv[1])
middle = model.space.at(0.5 * (model.domain.lower + model.domain.upper))
surface = drawn(model.space, middle)
x, y = surface.at(middle.nodes).T
i, j, k = surface.triangles.T

app = Dash(__name__)
app.layout = html.Div([dcc.Slider(10, 30, value=20, id="mach", updatemode="drag"), dcc.Graph(id="field")])


@app.callback(Output("field", "figure"), Input("mach", "value"))
def show(mach: float) -> go.Figure:
    field = model.predict(mach=float(mach), altitude_km=40.0, extrapolate=True)
    values = field["T"].values.ravel()[surface.owners]
    mesh = go.Mesh3d(
        x=x, y=y, z=np.zeros_like(x), i=i, j=j, k=k, intensity=values, intensitymode="cell", hoverinfo="skip"
    )
    return go.Figure(mesh, layout={"scene": {"aspectmode": "data"}, "uirevision": "same"})


if __name__ == "__main__":
    app.run(port=int(sys.argv[2]), debug=False)
