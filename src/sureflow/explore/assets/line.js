// The field along a line of the mesh, or along one that was drawn by hand.

class LinePlot {
  constructor({ header, payload, state, shown, sizes }) { Object.assign(this, { header, payload, state, shown, sizes }); }

  show() {
    const found = this.curves(), box = $("chart");
    if (!found) { box.textContent = this.state.line === "drawn" ? "Press Draw a line, then drag over the field." : ""; return; }
    chart(box, this.sizes.of("chart").width, found.curves, { x: found.label, y: titled(this.header.fields[this.state.field]) });
  }

  // Of every answer, on its own mesh.
  curves() {
    const { state, header, shown } = this, lines = shown.answers.map((answer, k) => this.line(answer, shown.meshOf(k)));
    if (!lines.some((line) => line?.x.length > 1)) return null;
    const band = header.bands.find((one) => one.name === state.band);
    return { label: lines[0].label, curves: shown.answers.map((answer, k) => {
      const read = (values) => values && along(values, lines[k], shown.meshOf(k));
      return { x: lines[k].x, y: read(answer.mean(state.field)), std: read(answer.std(state.field)), half: band ? read(answer.half(state.field, band)) : null };
    }) };
  }

  // Places, cells and distances of the line that is chosen, on the mesh of an answer.
  line(answer, mesh) {
    const { state, header } = this, known = header.lines.find((line) => line.name === state.line);
    if (known) { const points = this.payload.array(known.points).data; return { x: known.x ? this.payload.array(known.x).data : this.arc(points, answer), points, label: known.axis }; }
    if (!state.drawn) return null;
    const key = [...state.drawn, state.mirror].join();
    if (mesh.traced?.key !== key) mesh.traced = { key, ...this.traced(mesh), label: `distance along the line${header.axes[0].unit ? ` (${header.axes[0].unit})` : ""}` };
    return mesh.traced;
  }

  // Distances along cells of a block that moves, from the first of them on.
  arc(points, answer) {
    const [x, y] = answer.places(), [, lines] = this.header.shape, wide = lines + 1, found = [0];
    const middle = (cell) => { const node = Math.floor(cell / lines) * wide + cell % lines; return [x, y].map((n) => 0.25 * (n[node] + n[node + 1] + n[node + wide] + n[node + wide + 1])); };
    for (let k = 1; k < points.length; k++) { const [a, b] = [middle(points[k - 1]), middle(points[k])]; found.push(found[k - 1] + Math.hypot(b[0] - a[0], b[1] - a[1])); }
    return found;
  }

  // Where the line that was drawn lies in the mesh.
  traced(mesh) {
    const { state } = this, [x0, y0, x1, y1] = state.drawn, n = 240, length = Math.hypot(x1 - x0, y1 - y0), found = [], x = [];
    for (let k = 0; k < n; k++) {
      const px = x0 + (x1 - x0) * k / (n - 1), py = y0 + (y1 - y0) * k / (n - 1), at = mesh.locate(px, state.mirrored ? Math.abs(py) : py);
      if (at) { found.push(at); x.push(length * k / (n - 1)); }
    }
    return { found, x };
  }
}

// A field along a line: in cells, or smooth between the corners.
function along(values, { points, found }, mesh) {
  if (points) return Float32Array.from(points, (p) => values[p]);
  const corners = mesh.atCorners(values);
  return Float32Array.from(found, (at) => mesh.between(at, (corner) => corners[corner]));
}
