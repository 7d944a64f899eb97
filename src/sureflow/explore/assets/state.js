// What the page shows, and the link that holds it.

const SETTINGS = { field: 0, show: "mean", colors: "viridis", auto: true, low: 0, high: 1, logarithmic: null, hatch: true, threshold: 1, smooth: false,
  mirror: true, line: "", band: "", drawn: null, x: null, y: null, zoom: null, yaw: -0.6, pitch: 0.5, active: 0, across: 0, up: 1 };

class State {
  constructor(header) { this.header = header; }

  // The condition that is moved.
  get current() { return this.active && this.other ? this.other : this.at; }

  set(k, value) { this.current[k] = +value.toPrecision(7); }

  get mirrored() { return this.header.revolved && this.mirror; }

  chooseField(field) { Object.assign(this, { field, logarithmic: this.header.fields[field].logarithmic, auto: true }); }

  // The range of the colors is that of what is shown, unless it was chosen.
  follow([low, high]) { if (this.auto) Object.assign(this, { low, high }); }

  // What a link says; what it leaves out is as it was at first.
  read(link) {
    const given = new URLSearchParams(link), { header } = this;
    Object.assign(this, SETTINGS, { at: header.parameters.map((p) => p.start), other: null, line: header.lines[0]?.name ?? "drawn", band: header.bands[0]?.name ?? "" });
    for (const name of ["at", "other"]) if (given.has(name)) {
      const found = numbersIn(given.get(name), header.parameters.length);
      if (found) this[name] = found.map((value, k) => Math.min(header.parameters[k].farthest, Math.max(header.parameters[k].lowest, value)));
    }
    for (const [name, value] of Object.entries(SETTINGS)) {
      if (!given.has(name)) continue;
      const text = given.get(name);
      if (name === "drawn") this.drawn = numbersIn(text, 4);
      else if (typeof value === "boolean" || name === "logarithmic") this[name] = text === "true";
      else if (typeof value === "string") { if (this.choices(name).includes(text)) this[name] = text; }
      else if (text !== "" && isFinite(Number(text))) this[name] = Number(text);
    }
    this.limit();
  }

  // What may stand in a link where the state has words.
  choices(name) {
    const { header } = this, names = (all) => all.map((one) => one.name);
    return { show: header.bands.length ? ["mean", "std", "relative"] : ["mean"], colors: header.colors.names, band: names(header.bands),
      line: [...names(header.lines), ...(header.axes.length === 2 ? ["drawn"] : [])] }[name];
  }

  // A link may have any numbers; the state has those that can be shown.
  limit() {
    const { header } = this, whole = (value, count) => Math.min(Math.max(0, Math.round(value)), count - 1);
    this.field = whole(this.field, header.fields.length);
    this.logarithmic ??= header.fields[this.field].logarithmic;
    for (const axis of ["across", "up"]) this[axis] = whole(this[axis], header.parameters.length);
    if (this.across === this.up && header.parameters.length > 1) this.up = this.across ? 0 : 1;
    this.active = this.other ? whole(this.active, 2) : 0;
    if (this.zoom !== null) this.zoom = this.zoom > 0 ? Math.min(2000, Math.max(0.3, this.zoom)) : null;
    this.threshold = Math.max(0, this.threshold);
    if (!(this.high > this.low)) this.auto = true;
  }

  // A link to all of it.
  written() {
    const saved = { at: this.at.join(), ...(this.other ? { other: this.other.join() } : {}) };
    for (const [name, value] of Object.entries(SETTINGS)) {
      if (["low", "high"].includes(name) && this.auto) continue;
      if (name === "logarithmic" && this.logarithmic === this.header.fields[this.field].logarithmic) continue;
      if (this[name] !== value && this[name] !== null) saved[name] = Array.isArray(this[name]) ? this[name].join() : String(this[name]);
    }
    return new URLSearchParams(saved).toString();
  }
}

function numbersIn(text, count) { const found = text.split(",").map(Number); return found.length === count && found.every(isFinite) ? found : null; }

// The state in the address of the page; `followed` is called when the reader has changed it there.
class Link {
  constructor(state, followed) {
    Object.assign(this, { state, text: null, possible: linkable() });
    state.read(location.hash.slice(1));
    $("link").hidden = !this.possible;
    $("link").onclick = () => this.copy();
    addEventListener("hashchange", () => { if (location.hash.slice(1) !== this.text) { state.read(location.hash.slice(1)); followed(); } });
  }

  write() {
    if (!this.possible) return;
    const text = this.state.written();
    if (text === this.text) return;
    this.text = text;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => history.replaceState(null, "", `#${text}`), 200);
  }

  async copy() {
    history.replaceState(null, "", `#${this.text}`);
    try { await navigator.clipboard.writeText(location.href); $("saved").textContent = "Link copied."; }
    catch { $("saved").textContent = "The address of this page is the link."; }
  }
}

// Whether the address of the page can hold its state; that of a page within a notebook cannot.
function linkable() { try { history.replaceState(history.state, "", location.hash || "#"); return true; } catch { return false; } }
