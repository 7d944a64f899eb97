// Where predictions come from: the program in this page, or a service.

class LocalSource {
  constructor(header, scene) {
    Object.assign(this, { header, scene, latest: new Map(), arrived: () => {}, program: null });
    this.quantities = header.quantities ? new Quantities(header.quantities, scene) : null;
    this.start = header.parameters.map((parameter) => parameter.start);
  }

  // The model is after the script in the page: until it is read, there is one answer, that of the start.
  async open() {
    if (document.readyState === "loading") await new Promise((done) => addEventListener("DOMContentLoaded", done, { once: true }));
    this.program = new Program(this.header.program, await Payload.open(this.header.model, "model"), this.header.values);
    this.latest.clear();
    this.arrived();
  }

  // The prediction at a condition, null until there is one; the last few are kept.
  answer(at) {
    const key = at.join(" ");
    if (!this.program && key !== this.start.join(" ")) return null;
    if (!this.latest.has(key)) {
      if (this.latest.size > 3) this.latest.delete(this.latest.keys().next().value);
      this.latest.set(key, this.program ? new LocalAnswer(this, at) : new StartAnswer(this, at));
    }
    return this.latest.get(key);
  }

  // The verdict, and the root mean square of the bars at a few points, in the unit of the field: what a map shows.
  glance(at, variable, region) {
    const answer = new LocalAnswer(this, at);
    const std = answer.std(variable, region);
    let square = 0;
    if (std) for (const value of std) square += value * value;
    return { trust: answer.verdict.trust, bar: std ? Math.sqrt(square / std.length) : 0 };
  }
}

class LocalAnswer {
  constructor(source, at) {
    Object.assign(this, { source, at });
    this.evaluation = source.program?.run(at);
  }

  get drawable() { return true; }

  // A named output of the program, or nothing.
  value(name, variable, region) { const { program } = this.source; return program.has(name) ? program.get(this.evaluation, name, variable, region) : null; }

  mean(variable, region) { return this.value("mean", variable, region); }

  std(variable, region) { return this.value("std", variable, region); }

  // Half of the width of a band.
  half(variable, { factors }) { const std = this.std(variable); return std && factors ? std.map((value) => value * factors[variable]) : std; }

  places() { return this.source.header.axes.map((_, a) => this.value("places", a)); }

  get verdict() { return judged(this.source.header.domain, this.at, this.value("novelty")[0], this.value("folded")?.[0]); }

  // Values and standard deviations.
  get quantities() {
    const found = this.source.quantities;
    if (!found) return null;
    const [density, temperature] = found.variables.map((v) => this.mean(v, found.region));
    const values = found.values(density, temperature, this.value("stream"), this.value("body")), relative = this.value("quantity_std");
    const numbers = this.value("numbers"), bars = this.value("number_std");
    return values.map((value, k) => {
      if (!relative) return { value, std: null };
      const own = relative[k] * Math.abs(value);
      if (!numbers) return { value, std: own };
      // Where two values of a quantity lie farther apart than the bar of the other allows, a bar is too narrow.
      const widened = (bar, other) => Math.sqrt(bar ** 2 + Math.max((value - numbers[k]) ** 2 - other ** 2, 0));
      return found.learned[k] ? { value: numbers[k], std: widened(bars[k], own) } : { value, std: widened(own, bars[k]) };
    });
  }
}

// The answer at the start, which the page has as it is.
class StartAnswer extends LocalAnswer {
  value(name, variable = 0, region = EVERYWHERE) {
    const { header, scene } = this.source;
    if (!header.start.includes(name)) return null;
    const { shape, data } = scene.array(`start.${name}`);
    if (shape.length === 1) return data;
    const field = data.subarray(variable * shape[1], (variable + 1) * shape[1]);
    return region === EVERYWHERE ? field : Float32Array.from(region.points, (point) => field[point]);
  }
}

const PAUSE = 3000, PATIENCE = 120000;  // milliseconds: before a request is repeated that failed, and until it counts as failed

// The same answers from a service, which computes them; one request at a time, and then the latest condition.
class RemoteSource {
  constructor(header, payload) {
    this.used = header.used ? payload.array(header.used).data : null;
    Object.assign(this, { header, answers: new Map(), failures: new Map(), arrived: () => {}, asked: null, wanted: [], last: null, pause: PAUSE });
  }

  async open() {}

  // Null until the answer is there, or none can be had; `arrived` is called then.
  answer(at) {
    const key = at.join(" "), failure = this.failures.get(key);
    if (!this.answers.has(key) && !failure?.waits && key !== this.asked) {
      this.wanted = [...this.wanted.filter((one) => one.join(" ") !== key), [...at]].slice(-2);
      this.ask();
    }
    return this.answers.get(key) ?? failure ?? null;
  }

