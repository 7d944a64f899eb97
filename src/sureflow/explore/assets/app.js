// The page: its state, the controls that change it, and what follows from it.

const $ = (id) => document.getElementById(id);
const SETTINGS = { field: 0, show: "mean", colors: "viridis", auto: true, low: 0, high: 1, logarithmic: null, hatch: true, threshold: 1, smooth: false,
  mirror: true, line: "", band: "", drawn: null, x: null, y: null, zoom: null, yaw: -0.6, pitch: 0.5, active: 0, across: 0, up: 1 };

class Explorer {
  constructor(header, payload, source) {
    Object.assign(this, { header, payload, source });
    this.mesh = new Mesh(header, payload);
    this.view = new View($("view"), Uint8Array.from(atob(header.colors.bytes), (c) => c.charCodeAt(0)), header.colors.names.length);
    this.state = {};
    this.frames = [];
    this.sizes = {};
    this.readLink();
    this.build();
    this.prepare();
    addEventListener("hashchange", () => { if (location.hash.slice(1) !== this.written) { this.readLink(); this.show(); this.schedule(); } });
    const resized = new ResizeObserver((entries) => { for (const { target } of entries) delete this.sizes[target.id]; this.schedule(); });
    for (const id of ["stage", "map", "chart"]) resized.observe($(id));
    for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", () => this.recolor());
    this.show();
    this.render();
  }

  // The mesh, where it does not move; and how answers that take time are heard of.
  prepare() {
    if (this.mesh.places) this.view.setMesh(this.mesh);
    if (this.source.arrived) this.source.arrived = () => this.schedule();
  }

  move(answer) {
    const places = answer.places(), n = places[0].length, flat = new Float64Array(n * places.length);
    places.forEach((axis, a) => axis.forEach((value, i) => { flat[i * places.length + a] = value; }));
    this.mesh.setPlaces(this.picked(flat, places.length));
    this.view.setMesh(this.mesh);
  }

  // A service gives all nodes, of which the corners of the triangles are some.
  picked(flat, width) {
    const { first } = this.mesh;
    if (flat.length === first.length * width) return flat;
    const out = new Float64Array(first.length * width);
    first.forEach((node, i) => { for (let a = 0; a < width; a++) out[i * width + a] = flat[node * width + a]; });
    return out;
  }

  // Controls

  build() {
    const { header, state } = this;
    $("subtitle").textContent = header.subtitle;
    fill($("field"), header.fields.map((field, i) => [i, titled(field)]));
    fill($("colors"), header.colors.names.map((name) => [name, name]));
    fill($("line"), [...header.lines.map(({ name, label }) => [name, label]), ...(this.mesh.dimension === 2 ? [["drawn", "drawn by hand"]] : [])]);
    fill($("band"), header.bands.map(({ name, label }) => [name, label]));
    if (!header.bands.length) for (const id of ["band", "hatch", "threshold"]) $(id).closest("label").hidden = true;
    if (!header.bands.length) $("show").closest("label").hidden = true;
    $("mirror-box").hidden = !header.revolved;
    if (this.mesh.dimension === 3) { $("draw").hidden = true; if (!header.lines.length) document.querySelector(".line").hidden = true; }
    header.parameters.forEach((parameter, k) => this.buildParameter(parameter, k));
    for (const [name, value] of Object.entries(header.facts)) $("facts").append(element("dt", name), element("dd", value));
    $("check").textContent = header.check;
    $("map-box").hidden = header.parameters.length < 2;
    $("map-axes").hidden = header.parameters.length < 3;
    for (const id of ["map-x", "map-y"]) fill($(id), header.parameters.map((p, k) => [k, p.words]));
    $("quantities-box").hidden = !header.quantities;
    for (const id of ["field", "show", "colors", "line", "band"]) $(id).onchange = () => { state[id] = id === "field" ? +$(id).value : $(id).value; if (id === "field") { state.logarithmic = null; state.auto = true; this.mapped = null; } this.changed(); };
    $("map-x").onchange = () => { state.across = +$("map-x").value; this.mapped = null; this.changed(); };
    $("map-y").onchange = () => { state.up = +$("map-y").value; this.mapped = null; this.changed(); };
    for (const id of ["hatch", "smooth", "mirror", "auto", "logarithmic"]) $(id).onchange = () => { state[id] = $(id).checked; this.changed(); };
    for (const id of ["threshold", "low", "high"]) $(id).onchange = () => { const value = Number($(id).value); if ($(id).value !== "" && isFinite(value)) { state[id] = value; if (id !== "threshold") state.auto = false; } this.changed(); };
    $("compare").onchange = () => { state.other = $("compare").checked ? [...state.at] : null; state.active = state.other ? 1 : 0; this.changed(); };
    for (const radio of document.getElementsByName("active")) radio.onchange = () => { state.active = +radio.value; this.changed(); };
    $("fit").onclick = () => { state.zoom = null; this.changed(); };
    $("draw").onclick = () => $("draw").setAttribute("aria-pressed", $("draw").getAttribute("aria-pressed") !== "true");
    $("png").onclick = () => this.savePng();
    $("csv").onclick = () => this.save(this.fieldCsv(), "csv", "text/csv");
    $("line-csv").onclick = () => this.save(this.lineCsv(), "line.csv", "text/csv");
    $("link").onclick = () => this.copyLink();
    this.buildStage();
    this.buildMap();
  }

