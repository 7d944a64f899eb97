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

  // Size of the bars at a few points, relative to the range of the field, and the verdict: what a map shows.
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

  // A named output of the program, or nothing.
  value(name, variable, region) { const { program } = this.source; return program.has(name) ? program.get(this.evaluation, name, variable, region) : null; }

  mean(variable, region) { return this.value("mean", variable, region); }

  std(variable, region) { return this.value("std", variable, region); }

  // Half of the width of a band.
  half(variable, { factors }) { const std = this.std(variable); return std && factors ? std.map((value) => value * factors[variable]) : std; }

  places() { return this.source.header.axes.map((_, a) => this.value("places", a)); }

  get verdict() { return judged(this.source.header.domain, this.at, this.value("novelty")[0]); }

  // Values and standard deviations.
  get quantities() {
    const found = this.source.quantities;
    if (!found) return null;
    const [density, temperature] = found.variables.map((v) => this.mean(v, found.region));
    const values = found.values(density, temperature, this.value("stream"), this.value("body")), relative = this.value("quantity_std");
    const numbers = this.value("numbers"), bars = this.value("number_std");
    // Where a number that was learned by itself lies farther off than its bar allows, that of the field is too narrow.
    const widened = (own, k, value) => (numbers ? Math.sqrt(own ** 2 + Math.max((value - numbers[k]) ** 2 - bars[k] ** 2, 0)) : own);
    return values.map((value, k) => ({ value, std: relative ? widened(relative[k] * Math.abs(value), k, value) : null }));
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

// The same answers from a service, which computes them; one request at a time, and then the latest condition.
class RemoteSource {
  constructor(header, payload) {
    this.used = header.used ? payload.array(header.used).data : null;
    Object.assign(this, { header, answers: new Map(), arrived: () => {}, asking: false, wanted: [] });
  }

  async open() {}

  // Null until the answer is there; `arrived` is called then.
  answer(at) {
    const key = at.join(" ");
    if (!this.answers.has(key)) { this.wanted = [...this.wanted.filter((one) => one.join(" ") !== key), [...at]].slice(-2); this.ask(); }
    return this.answers.get(key) ?? null;
  }

  async ask() {
    if (this.asking || !this.wanted.length) return;
    this.asking = true;
    const at = this.wanted.pop(), query = new URLSearchParams({ model: this.header.service.model, format: "binary", extrapolate: "true" });
    this.header.parameters.forEach(({ name }, k) => query.set(name, at[k]));
    let answer;
    try {
      const response = await fetch(`${this.header.service.url}/v1/predict?${query}`);
      answer = response.ok ? new RemoteAnswer(this, at, await response.arrayBuffer()) : new NoAnswer(at, (await response.json()).error, this.last);
      this.last = response.ok ? answer : this.last;
    } catch (error) { answer = new NoAnswer(at, `the service cannot be reached (${error.message})`, this.last); }
    if (this.answers.size > 7) this.answers.delete(this.answers.keys().next().value);
    this.answers.set(at.join(" "), answer);
    this.asking = false;
    this.arrived();
    this.ask();
  }

  // The verdicts of many conditions, for the map.
  async verdicts(conditions) {
    const parameters = Object.fromEntries(this.header.parameters.map(({ name }, k) => [name, conditions.map((at) => at[k])]));
    const response = await fetch(`${this.header.service.url}/v1/verdicts`, { method: "POST", body: JSON.stringify({ model: this.header.service.model, parameters }) });
    return response.ok ? (await response.json()).trust : [];
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
    this.quantities = names && head.quantities ? names.map((name) => ({ value: head.quantities[name].value ?? NaN, std: head.quantities[name].std })) : null;
  }

  mean(variable) { return this.shown(this.header.fields[variable].name); }

  std(variable) { return this.shown(`${this.header.fields[variable].name}_std`); }

  half(variable, { name, factors }) { return factors ? this.shown(`${this.header.fields[variable].name}_${name}`) : this.std(variable); }

  // Of all values, those that the page draws.
  shown(name) {
    const all = this.arrays[name], used = this.source.used;
    return !all ? null : used ? (this[name] ??= Float32Array.from(used, (i) => all[i])) : all;
  }

  places() { return this.header.axes.map(({ name }) => this.arrays[`node_${name}`]); }
}

// The last prediction under a sentence that says why there is none.
class NoAnswer {
  constructor(at, sentence, last) {
    if (!last) throw new Error(sentence);
    Object.assign(this, { at, last, quantities: null, verdict: { trust: "refused", text: sentence } });
  }
  mean(variable) { return this.last.mean(variable); }
  std(variable) { return this.last.std(variable); }
  half(variable, band) { return this.last.half(variable, band); }
  places() { return this.last.places(); }
}
