// The controls that set the condition, the field and how it is drawn, and that show the state.

const CHOICES = ["field", "show", "colors", "line", "band"], CHECKS = ["hatch", "smooth", "mirror", "auto", "logarithmic"];

class Controls {
  // `changed` is called when the state is another one, `newField` before that where it has another field.
  constructor({ header, state }, changed, newField) {
    Object.assign(this, { header, state, changed });
    this.enable(false, false);
    describe(header);
    this.offer();
    header.parameters.forEach((parameter, k) => this.addParameter(parameter, k));
    for (const id of CHOICES) $(id).onchange = () => { if (id === "field") { state.chooseField(+$(id).value); newField(); } else state[id] = $(id).value; changed(); };
    for (const id of CHECKS) $(id).onchange = () => { state[id] = $(id).checked; changed(); };
    for (const id of ["threshold", "low", "high"]) $(id).onchange = () => { const value = numberIn($(id)); if (value !== null) { state[id] = value; if (id !== "threshold") state.auto = false; } changed(); };
    $("compare").onchange = () => { state.other = $("compare").checked ? [...state.at] : null; state.active = state.other ? 1 : 0; changed(); };
    for (const radio of document.getElementsByName("active")) radio.onchange = () => { state.active = +radio.value; changed(); };
  }

  // What can be chosen of this model; what it has not is hidden.
  offer() {
    const { header } = this, plane = header.axes.length === 2;
    fill($("field"), header.fields.map((field, i) => [i, titled(field)]));
    fill($("colors"), header.colors.names.map((name) => [name, name]));
    fill($("line"), [...header.lines.map(({ name, label }) => [name, label]), ...(plane ? [["drawn", "drawn by hand"]] : [])]);
    fill($("band"), header.bands.map(({ name, label }) => [name, label]));
    if (!header.bands.length) for (const id of ["band", "hatch", "threshold", "show"]) $(id).closest("label").hidden = true;
    $("mirror-box").hidden = !header.revolved;
    $("quantities-box").hidden = !header.quantities;
    if (!plane && !header.lines.length) document.querySelector(".line").hidden = true;
  }

  addParameter(parameter, k) {
    const box = element("div"), label = escaped(worded(parameter)), { least, most, lowest, farthest } = parameter, [first, last] = endsOf(parameter);
    box.className = "parameter";
    box.innerHTML = `<div class="row"><label for="slider${k}">${label}</label><input type="number" class="number" id="number${k}" step="any" aria-label="${label}"></div>
      <input type="range" id="slider${k}" min="${first}" max="${last}" step="any"><div class="scale"><span>${short(least)}</span><span>trained on ${short(parameter.low)} to ${short(parameter.high)}</span><span>${short(most)}</span></div>`;
    $("parameters").append(box);
    const slider = $(`slider${k}`), number = $(`number${k}`), step = (last - first) / 200;
    slider.oninput = () => this.set(k, valueAt(parameter, +slider.value));
    slider.onkeydown = (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
      if (by) { event.preventDefault(); this.set(k, valueAt(parameter, Math.min(last, Math.max(first, positionOf(parameter, this.state.current[k]) + by * step)))); }
    };
    number.onchange = () => { const value = numberIn(number); if (value !== null) this.set(k, Math.min(farthest, Math.max(lowest, value))); else this.show(); };
  }

  set(k, value) { this.state.set(k, value); this.changed(); }

  // What needs a prediction to be drawn, and what needs the one that is asked for.
  enable(drawn, saved) {
    $("stage").inert = !drawn;
    for (const id of ["fit", "draw"]) $(id).disabled = !drawn;
    for (const id of ["png", "csv", "line-csv"]) $(id).disabled = !saved;
  }

  show() {
    const { state, header } = this;
    state.current.forEach((value, k) => {
      const slider = $(`slider${k}`), number = $(`number${k}`);
      slider.value = positionOf(header.parameters[k], value);
      slider.setAttribute("aria-valuetext", `${short(value)} ${header.parameters[k].unit ?? ""}`);
      if (document.activeElement !== number || Number(number.value) !== value) number.value = +value.toPrecision(6);
    });
    for (const id of CHOICES) $(id).value = state[id];
    for (const id of CHECKS) $(id).checked = state[id];
    $("threshold").value = state.threshold;
    $("compare").checked = !!state.other;
    $("which").hidden = !state.other;
    for (const radio of document.getElementsByName("active")) radio.checked = +radio.value === state.active;
  }

  // The range of the colors, which may follow from the field. What is being typed stays as it is.
  showRange() {
    const { low, high, auto } = this.state, typed = [$("low"), $("high")].includes(document.activeElement);
    if (auto) { $("low").value = +low.toPrecision(5); $("high").value = +high.toPrecision(5); }
    else if (!typed) { $("low").value = low; $("high").value = high; }
  }
}

// What the page says of its model.
function describe(header) {
  $("subtitle").textContent = header.subtitle;
  for (const [name, value] of Object.entries(header.facts)) $("facts").append(element("dt", name), element("dd", value));
  $("check").textContent = header.check;
}

// Null where there is none.
function numberIn(input) { const value = Number(input.value); return input.value !== "" && isFinite(value) ? value : null; }
