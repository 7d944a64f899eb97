// Where predictions come from: the program in this page, or a service.

class LocalSource {
  constructor(header, payload) {
    this.header = header;
    this.program = new Program(header.program, payload);
    this.quantities = header.quantities ? new Quantities(header.quantities, payload) : null;
    this.latest = new Map();
  }

  // The prediction at a condition; the last few are kept.
  answer(at) {
    const key = at.join(" ");
    if (!this.latest.has(key)) {
      if (this.latest.size > 3) this.latest.delete(this.latest.keys().next().value);
      this.latest.set(key, new LocalAnswer(this, at));
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
    Object.assign(this, { source, at, program: source.program });
    this.evaluation = this.program.run(at);
  }

  mean(variable, region) { return this.program.get(this.evaluation, "mean", variable, region); }

  std(variable, region) { return this.program.has("std") ? this.program.get(this.evaluation, "std", variable, region) : null; }

  places() { return this.program.has("places") ? this.source.header.axes.map((_, a) => this.program.get(this.evaluation, "places", a)) : null; }

  get verdict() { return judged(this.source.header.domain, this.at, this.program, this.evaluation); }

  // Values and standard deviations.
  get quantities() {
    const found = this.source.quantities;
    if (!found) return null;
    const [density, temperature] = found.variables.map((v) => this.mean(v, found.region));
    const values = found.values(density, temperature, this.program.get(this.evaluation, "stream"));
    const relative = this.program.has("quantity_std") ? this.program.get(this.evaluation, "quantity_std") : null;
    return values.map((value, k) => ({ value, std: relative ? relative[k] * Math.abs(value) : null }));
  }
}

// Whether a prediction can be trusted, in a sentence, as sureflow.uq.domain says it.
function judged(domain, at, program, evaluation) {
  const beyond = domain.names.flatMap((name, k) => {
    const { low, high, width } = domain.box[k], outside = Math.max(0, low - at[k], at[k] - high) / width;
    return outside > 0 ? [{ name, outside, text: `${name}=${short(at[k], 6)} is outside ${short(low)}..${short(high)} by ${Math.round(100 * outside)}% of the range of the runs` }] : [];
  });
  const novelty = program && program.has("novelty") ? program.get(evaluation, "novelty")[0] / domain.usual : 0;
  if (!beyond.length && novelty <= 1) return { trust: "inside", text: "inside the training domain" };
  if (!beyond.length) return { trust: "extrapolated", text: `extrapolated: every parameter is in its range, but this combination is ${short(novelty)} times as new to the model as nearly all of its training runs were when they were left out` };
  const distance = Math.hypot(...beyond.map((one) => one.outside)), far = distance > domain.reach;
  return { trust: far ? "refused" : "extrapolated", text: `${far ? "not to be trusted" : "extrapolated"}: ${beyond.map((one) => one.text).join("; ")}` };
}
