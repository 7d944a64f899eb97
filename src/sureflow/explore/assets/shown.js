// The predictions that are shown, one or two: the meshes that they are on, and their panels on the stage.

class Shown {
  constructor(header, payload) {
    Object.assign(this, { header, answers: [] });
    this.meshes = Array.from({ length: header.moving ? 2 : 1 }, () => new Mesh(header, payload));
  }

  // What meshes have in common; where they move, this is that of A.
  get mesh() { return this.meshes[0]; }

  // The mesh of an answer.
  meshOf(k) { return this.meshes[this.header.moving ? k : 0]; }

  // The meshes that are drawn.
  get drawnMeshes() { return this.meshes.slice(0, this.answers.length); }

  take(answers) {
    this.answers = answers;
    if (this.header.moving) answers.forEach((answer, k) => this.move(answer, k));
  }

  move(answer, k) {
    const mesh = this.meshOf(k);
    if (mesh.answer === answer) return;
    const places = answer.places(), n = places[0].length, flat = new Float64Array(n * places.length);
    places.forEach((axis, a) => axis.forEach((value, i) => { flat[i * places.length + a] = value; }));
    mesh.setPlaces(this.picked(flat, places.length));
    mesh.answer = answer;
  }

  // A service gives all nodes, of which the corners of the triangles are some.
  picked(flat, width) {
    const { first } = this.mesh;
    if (flat.length === first.length * width) return flat;
    const out = new Float64Array(first.length * width);
    first.forEach((node, i) => { for (let a = 0; a < width; a++) out[i * width + a] = flat[node * width + a]; });
    return out;
  }

  // Whether there are two meshes, of which one is not the other.
  get apart() {
    const [a, b] = this.drawnMeshes;
    return !!b && a.places.some((value, i) => Math.abs(value - b.places[i]) > 1e-6 * a.size);
  }

  // What the difference of fields on two meshes is.
  get note() {
    const by = this.mesh.location === "cells" ? "cell by cell" : "point by point";
    return this.apart ? `The meshes of A and B differ: B - A is taken ${by}, not place by place, and drawn on the mesh of A.` : "";
  }
}

// The field of each answer, and the difference of two.
function panelsOf(shown, state, header) {
  const { answers } = shown, v = state.field, means = answers.map((answer) => answer.mean(v)), stds = answers.map((answer) => answer.std(v));
  const [low, high] = visible(span(means.flatMap((mean) => [...range(mean)]))), extent = high - low;
  const values = means.map((mean, k) => (state.show === "mean" ? mean : state.show === "std" ? stds[k] : stds[k].map((value) => 100 * value / extent)));
  state.follow(state.show === "mean" ? [low, high] : [0, span(values.flatMap((one) => [...range(one)]))[1]]);
  const unit = state.show === "relative" ? "%" : header.fields[v].unit, title = titled({ name: (state.show === "mean" ? "" : "bar of ") + header.fields[v].name, unit });
  const palette = Math.max(0, header.colors.names.indexOf(state.colors)), logarithmic = state.logarithmic && state.show === "mean" && state.low > 0;
  const panels = answers.map((_, k) => ({ mesh: shown.meshOf(k), values: values[k], bars: state.hatch ? stds[k] : null, threshold: state.threshold / 100 * extent,
    range: [state.low, state.high], logarithmic, palette, mean: means[k], std: stds[k], title: lettered(k, answers.length, ": ") + title }));
  if (panels.length > 1) panels.push(differenceOf(panels, `B - A${shown.apart ? " on the mesh of A" : ""}: ${title}`));
  return panels;
}

// B - A, on the mesh of A; its bar is that of two errors that have nothing to do with each other.
function differenceOf([a, b], title) {
  const between = (name) => b[name].map((value, i) => value - a[name][i]), values = between("values"), most = Math.max(...range(values).map(Math.abs)) || 1;
  const std = a.std && b.std ? a.std.map((value, i) => Math.hypot(value, b.std[i])) : null;
  return { mesh: a.mesh, values, bars: null, range: [-most, most], logarithmic: false, palette: a.palette, mean: between("mean"), std, title, difference: true };
}

// A field that is uniform but for rounding is one color: a range as narrow as that would show rounding as a pattern.
function visible([low, high]) {
  const middle = (low + high) / 2, size = Math.max(Math.abs(low), Math.abs(high));
  return high - low > 1e-5 * size ? [low, high] : [middle - 0.01 * (size || 1), middle + 0.01 * (size || 1)];
}

function range(values) { let low = Infinity, high = -Infinity; for (let i = 0; i < values.length; i++) { const v = values[i]; if (v < low) low = v; if (v > high) high = v; } return [low, high]; }