  buildParameter(parameter, k) {
    const box = element("div"), label = escaped(worded(parameter));
    box.className = "parameter";
    box.innerHTML = `<div class="row"><label for="slider${k}">${label}</label><input type="number" class="number" id="number${k}" step="any" aria-label="${label}"></div>
      <input type="range" id="slider${k}" min="${parameter.least}" max="${parameter.most}" step="any"><div class="scale"><span>${short(parameter.least)}</span><span>trained on ${short(parameter.low)} to ${short(parameter.high)}</span><span>${short(parameter.most)}</span></div>`;
    $("parameters").append(box);
    const slider = $(`slider${k}`), number = $(`number${k}`), step = (parameter.most - parameter.least) / 200;
    slider.oninput = () => this.set(k, +slider.value);
    slider.onkeydown = (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
      if (by) { event.preventDefault(); this.set(k, Math.min(parameter.most, Math.max(parameter.least, this.current[k] + by * step))); }
    };
    number.onchange = () => { const value = Number(number.value); if (number.value !== "" && isFinite(value)) this.set(k, Math.min(parameter.farthest, Math.max(parameter.lowest, value))); else this.show(); };
  }

  get current() { return this.state.active && this.state.other ? this.state.other : this.state.at; }

  set(k, value) { this.current[k] = +value.toPrecision(7); this.changed(); }

  changed() { this.show(); this.schedule(); }

  // The state in the controls.
  show() {
    const { state, header } = this;
    state.logarithmic ??= header.fields[state.field].logarithmic;
    this.current.forEach((value, k) => {
      $(`slider${k}`).value = value;
      $(`slider${k}`).setAttribute("aria-valuetext", `${short(value)} ${header.parameters[k].unit ?? ""}`);
      if (document.activeElement !== $(`number${k}`) || Number($(`number${k}`).value) !== value) $(`number${k}`).value = +value.toPrecision(6);
    });
    for (const id of ["field", "show", "colors", "line", "band"]) $(id).value = state[id];
    for (const id of ["hatch", "smooth", "mirror", "auto", "logarithmic"]) $(id).checked = state[id];
    $("threshold").value = state.threshold;
    $("map-x").value = state.across; $("map-y").value = state.up;
    $("compare").checked = !!state.other;
    $("which").hidden = !state.other;
    for (const radio of document.getElementsByName("active")) radio.checked = +radio.value === state.active;
  }

  // Drawing

  // The size of an element that is drawn into. Asking for it makes the browser lay out the page, so it is kept until it changes.
  size(id) { return (this.sizes[id] ??= $(id).getBoundingClientRect()); }

  // After a change of the colors of the page, at once: a printer does not wait.
  recolor() {
    COLORS.clear();
    this.sizes = {};
    if (this.mapped) this.mapped.stale = true;
    this.render();
  }

