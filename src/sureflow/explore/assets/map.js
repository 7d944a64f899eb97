// The map of two parameters: where the model can be trusted, and where the condition is; it moves the condition.

class ParameterMap {
  // `changed` is called when the state is another one, `schedule` to draw it once more.
  constructor({ header, payload, source, state, sizes, palettes }, changed, schedule) {
    Object.assign(this, { header, payload, source, state, sizes, palettes, changed, schedule, values: null });
    const few = Math.min(128, header.values);  // points that stand for all in the size of the bars
    this.region = { name: "sample", rough: true, points: Array.from({ length: few }, (_, i) => Math.floor((i + 0.5) * header.values / few)) };
    $("map-box").hidden = header.parameters.length < 2;
    $("map-axes").hidden = header.parameters.length < 3;
    for (const id of ["map-x", "map-y"]) fill($(id), header.parameters.map((p, k) => [k, p.words]));
    $("map-x").onchange = () => this.chooseAxis("across", "up", +$("map-x").value);
    $("map-y").onchange = () => this.chooseAxis("up", "across", +$("map-y").value);
    this.followPointer($("map"));
  }

  followPointer(map) {
    const move = (event) => {
      if (!this.box) return;
      const bounds = map.getBoundingClientRect(), { left, top, width, height } = this.box;
      this.moveTo((event.clientX - bounds.left - left) / width, 1 - (event.clientY - bounds.top - top) / height);
    };
    map.onpointerdown = (event) => { map.setPointerCapture(event.pointerId); move(event); };
    map.onpointermove = (event) => { if (event.buttons) move(event); };
    map.onkeydown = (event) => {
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!by) return;
      event.preventDefault();
      const [x, y] = this.shares(this.state.current);
      this.moveTo(x + by[0] / 100, y + by[1] / 100);
    };
  }

  // A parameter on one axis of the map only: it changes places with that of the other one.
  chooseAxis(axis, other, chosen) {
    const { state } = this;
    if (state[other] === chosen) state[other] = state[axis];
    state[axis] = chosen;
    this.forget();
    this.changed();
  }

  // The condition to a place in shares of the map, or to the nearest one on it.
  moveTo(x, y) {
    const { state, header } = this;
    [[state.across, x], [state.up, y]].forEach(([k, share]) => {
      state.current[k] = +valueAtShare(header.parameters[k], Math.max(0, Math.min(1, share))).toPrecision(5);
    });
    this.changed();
  }

  // Where a condition is, in shares of the map.
  shares(at) { return [this.state.across, this.state.up].map((k) => shareOf(this.header.parameters[k], at[k])); }

  show() { $("map-x").value = this.state.across; $("map-y").value = this.state.up; }

  forget() { this.values = null; }

  // After a change of the colors of the page.
  recolor() { if (this.values) this.values.stale = true; }

  draw() {
    if (this.header.parameters.length < 2) return;
    const map = $("map"), pixel = Math.min(devicePixelRatio || 1, 2), bounds = this.sizes.of("map");
    if (!bounds.width) return;
    const box = this.box = { left: 44, top: 8, width: bounds.width - 54, height: bounds.height - 46 };
    const sized = map.width === Math.round(bounds.width * pixel);
    if (!sized) { map.width = Math.round(bounds.width * pixel); map.height = Math.round(bounds.height * pixel); }
    const context = map.getContext("2d");
    context.setTransform(pixel, 0, 0, pixel, 0, 0);
    context.clearRect(0, 0, bounds.width, bounds.height);
    this.evaluate();
    if (this.values.stale || !sized) this.paint(map);
    context.drawImage(this.picture, box.left, box.top, box.width, box.height);
    context.strokeStyle = color("--line"); context.lineWidth = 1; context.strokeRect(box.left, box.top, box.width, box.height);
    const place = ([x, y]) => [box.left + x * box.width, box.top + (1 - y) * box.height];
    this.drawAxes(context, box, place);
    this.drawRuns(context, place);
    this.drawConditions(context, place);
    $("map-note").textContent = this.values.note + (this.values.done ? "" : " Computing.");
  }

  // Values of another map than before are computed anew.
  evaluate() {
    const { state } = this, fixed = state.current.filter((_, k) => k !== state.across && k !== state.up);
    const key = [state.field, state.across, state.up, fixed.join()].join("|");
    if (this.values?.key === key) return;
    const values = this.values = new MapValues(this, key, this.region);
    values.compute(() => this.values === values, () => this.draw(), () => { this.forget(); this.schedule(); });
  }

  // The colors and hatches of the map, which stay the same while the condition moves.
  paint(map) {
    const { n, trust, bar } = this.values, most = Math.max(1e-300, ...bar.filter((value, i) => trust[i] === "inside")), bytes = this.palettes;
    const picture = this.picture ??= element("canvas"), width = picture.width = map.width, height = picture.height = map.height, context = picture.getContext("2d");
    const first = 256 * Math.max(0, this.header.colors.names.indexOf("cividis")), hatch = { extrapolated: color("--ground"), refused: color("--soft") }, gray = color("--line");
    for (let j = 0; j < n; j++) for (let i = 0; i < n; i++) {
      const at = j * n + i, kind = trust[at];
      if (!kind) continue;
      const x = i * width / n, y = height - (j + 1) * height / n, w = width / n + 0.6, h = height / n + 0.6, from = 3 * (first + Math.round(30 + 225 * Math.min(1, bar[at] / most)));
      context.fillStyle = kind === "refused" ? gray : `rgb(${bytes[from]},${bytes[from + 1]},${bytes[from + 2]})`;
      context.fillRect(x, y, w, h);
      if (kind !== "inside") { context.strokeStyle = hatch[kind]; context.lineWidth = 1.2; context.beginPath(); context.moveTo(x, y + h); context.lineTo(x + w, y); context.stroke(); }
    }
    this.values.stale = !this.values.done;
  }

  drawAxes(context, box, place) {
    const [x, y] = [this.state.across, this.state.up].map((k) => this.header.parameters[k]);
    context.font = "11px system-ui, sans-serif"; context.fillStyle = color("--soft");
    context.textAlign = "center"; context.textBaseline = "top";
    for (const [value, label] of marksOf(x, 5)) context.fillText(label, place([shareOf(x, value), 0])[0], box.top + box.height + 4);
    context.fillText(worded(x), box.left + box.width / 2, box.top + box.height + 20);
    context.textAlign = "right"; context.textBaseline = "middle";
    for (const [value, label] of marksOf(y, 5)) context.fillText(label, box.left - 4, place([0, shareOf(y, value)])[1]);
    context.save(); context.translate(9, box.top + box.height / 2); context.rotate(-Math.PI / 2); context.textAlign = "center"; context.fillText(worded(y), 0, 0); context.restore();
  }

  drawRuns(context, place) {
    const { data, shape: [count, width] } = this.payload.array("runs");
    for (let i = 0; i < count; i++) {
      const [x, y] = place(this.shares(data.subarray(i * width, (i + 1) * width)));
      context.beginPath(); context.arc(x, y, 2.6, 0, 7); context.fillStyle = "#fff"; context.fill(); context.strokeStyle = "#000"; context.lineWidth = 1; context.stroke();
    }
  }

  drawConditions(context, place) {
    [this.state.at, this.state.other].forEach((at, k) => {
      if (!at) return;
      const [x, y] = place(this.shares(at));
      outlined(context, [5, 2.4], () => { context.moveTo(x - 8, y); context.lineTo(x + 8, y); context.moveTo(x, y - 8); context.lineTo(x, y + 8); });
      if (this.state.other) { context.font = "bold 13px system-ui, sans-serif"; context.textAlign = "left"; context.lineWidth = 3; context.strokeStyle = "#fff"; context.strokeText("AB"[k], x + 7, y - 8); context.fillStyle = "#000"; context.fillText("AB"[k], x + 7, y - 8); }
    });
  }
}