  async ask() {
    if (this.asked !== null || !this.wanted.length) return;
    const at = this.wanted.pop(), key = this.asked = at.join(" ");
    try {
      this.last = await this.predicted(at);
      if (this.answers.size > 7) this.answers.delete(this.answers.keys().next().value);
      this.answers.set(key, this.last);
      this.failures.clear();
    } catch (error) { this.fail(at, error); } finally { this.asked = null; }
    this.arrived();
    this.ask();
  }

  // A failure is no answer to keep: what is still wanted after a pause is asked for again, unless the service will not have it.
  fail(at, error) {
    const key = at.join(" "), failure = new NoAnswer(this, at, error.message);
    if (this.failures.size > 7) this.failures.delete(this.failures.keys().next().value);
    this.failures.set(key, failure);
    if (!error.final) setTimeout(() => { failure.waits = false; if (this.failures.get(key) === failure) this.arrived(); }, this.pause);
  }

  async predicted(at) {
    const query = new URLSearchParams({ model: this.header.service.model, format: "binary", extrapolate: "true" });
    this.header.parameters.forEach(({ name }, k) => query.set(name, at[k]));
    return new RemoteAnswer(this, at, await (await this.response(`predict?${query}`)).arrayBuffer());
  }

  // The verdicts of many conditions, for the map.
  async verdicts(conditions) {
    const parameters = Object.fromEntries(this.header.parameters.map(({ name }, k) => [name, conditions.map((at) => at[k])]));
    const body = JSON.stringify({ model: this.header.service.model, parameters });
    return (await (await this.response("verdicts", { method: "POST", headers: { "Content-Type": "application/json" }, body })).json()).trust;
  }

  // What the service says; an error in its words, or in ours.
  async response(path, options) {
    const asked = { signal: AbortSignal.timeout(PATIENCE), ...options };
    const response = await fetch(`${this.header.service.url}/v1/${path}`, asked).catch((error) => { throw new Error(`the service cannot be reached (${error.message})`); });
    if (response.ok) return response;
    const { error } = await response.json().catch(() => ({}));
    throw Object.assign(new Error(error ?? `the service answered with the status ${response.status}`), { final: response.status === 422 });
  }
}

class RemoteAnswer {
  constructor(source, at, buffer) {
    const { header } = source;
    Object.assign(this, { source, header, at, arrays: {} });
    const length = new DataView(buffer).getUint32(0, true), head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    let place = 4 + length;
    for (const { name, shape } of head.arrays) {
      const size = shape.reduce((a, b) => a * b, 1);
      this.arrays[name] = new Float32Array(buffer, place, size);
      place += 4 * size;
    }
    const [trust] = head.verdict.split(":");
    this.verdict = { trust, text: head.verdict };
    const names = header.quantities?.names;
    const better = ({ learned, ...read }, k) => (header.quantities.learned[k] ? learned : read);
    this.quantities = names && head.quantities ? names.map((name, k) => better(head.quantities[name], k)).map(({ value, std }) => ({ value: value ?? NaN, std })) : null;
  }

  get drawable() { return true; }

  mean(variable) { return this.shown(this.header.fields[variable].name); }

  std(variable) { return this.shown(`${this.header.fields[variable].name}_std`); }

  half(variable, { name, factors }) { return factors ? this.shown(`${this.header.fields[variable].name}_${name}`) : this.std(variable); }

  // Of all values, those that the page draws.
  shown(name) {
    const all = this.arrays[name], used = this.source.used;
    return !all ? null : used ? (this[name] ??= Float32Array.from(used, (i) => all[i])) : all;
  }

  // All nodes, or those that are drawn where values are at nodes.
  places() { return this.header.axes.map(({ name }) => (this.header.location === "points" ? this.shown(`node_${name}`) : this.arrays[`node_${name}`])); }
}

// A sentence that says why there is no prediction, over the last one if there is any.
class NoAnswer {
  constructor({ header, last }, at, sentence) {
    const shown = last ? `; shown is the prediction at ${header.parameters.map(({ name }, k) => `${name}=${general(last.at[k])}`).join(", ")}` : "";
    Object.assign(this, { at, last, failed: true, waits: true, drawable: !!last, quantities: null, verdict: { trust: "refused", text: sentence + shown } });
  }
  mean(variable) { return this.last.mean(variable); }
  std(variable) { return this.last.std(variable); }
  half(variable, band) { return this.last.half(variable, band); }
  places() { return this.last.places(); }
}