  schedule() {
    this.asked ??= performance.now();
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { if (this.waiting) this.render(); });
  }

  render() {
    this.waiting = false;
    const { state } = this, answers = [state.at, ...(state.other ? [state.other] : [])].map((at) => this.source.answer(at));
    $("waiting").hidden = !answers.some((answer) => answer === null);
    if (answers.some((answer) => answer === null)) return;
    this.answers = answers;
    if (this.header.moving) this.move(answers[0]);
    this.panels = this.makePanels(answers);
    this.draw();
    if (!this.drawn) { this.drawn = true; performance.mark("first-picture"); }
    this.showVerdict();
    this.showQuantities();
    this.showLine();
    if (this.complete) this.drawMap();
    if (this.probe) this.readAt(...this.probe);
    this.writeLink();
    if (this.asked !== undefined) { this.frames.push(performance.now() - this.asked); if (this.frames.length > 500) this.frames.shift(); this.asked = undefined; }
  }

  makePanels(answers) {
    const { state, header } = this, v = state.field, field = header.fields[v], palette = Math.max(0, header.colors.names.indexOf(state.colors));
    const means = answers.map((answer) => answer.mean(v)), stds = answers.map((answer) => answer.std(v));
    const [low, high] = visible(span(means.flatMap((mean) => [...range(mean)]))), extent = high - low, threshold = state.threshold / 100 * extent;
    const shown = means.map((mean, k) => (state.show === "mean" ? mean : state.show === "std" ? stds[k] : stds[k].map((value) => 100 * value / extent)));
    const found = state.show === "mean" ? [low, high] : [0, span(shown.flatMap((values) => [...range(values)]))[1]];
    if (state.auto) { [state.low, state.high] = found; $("low").value = +state.low.toPrecision(5); $("high").value = +state.high.toPrecision(5); }
    else if (document.activeElement !== $("low") && document.activeElement !== $("high")) { $("low").value = state.low; $("high").value = state.high; }
    const unit = state.show === "relative" ? "%" : field.unit, logarithmic = state.logarithmic && state.show === "mean" && state.low > 0;
    const what = { mean: "", std: "bar of ", relative: "bar of " }[state.show] + field.name;
    const panels = shown.map((values, k) => ({ values, bars: state.hatch ? stds[k] : null, threshold, range: [state.low, state.high], logarithmic, palette,
      mean: means[k], std: stds[k], title: `${answers.length > 1 ? "AB"[k] + ": " : ""}${what}${unit && unit !== "1" ? ` (${unit})` : ""}`, unit }));
    if (answers.length > 1) {
      const values = shown[1].map((value, i) => value - shown[0][i]), most = Math.max(...range(values).map(Math.abs)) || 1;
      const std = stds[0] && stds[1] ? stds[0].map((value, i) => Math.hypot(value, stds[1][i])) : null;
      panels.push({ values, bars: null, range: [-most, most], logarithmic: false, palette, mean: values, std, title: `B - A: ${what}${unit && unit !== "1" ? ` (${unit})` : ""}`, unit, difference: true });
    }
    return panels;
  }

  draw() {
    const { state, panels } = this, pixel = Math.min(devicePixelRatio || 1, 2), stage = this.size("stage");
    const width = Math.max(1, Math.round(stage.width * pixel)), height = Math.max(1, Math.round(stage.height * pixel));
    for (const canvas of [$("view"), $("picture"), $("overlay")]) if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    this.pixel = pixel;
    this.boxes = this.makeBoxes(width, height);
    this.camera = this.makeCamera(this.boxes[0]);
    const options = { smooth: state.smooth, mirror: this.header.revolved && state.mirror, pixel }, context = $("picture").getContext("2d");
    this.painted = this.mesh.dimension === 2 && this.mesh.location === "cells" && !state.smooth;
    $("view").style.visibility = this.painted ? "hidden" : "visible";
    if (!this.painted && !this.begun()) return this.draw();
    if (this.painted) this.view.paint(context, panels, this.boxes, this.camera, options);
    else {
      emptied($("picture"));
      this.view.clear(rgb("--ground"));
      panels.forEach((panel, k) => this.view.draw(panel, this.boxes[k], this.camera, options));
    }
    this.drawOverlay();
  }

  // Whether WebGL2 can be had; where cells can be painted without it, they are no longer smooth, and the box says why.
  begun() {
    try { return !!this.view.gl; } catch (error) {
      if (!this.state.smooth || this.mesh.dimension !== 2 || this.mesh.location !== "cells") throw error;
      this.state.smooth = $("smooth").checked = false;
      $("smooth").disabled = true; $("smooth").title = error.message;
      return false;
    }
  }

  // Of side by side, two and two, and one below the other, what shows the field largest.
  makeBoxes(width, height) {
    const count = this.panels.length, bar = Math.round(70 * this.pixel), top = Math.round(22 * this.pixel);
    const choices = Array.from({ length: count }, (_, c) => {
      const columns = count - c, w = Math.floor(width / columns), h = Math.floor(height / Math.ceil(count / columns));
      return this.panels.map((_, k) => ({ x: (k % columns) * w, y: Math.floor(k / columns) * h + top, width: Math.max(1, w - bar), height: Math.max(1, h - top), bar }));
    });
    const sizes = choices.map((boxes) => this.makeCamera(boxes[0]).fitted);
    return choices[sizes.indexOf(Math.max(...sizes))];
  }

  makeCamera(box) {
    const { state, mesh } = this, turn = mesh.dimension === 3 ? turned(state.yaw, state.pitch) : new Float32Array([1, 0, 0, 0, 1, 0, 0, 0, 1]);
    const low = [Infinity, Infinity], high = [-Infinity, -Infinity], p = mesh.places, signs = this.header.revolved && state.mirror ? [1, -1] : [1];
    const corners = mesh.dimension === 3 ? Array.from({ length: 8 }, (_, c) => [0, 1, 2].map((a) => ((c >> a) & 1 ? mesh.high[a] : mesh.low[a]))) : [[mesh.low[0], mesh.low[1], 0], [mesh.high[0], mesh.high[1], 0]];
    for (const [x, y, z] of corners) for (const sign of signs) for (let a = 0; a < 2; a++) {
      const value = turn[a] * x + turn[3 + a] * y * sign + turn[6 + a] * z;
      low[a] = Math.min(low[a], value); high[a] = Math.max(high[a], value);
    }
    const fitted = 0.94 * Math.min(box.width / (high[0] - low[0] || 1), box.height / (high[1] - low[1] || 1));
    const free = state.zoom === null || state.x === null;
    return { turn, fitted, x: free ? (low[0] + high[0]) / 2 : state.x, y: free ? (low[1] + high[1]) / 2 : state.y, zoom: fitted * (state.zoom ?? 1) };
  }

  drawOverlay() {
    const context = emptied($("overlay")), { pixel, camera, header } = this, ink = color("--ink"), soft = color("--soft");
    context.font = `${12 * pixel}px system-ui, sans-serif`;
    this.panels.forEach((panel, k) => {
      const box = this.boxes[k];
      context.fillStyle = ink; context.textAlign = "left"; context.textBaseline = "alphabetic";
      context.fillText(panel.title, box.x + 6 * pixel, box.y - 7 * pixel, box.width + box.bar - 10 * pixel);
      this.drawBar(context, panel, box, ink);
      if (this.mesh.dimension === 2) this.drawScale(context, box, soft);
      if (this.state.drawn) {
        const [a, b] = [this.toScreen(this.state.drawn.slice(0, 2), box), this.toScreen(this.state.drawn.slice(2), box)];
        for (const [style, size] of [["#000", 4], ["#fff", 2]]) { context.strokeStyle = style; context.lineWidth = size * pixel; context.beginPath(); context.moveTo(...a); context.lineTo(...b); context.stroke(); }
      }
      if (this.probe && this.mesh.dimension === 2) {
        const [x, y] = this.toScreen(this.probe, box);
        for (const [style, size] of [["#000", 3], ["#fff", 1.4]]) { context.strokeStyle = style; context.lineWidth = size * pixel; context.beginPath(); context.arc(x, y, 6 * pixel, 0, 7); context.stroke(); }
      }
    });
  }

  drawBar(context, panel, box, ink) {
    const { pixel } = this, x = box.x + box.width + 8 * pixel, y = box.y + 10 * pixel, width = 13 * pixel, height = box.height - 24 * pixel;
    if (height < 30 * pixel) return;
    const bytes = this.view.colors;
    for (let i = 0; i < 128; i++) {
      const at = 3 * (256 * panel.palette + 2 * i);
      context.fillStyle = `rgb(${bytes[at]},${bytes[at + 1]},${bytes[at + 2]})`;
      context.fillRect(x, y + height * (1 - (i + 1) / 128), width, height / 128 + 1);
    }
    context.strokeStyle = ink; context.lineWidth = 0.7 * pixel; context.strokeRect(x, y, width, height);
    context.fillStyle = ink; context.textAlign = "left"; context.textBaseline = "middle"; context.font = `${10.5 * pixel}px system-ui, sans-serif`;
    const [low, high] = panel.range, share = (v) => (panel.logarithmic ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));
    const marks = panel.logarithmic ? decades(low, high) : ticks(low, high, Math.max(2, Math.min(8, height / (34 * pixel))));
    for (const mark of marks) if (share(mark) >= -1e-6 && share(mark) <= 1.000001) {
      const place = y + height * (1 - share(mark));
      context.fillRect(x + width, place - 0.4 * pixel, 3 * pixel, 0.8 * pixel);
      context.fillText(short(mark, 3), x + width + 5 * pixel, place, box.bar - 30 * pixel);
    }
    context.font = `${12 * pixel}px system-ui, sans-serif`;
  }

  // A bar as long as a round number of the axes' unit.
  drawScale(context, box, ink) {
    const { pixel, camera, header } = this, rough = 90 * pixel / camera.zoom, power = 10 ** Math.floor(Math.log10(rough));
    const length = power * [5, 2, 1].find((f) => f * power <= rough), x = box.x + 10 * pixel, y = box.y + box.height - 10 * pixel;
    context.fillStyle = ink; context.fillRect(x, y, length * camera.zoom, 2 * pixel);
    context.textAlign = "left"; context.textBaseline = "bottom";
    context.fillText(`${short(length)} ${header.axes[0].unit || header.axes[0].name}`, x, y - 2 * pixel);
  }

  toScreen([x, y], box) { return [box.x + box.width / 2 + (x - this.camera.x) * this.camera.zoom, box.y + box.height / 2 - (y - this.camera.y) * this.camera.zoom]; }

  // Which panel a pointer is over, and where in the plane of the mesh.
  toPlace(event) {
    const bounds = $("overlay").getBoundingClientRect(), x = (event.clientX - bounds.left) * this.pixel, y = (event.clientY - bounds.top) * this.pixel;
    const k = Math.max(0, this.boxes.findIndex((b) => x >= b.x && x <= b.x + b.width + b.bar && y >= b.y - 22 * this.pixel && y <= b.y + b.height)), box = this.boxes[k];
    return [this.camera.x + (x - box.x - box.width / 2) / this.camera.zoom, this.camera.y - (y - box.y - box.height / 2) / this.camera.zoom, k];
  }

  buildStage() {
    const stage = $("overlay"), { state } = this, pointers = new Map();
    let start = null;
    stage.onpointerdown = (event) => {
      stage.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, event);
      const place = this.toPlace(event), drawing = $("draw").getAttribute("aria-pressed") === "true" && this.mesh.dimension === 2;
      start = { place, drawing, x: event.clientX, y: event.clientY, camera: { ...this.camera }, yaw: state.yaw, pitch: state.pitch, turn: this.mesh.dimension === 3 && !event.shiftKey };
    };
    stage.onpointermove = (event) => {
      if (pointers.has(event.pointerId) && pointers.size === 2) { this.pinch(pointers, event); return; }
      if (!pointers.has(event.pointerId) || !start) { this.hover(event); return; }
      if (start.drawing) { state.drawn = [start.place[0], start.place[1], ...this.toPlace(event).slice(0, 2)].map((v) => +v.toPrecision(5)); state.line = "drawn"; }
      else if (start.turn) { state.yaw = start.yaw + (event.clientX - start.x) / 150; state.pitch = Math.max(-1.57, Math.min(1.57, start.pitch + (event.clientY - start.y) / 150)); }
      else if (Math.hypot(event.clientX - start.x, event.clientY - start.y) > 3) this.look(start.camera.x - (event.clientX - start.x) * this.pixel / start.camera.zoom, start.camera.y + (event.clientY - start.y) * this.pixel / start.camera.zoom, start.camera.zoom);
      this.changed();
    };
    const end = (event) => {
      pointers.delete(event.pointerId);
      if (start && !start.drawing && Math.hypot(event.clientX - start.x, event.clientY - start.y) <= 3) this.hover(event);
      if (start?.drawing) $("draw").setAttribute("aria-pressed", false);
      start = null;
    };
    stage.onpointerup = end; stage.onpointercancel = end;
    stage.addEventListener("wheel", (event) => { event.preventDefault(); this.zoomAt(this.toPlace(event), Math.exp(-event.deltaY / 500)); }, { passive: false });
    stage.ondblclick = (event) => this.zoomAt(this.toPlace(event), 2);
    stage.onkeydown = (event) => this.stageKey(event);
  }

  pinch(pointers, event) {
    const [a, b] = [...pointers.values()], before = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    pointers.set(event.pointerId, event);
    const [c, d] = [...pointers.values()], after = Math.hypot(c.clientX - d.clientX, c.clientY - d.clientY);
    if (before > 0) this.zoomAt(this.toPlace({ clientX: (c.clientX + d.clientX) / 2, clientY: (c.clientY + d.clientY) / 2 }), after / before);
  }

  look(x, y, zoom) { Object.assign(this.state, { x: +x.toPrecision(6), y: +y.toPrecision(6), zoom: +(zoom / this.camera.fitted).toPrecision(5) }); }

  zoomAt([x, y], factor) {
    const { camera } = this, zoom = Math.max(0.3 * camera.fitted, Math.min(2000 * camera.fitted, camera.zoom * factor)), share = camera.zoom / zoom;
    this.look(x + (camera.x - x) * share, y + (camera.y - y) * share, zoom);
    this.changed();
  }

  stageKey(event) {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key], { camera, state } = this, step = 12 * this.pixel / camera.zoom;
    if (by && this.mesh.dimension === 3) { state.yaw += 0.1 * by[0]; state.pitch = Math.max(-1.57, Math.min(1.57, state.pitch - 0.1 * by[1])); }
    else if (by && event.shiftKey) this.look(camera.x + by[0] * step * 3, camera.y + by[1] * step * 3, camera.zoom);
    else if (by) { const [x, y] = this.probe ?? [camera.x, camera.y]; this.readAt(x + by[0] * step, y + by[1] * step, 0); }
    else if (event.key === "+" || event.key === "=") this.zoomAt(this.probe ?? [camera.x, camera.y], 1.3);
    else if (event.key === "-") this.zoomAt(this.probe ?? [camera.x, camera.y], 1 / 1.3);
    else if (event.key === "0") state.zoom = null;
    else return;
    event.preventDefault();
    this.changed();
  }

  hover(event) { this.readAt(...this.toPlace(event)); this.drawOverlay(); }

  // The value and its bar at a place, in words.
  readAt(x, y, panel = 0) {
    const { header, mesh, state } = this, shown = this.panels[Math.min(panel, this.panels.length - 1)], mirrored = header.revolved && state.mirror && y < 0;
    const found = mesh.dimension === 3 ? mesh.pick(x, y, this.camera.turn) : mesh.locate(x, mirrored ? -y : y);
    if (mesh.dimension === 2) this.probe = [x, y, panel];
    if (!found) { $("readout").textContent = "Outside of the mesh."; return; }
    const field = header.fields[state.field], unit = field.unit && field.unit !== "1" ? ` ${field.unit}` : "", value = mesh.value(shown.mean, found), std = shown.std ? mesh.value(shown.std, found) : null;
    const bands = shown.difference ? [] : header.bands.filter((band) => band.factors), answer = this.answers[Math.min(panel, this.answers.length - 1)];
    const widths = bands.map((band) => [band.short, answer.half(state.field, band)]).filter(([, half]) => half).map(([words, half]) => `; ${words}: ± ${short(mesh.value(half, found), 2)}`);
    const bars = std === null ? "" : ` ± ${short(std, 2)}`, more = std === null ? "" : ` (one standard deviation${widths.join("")})`;
    const at = mesh.dimension === 2 ? `${header.axes[0].name} ${short(x)}, ${header.axes[1].name} ${short(mirrored ? -y : y)} ${header.axes[0].unit}: ` : "";
    $("readout").textContent = `${at}${shown.difference ? "B - A, " : this.panels.length > 1 ? `${"AB"[panel]}, ` : ""}${field.name} = ${short(value)}${bars}${unit}${more}`;
  }

  // Beside the field

  showVerdict() {
    const answer = this.answers[this.state.active && this.answers[1] ? 1 : 0], { trust, text } = answer.verdict, box = $("verdict");
    const words = trust === "inside" ? text.replace("inside", "inside the training domain") : text;
    if (box.textContent !== words) box.textContent = words;
    box.className = trust;
  }

  showQuantities() {
    const all = this.answers.map((answer) => answer.quantities);
    if (!all[0]) return;
    const { words, units } = this.header.quantities, bar = ({ value, std }) => withBar(value, std);
    const rows = words.map((name, k) => `<tr><th scope="row">${escaped(titled({ name, unit: units[k] }))}</th>${all.map((one) => `<td>${bar(one[k])}</td>`).join("")}${all.length > 1 ? `<td>${short(all[1][k].value - all[0][k].value)}</td>` : ""}</tr>`);
    $("quantities").innerHTML = `${all.length > 1 ? '<thead><tr><td></td><th scope="col">A</th><th scope="col">B</th><th scope="col">B - A</th></tr></thead>' : ""}<tbody>${rows.join("")}</tbody>`;
    $("quantities-note").textContent = all[0][0].std === null ? "Calibrate the model for bars of these." : "± one standard deviation of the model's error.";
  }

  // Places, cells and distances of the line that is chosen.
  line() {
    const { state, header, mesh } = this, known = header.lines.find((line) => line.name === state.line);
    if (known) { const points = this.payload.array(known.points).data; return { x: known.x ? this.payload.array(known.x).data : this.arc(points), points, label: known.axis }; }
    if (!state.drawn) return null;
    const key = state.drawn.join();
    if (this.traced?.key !== key || header.moving) {
      const [x0, y0, x1, y1] = state.drawn, n = 240, length = Math.hypot(x1 - x0, y1 - y0), found = [], x = [];
      for (let k = 0; k < n; k++) {
        const px = x0 + (x1 - x0) * k / (n - 1), py = y0 + (y1 - y0) * k / (n - 1), at = mesh.locate(px, header.revolved && state.mirror ? Math.abs(py) : py);
        if (at) { found.push(at); x.push(length * k / (n - 1)); }
      }
      this.traced = { key, x, found, label: `distance along the line${header.axes[0].unit ? ` (${header.axes[0].unit})` : ""}` };
    }
    return this.traced;
  }

  // Distances along cells of a block that moves, from the first of them on.
  arc(points) {
    const [x, y] = this.answers[0].places(), [, lines] = this.header.shape, wide = lines + 1, found = [0];
    const middle = (cell) => { const node = Math.floor(cell / lines) * wide + cell % lines; return [x, y].map((n) => 0.25 * (n[node] + n[node + 1] + n[node + wide] + n[node + wide + 1])); };
    for (let k = 1; k < points.length; k++) { const [a, b] = [middle(points[k - 1]), middle(points[k])]; found.push(found[k - 1] + Math.hypot(b[0] - a[0], b[1] - a[1])); }
    return found;
  }

  curves() {
    const line = this.line(), { state, header, mesh } = this;
    if (!line || line.x.length < 2) return null;
    const band = header.bands.find((one) => one.name === state.band);
    const read = (values) => {
      if (!values) return null;
      if (line.points) return Float32Array.from(line.points, (p) => values[p]);
      const smooth = mesh.location === "cells" ? mesh.atNodes(values) : null;
      return Float32Array.from(line.found, (at) => mesh.value(values, at, smooth));
    };
    return { label: line.label, curves: this.answers.map((answer) => {
      return { x: line.x, y: read(answer.mean(state.field)), std: read(answer.std(state.field)), half: band ? read(answer.half(state.field, band)) : null };
    }) };
  }

  showLine() {
    const found = this.curves(), box = $("chart");
    if (!found) { box.textContent = this.state.line === "drawn" ? "Press Draw a line, then drag over the field." : ""; return; }
    chart(box, this.size("chart").width, found.curves, { x: found.label, y: titled(this.header.fields[this.state.field]) });
  }

  // The map of two parameters

  buildMap() {
    const map = $("map");
    const move = (event) => {
      if (!this.mapBox) return;
      const bounds = map.getBoundingClientRect(), { left, top, width, height } = this.mapBox, x = (event.clientX - bounds.left - left) / width, y = 1 - (event.clientY - bounds.top - top) / height;
      this.moveTo(Math.max(0, Math.min(1, x)), Math.max(0, Math.min(1, y)));
    };
    map.onpointerdown = (event) => { map.setPointerCapture(event.pointerId); move(event); };
    map.onpointermove = (event) => { if (event.buttons) move(event); };
    map.onkeydown = (event) => {
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!by) return;
      event.preventDefault();
      const [x, y] = [this.state.across, this.state.up].map((k) => this.share(k, this.current[k]));
      this.moveTo(Math.max(0, Math.min(1, x + by[0] / 100)), Math.max(0, Math.min(1, y + by[1] / 100)));
    };
  }

  moveTo(x, y) {
    const { state, header } = this;
    [[state.across, x], [state.up, y]].forEach(([k, share]) => { const { least, most } = header.parameters[k]; this.current[k] = +(least + share * (most - least)).toPrecision(5); });
    this.changed();
  }

  share(k, value) { const { least, most } = this.header.parameters[k]; return (value - least) / (most - least); }

  drawMap() {
    if (this.header.parameters.length < 2) return;
    const map = $("map"), { state, header } = this, pixel = Math.min(devicePixelRatio || 1, 2), bounds = this.size("map");
    if (!bounds.width) return;
    const box = this.mapBox = { left: 44, top: 8, width: bounds.width - 54, height: bounds.height - 46 };
    const sized = map.width === Math.round(bounds.width * pixel);
    if (!sized) { map.width = Math.round(bounds.width * pixel); map.height = Math.round(bounds.height * pixel); }
    const context = map.getContext("2d");
    context.setTransform(pixel, 0, 0, pixel, 0, 0);
    context.clearRect(0, 0, bounds.width, bounds.height);
    const fixed = header.parameters.length > 2 ? this.current.filter((_, k) => k !== state.across && k !== state.up).join() : "", key = [state.field, state.across, state.up, fixed].join("|");
    if (this.mapped?.key !== key) this.computeMap(key);
    const place = (x, y) => [box.left + x * box.width, box.top + (1 - y) * box.height];
    if (this.mapped.stale || !sized) this.paintMap(map);
    context.drawImage(this.mapped.picture, box.left, box.top, box.width, box.height);
    context.strokeStyle = color("--line"); context.lineWidth = 1; context.strokeRect(box.left, box.top, box.width, box.height);
    this.drawMapFrame(context, box, place);
    $("map-note").textContent = this.mapped.note + (this.mapped.done ? "" : " Computing.");
  }

  // The colors and hatches of the map, which stay the same while the condition moves.
  paintMap(map) {
    const { n, trust, bar } = this.mapped, most = Math.max(1e-300, ...bar.filter((value, i) => trust[i] === "inside")), bytes = this.view.colors;
    const picture = this.mapped.picture ??= element("canvas"), width = picture.width = map.width, height = picture.height = map.height, context = picture.getContext("2d");
    const first = 256 * Math.max(0, this.header.colors.names.indexOf("cividis")), hatch = { extrapolated: color("--ground"), refused: color("--soft") }, gray = color("--line");
    for (let j = 0; j < n; j++) for (let i = 0; i < n; i++) {
      const at = j * n + i, kind = trust[at];
      if (!kind) continue;
      const x = i * width / n, y = height - (j + 1) * height / n, w = width / n + 0.6, h = height / n + 0.6, from = 3 * (first + Math.round(30 + 225 * Math.min(1, bar[at] / most)));
      context.fillStyle = kind === "refused" ? gray : `rgb(${bytes[from]},${bytes[from + 1]},${bytes[from + 2]})`;
      context.fillRect(x, y, w, h);
      if (kind !== "inside") { context.strokeStyle = hatch[kind]; context.lineWidth = 1.2; context.beginPath(); context.moveTo(x, y + h); context.lineTo(x + w, y); context.stroke(); }
    }
    this.mapped.stale = !this.mapped.done;
  }

  drawMapFrame(context, box, place) {
    const { header, state } = this, ink = color("--ink");
    context.font = "11px system-ui, sans-serif"; context.fillStyle = color("--soft");
    const [x, y] = [state.across, state.up].map((k) => header.parameters[k]);
    context.textAlign = "center"; context.textBaseline = "top";
    for (const tick of ticks(x.least, x.most, 5)) context.fillText(short(tick), place((tick - x.least) / (x.most - x.least), 0)[0], box.top + box.height + 4);
    context.fillText(worded(x), box.left + box.width / 2, box.top + box.height + 20);
    context.textAlign = "right"; context.textBaseline = "middle";
    for (const tick of ticks(y.least, y.most, 5)) context.fillText(short(tick), box.left - 4, place(0, (tick - y.least) / (y.most - y.least))[1]);
    context.save(); context.translate(9, box.top + box.height / 2); context.rotate(-Math.PI / 2); context.textAlign = "center"; context.fillText(worded(y), 0, 0); context.restore();
    const runs = this.payload.array("runs"), width = runs.shape[1];
    for (let i = 0; i < runs.shape[0]; i++) {
      const [px, py] = place(this.share(state.across, runs.data[i * width + state.across]), this.share(state.up, runs.data[i * width + state.up]));
      context.beginPath(); context.arc(px, py, 2.6, 0, 7); context.fillStyle = "#fff"; context.fill(); context.strokeStyle = "#000"; context.lineWidth = 1; context.stroke();
    }
    [state.at, state.other].forEach((at, k) => {
      if (!at) return;
      const [px, py] = place(this.share(state.across, at[state.across]), this.share(state.up, at[state.up]));
      for (const [style, size] of [["#000", 5], ["#fff", 2.4]]) { context.strokeStyle = style; context.lineWidth = size; context.beginPath(); context.moveTo(px - 8, py); context.lineTo(px + 8, py); context.moveTo(px, py - 8); context.lineTo(px, py + 8); context.stroke(); }
      if (state.other) { context.font = "bold 13px system-ui, sans-serif"; context.textAlign = "left"; context.lineWidth = 3; context.strokeStyle = "#fff"; context.strokeText("AB"[k], px + 7, py - 8); context.fillStyle = "#000"; context.fillText("AB"[k], px + 7, py - 8); }
    });
  }

  // Row by row between frames, so that the sliders stay quick.
  computeMap(key) {
    const n = this.source.glance ? 40 : 24, { state, header } = this, mapped = this.mapped = { key, n, trust: [], bar: [], done: false, stale: true,
      note: header.bands.length ? `Brighter: larger bars of ${header.fields[state.field].name}, inside the training domain up to the largest there. Hatched: extrapolated; gray: not trusted. Circles: training runs.` : "Hatched: extrapolated; gray: not trusted. Circles: training runs." };
    const region = this.sample ??= { name: "sample", rough: true, points: Array.from({ length: Math.min(128, header.values) }, (_, i) => Math.floor((i + 0.5) * header.values / Math.min(128, header.values))) };
    const [x, y] = [state.across, state.up].map((k) => header.parameters[k]), at = [...this.current];
    if (!this.source.glance) {
      const all = Array.from({ length: n * n }, (_, c) => at.map((value, k) => (k === state.across ? x.least + (c % n + 0.5) / n * (x.most - x.least) : k === state.up ? y.least + (Math.floor(c / n) + 0.5) / n * (y.most - y.least) : value)));
      this.source.verdicts(all).then((trust) => { Object.assign(mapped, { trust, bar: trust.map(() => 0), done: true, stale: true, note: "Hatched: extrapolated; gray: not trusted. Circles: training runs." }); this.drawMap(); });
      return;
    }
    let j = 0;
    const some = () => {
      if (this.mapped !== mapped) return;
      const until = performance.now() + 8;
      for (; j < n && performance.now() < until; j++) for (let i = 0; i < n; i++) {
        at[state.across] = x.least + (i + 0.5) / n * (x.most - x.least); at[state.up] = y.least + (j + 0.5) / n * (y.most - y.least);
        const { trust, bar } = this.source.glance(at, state.field, region);
        mapped.trust[j * n + i] = trust; mapped.bar[j * n + i] = bar;
      }
      mapped.done = j >= n;
      mapped.stale = true;
      this.drawMap();
      if (!mapped.done) setTimeout(some, 16);
    };
    setTimeout(some, 50);
  }

  // Links and files

  writeLink() {
    const { state } = this, saved = { at: state.at.join(), ...(state.other ? { other: state.other.join() } : {}) };
    for (const [name, value] of Object.entries(SETTINGS)) {
      if (["low", "high"].includes(name) && state.auto) continue;
      if (name === "logarithmic" && state.logarithmic === this.header.fields[state.field].logarithmic) continue;
      if (state[name] !== value && state[name] !== null) saved[name] = Array.isArray(state[name]) ? state[name].join() : String(state[name]);
    }
    const text = new URLSearchParams(saved).toString();
    if (text === this.written) return;
    this.written = text;
    clearTimeout(this.linking);
    this.linking = setTimeout(() => history.replaceState(null, "", `#${text}`), 200);
  }

  // What a link leaves out is as it was at first.
  readLink() {
    const given = new URLSearchParams(location.hash.slice(1)), { state, header } = this;
    Object.assign(state, SETTINGS, { at: header.parameters.map((p) => p.start), other: null, line: header.lines[0]?.name ?? "drawn", band: header.bands[0]?.name ?? "" });
    const numbers = (text, count) => { const found = text.split(",").map(Number); return found.length === count && found.every(isFinite) ? found : null; };
    for (const name of ["at", "other"]) if (given.has(name)) {
      const found = numbers(given.get(name), header.parameters.length);
      if (found) state[name] = found.map((value, k) => Math.min(header.parameters[k].farthest, Math.max(header.parameters[k].lowest, value)));
    }
    for (const [name, value] of Object.entries(SETTINGS)) {
      if (!given.has(name)) continue;
      const text = given.get(name);
      if (name === "drawn") state.drawn = numbers(text, 4);
      else if (typeof value === "boolean" || name === "logarithmic") state[name] = text === "true";
      else if (typeof value === "string") { if (this.choices(name).includes(text)) state[name] = text; }
      else if (text !== "" && isFinite(Number(text))) state[name] = Number(text);
    }
    const whole = (value, count) => Math.min(Math.max(0, Math.round(value)), count - 1);
    state.field = whole(state.field, header.fields.length);
    for (const axis of ["across", "up"]) state[axis] = whole(state[axis], header.parameters.length);
    if (state.across === state.up && header.parameters.length > 1) state.up = state.across ? 0 : 1;
    state.active = state.other ? whole(state.active, 2) : 0;
    if (state.zoom !== null) state.zoom = state.zoom > 0 ? Math.min(2000, Math.max(0.3, state.zoom)) : null;
    state.threshold = Math.max(0, state.threshold);
    if (!(state.high > state.low)) state.auto = true;
  }

  // What may stand in a link where the state has words.
  choices(name) {
    const { header, mesh } = this, names = (all) => all.map((one) => one.name);
    return { show: header.bands.length ? ["mean", "std", "relative"] : ["mean"], colors: header.colors.names, band: names(header.bands),
      line: [...names(header.lines), ...(mesh.dimension === 2 ? ["drawn"] : [])] }[name];
  }

  async copyLink() {
    history.replaceState(null, "", `#${this.written}`);
    try { await navigator.clipboard.writeText(location.href); $("saved").textContent = "Link copied."; }
    catch { $("saved").textContent = "The address of this page is the link."; }
  }

  name() { return `${this.header.fields[this.state.field].name}_${this.header.parameters.map((p, k) => `${p.name}${short(this.state.at[k])}`).join("_")}`; }

  save(content, ending, type) {
    const link = element("a");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = `${this.name()}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    $("saved").textContent = `Saved ${link.download}.`;
  }

  savePng() {
    const out = element("canvas"), { width, height } = $("view"), foot = 44 * this.pixel, context = out.getContext("2d");
    out.width = width; out.height = height + foot;
    context.fillStyle = color("--ground"); context.fillRect(0, 0, out.width, out.height);
    this.draw();
    context.drawImage($(this.painted ? "picture" : "view"), 0, 0); context.drawImage($("overlay"), 0, 0);
    context.fillStyle = color("--ink"); context.font = `${12 * this.pixel}px system-ui, sans-serif`; context.textBaseline = "top";
    this.answers.forEach((answer, k) => context.fillText(`${this.answers.length > 1 ? `${"AB"[k]}: ` : ""}${this.header.parameters.map((p, i) => `${p.words} ${short(answer.at[i])}${p.unit && p.unit !== "1" ? ` ${p.unit}` : ""}`).join(", ")} - ${answer.verdict.text}`, 8 * this.pixel, height + (4 + 18 * k) * this.pixel, out.width - 16 * this.pixel));
    out.toBlob((blob) => this.save(blob, "png"));
  }

  // Every value of the field under its place: that of the cell or point.
  fieldCsv() {
    const { header, mesh } = this, centers = this.centers(), columns = [...header.axes.map((axis, a) => [axis.name, centers[a]])];
    this.answers.forEach((answer, k) => header.fields.forEach((field, v) => {
      const prefix = this.answers.length > 1 ? `${"AB"[k]}_` : "", std = answer.std(v);
      columns.push([prefix + field.name, answer.mean(v)]);
      if (std) columns.push([`${prefix}${field.name}_std`, std], ...header.bands.filter((band) => band.factors).map((band) => [`${prefix}${field.name}_${band.name}`, answer.half(v, band)]).filter(([, half]) => half));
    }));
    return this.csv(columns, mesh.count);
  }

  lineCsv() {
    const found = this.curves();
    if (!found) return "";
    const columns = [["distance", found.curves[0].x]];
    found.curves.forEach((curve, k) => { const name = (found.curves.length > 1 ? `${"AB"[k]}_` : "") + this.header.fields[this.state.field].name; columns.push([name, curve.y]); if (curve.std) columns.push([`${name}_std`, curve.std]); });
    return this.csv(columns, found.curves[0].x.length);
  }

  csv(columns, count) {
    const rows = [columns.map(([name]) => name).join(",")];
    for (let i = 0; i < count; i++) rows.push(columns.map(([, values]) => Number(values[i].toPrecision(7))).join(","));
    return rows.join("\n") + "\n";
  }

  // Where values are: at the points, or in the middle of their triangles.
  centers() {
    const { mesh } = this, sums = this.header.axes.map(() => new Float64Array(mesh.count)), counts = new Float64Array(mesh.count);
    for (let t = 0; t < mesh.triangles.length / 3; t++) for (let k = 0; k < 3; k++) {
      const node = mesh.triangles[3 * t + k], value = mesh.location === "points" ? node : mesh.owners[t];
      counts[value] += 1;
      sums.forEach((sum, a) => { sum[value] += mesh.places[3 * node + a]; });
    }
    return sums.map((sum) => sum.map((value, i) => value / (counts[i] || 1)));
  }
}

function element(tag, text) { const made = document.createElement(tag); if (text !== undefined) made.textContent = text; return made; }
function fill(select, options) { select.replaceChildren(...options.map(([value, text]) => { const option = element("option", text); option.value = value; return option; })); }
// A canvas without what was drawn on it. One that is cleared hides, on paper, what is behind it; one that begins anew does not.
function emptied(canvas) {
  const context = canvas.getContext("2d");
  if (matchMedia("print").matches) canvas.width = canvas.width;
  else context.clearRect(0, 0, canvas.width, canvas.height);
  return context;
}
function titled({ name, unit }) { return unit && unit !== "1" ? `${name} (${unit})` : name; }
function worded({ words, unit }) { return titled({ name: words, unit }); }
// A field that is uniform but for rounding is one color: a range as narrow as that would show rounding as a pattern.
function visible([low, high]) {
  const middle = (low + high) / 2, size = Math.max(Math.abs(low), Math.abs(high));
  return high - low > 1e-5 * size ? [low, high] : [middle - 0.01 * (size || 1), middle + 0.01 * (size || 1)];
}
function range(values) { let low = Infinity, high = -Infinity; for (let i = 0; i < values.length; i++) { const v = values[i]; if (v < low) low = v; if (v > high) high = v; } return [low, high]; }
function decades(low, high) { const found = []; for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high) + 1; power++) for (const f of Math.log10(high / low) > 2.5 ? [1] : [1, 2, 5]) found.push(f * 10 ** power); return found; }
const COLORS = new Map();  // by their names in the style of the page
function color(name) { if (!COLORS.has(name)) COLORS.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim()); return COLORS.get(name); }
function rgb(name) { const hex = color(name); return hex.length === 7 ? [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255) : [1, 1, 1]; }
function turned(yaw, pitch) { const [a, b, c, d] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)]; return new Float32Array([a, b * d, -b * c, 0, c, d, b, -a * d, a * c]); }

(async () => {
  try {
    const header = JSON.parse($("header").textContent), scene = await Payload.open(header.scene, "scene");
    const source = header.service ? new RemoteSource(header, scene) : new LocalSource(header, scene);
    const explorer = window.explorer = new Explorer(header, scene, source);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    await source.open();
    explorer.complete = true;
    explorer.render();
    performance.mark("complete");
    document.body.dataset.ready = "true";
  } catch (error) {
    document.querySelector("main").replaceChildren(Object.assign(element("p", `This page cannot show its model: ${error.message}.`), { className: "failed" }));
    console.error(error);
  }
})();
