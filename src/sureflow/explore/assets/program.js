// A numeric program, as sureflow.explore.program records it: small vectors step by step, fields when they are asked for.

const ELEMENTWISE = {
  add: (a, b) => a + b, subtract: (a, b) => a - b, multiply: (a, b) => a * b, divide: (a, b) => a / b,
  maximum: Math.max, minimum: Math.min, raise: Math.pow, exp: Math.exp, log: Math.log, tanh: Math.tanh,
  sqrt: (a) => Math.sqrt(Math.max(a, 0)),
};
const OF_SMALL = ["combine", "squares", "spread", "warp"];  // what makes a field of small values
const EVERYWHERE = { name: "all", size: (points) => points };  // the region of all points

class Program {
  constructor(header, payload, values) {
    this.values = values;
    this.steps = header.steps;
    this.outputs = header.outputs;
    this.payload = payload;
    this.prepared = new Map();
    this.isField = [];
    for (const step of this.steps)
      this.isField.push(OF_SMALL.includes(step.op) || step.inputs.some((i) => this.isField[i]));
  }

  has(name) { return name in this.outputs; }

  // All small values at one condition.
  run(parameters) {
    const found = [];
    this.steps.forEach((step, index) => found.push(this.isField[index] ? null : this.small(step, index, found, parameters)));
    return { small: found, fields: new Map() };
  }

  // A small output, or a field of one variable over a region: all points, or some of them by number.
  get(evaluation, name, variable = 0, region = EVERYWHERE) {
    const index = this.outputs[name];
    return this.isField[index] ? this.field(evaluation, index, variable, region) : evaluation.small[index];
  }

  small(step, index, found, parameters) {
    const inputs = step.inputs.map((i) => found[i]);
    const array = (key) => this.payload.array(step.arrays[key]);
    const [x, y] = inputs;
    switch (step.op) {
      case "parameters": return Float64Array.from(parameters);
      case "constant": return array("values").data;
      case "join": return joined(inputs);
      case "pick": return Float64Array.from(step.settings.columns, (column) => x[column]);
      case "sum": return Float64Array.of(x.reduce((a, b) => a + b, 0));
      case "smallest": return Float64Array.of(x.slice().sort()[step.settings.rank]);
      case "power": return x.map((value) => value ** step.settings.exponent);
      case "times": return times(x, array("matrix"));
      case "quadratic": return Float64Array.of(times(x, array("matrix")).reduce((sum, value, i) => sum + value * x[i], 0));
      case "distance": return distances(x, array("nodes"));
      case "table": return table(x[0], array("at").data, array("values"));
      case "lattice": return lattice(x, array("ranges").data, array("values"));
      case "process": return this.process(step, index, x);
      default: return elementwise(ELEMENTWISE[step.op], x, y);
    }
  }

  field(evaluation, index, variable, region) {
    const key = `${index} ${variable} ${region.name}`;
    if (!evaluation.fields.has(key)) evaluation.fields.set(key, this.computeField(evaluation, index, variable, region));
    return evaluation.fields.get(key);
  }

  computeField(evaluation, index, variable, region) {
    const step = this.steps[index];
    if (["combine", "squares", "spread"].includes(step.op)) {
      const rows = this.payload.rows(step.settings.rows, variable, region);
      const weights = evaluation.small[step.inputs[0]];
      return step.op === "combine" ? combined(weights, 0, rows) : step.op === "squares" ? squares(weights, rows) : spread(weights, rows);
    }
    if (step.op === "warp") {
      const { last, end, levels, shape: [, lines] } = step.settings, size = region === EVERYWHERE ? this.values : region.points.length;
      const rows = this.payload.rows(step.settings.rows, variable, EVERYWHERE), runs = this.payload.array(step.arrays.runs);
      const [weights, landmarks] = step.inputs.map((i) => evaluation.small[i]), key = `moves ${step.inputs}`;
      if (!evaluation.fields.has(key)) evaluation.fields.set(key, moves(weights, landmarks, runs, Math.ceil(last), end, levels));
      const shares = evaluation.fields.get(key);
      return region === EVERYWHERE ? warped(shares, rows, lines, size) : warpedAt(shares, rows, lines, region.points);
    }
    if (step.op === "only") return this.field(evaluation, step.inputs[0], step.settings.variable, region);
    if (step.op === "select") return this.field(evaluation, step.inputs[step.settings.which[variable]], variable, region);
    if (step.op === "raise" && !this.isField[step.inputs[1]] && evaluation.small[step.inputs[1]][0] === 0)
      return new Float32Array(region === EVERYWHERE ? this.values : region.points.length).fill(1);
    if (step.op === "around" && region.rough) return this.field(evaluation, step.inputs[0], variable, region);
    if (step.op === "around") {
      const all = around(this.field(evaluation, step.inputs[0], variable, EVERYWHERE), step.settings.shape, step.settings.neighbors);
      return region === EVERYWHERE ? all : Float32Array.from(region.points, (point) => all[point]);
    }
    const inputs = step.inputs.map((i) => {
      if (this.isField[i]) return this.field(evaluation, i, variable, region);
      const small = evaluation.small[i];
      return small.length === 1 ? small[0] : small[variable];
    });
    if (step.op === "power") return mapped((value) => value ** step.settings.exponent, inputs[0]);
    return mapped(ELEMENTWISE[step.op], ...inputs);
  }

  process(step, index, x) {
    if (!this.prepared.has(index)) {
      const [nodes, targets, logarithms] = ["nodes", "targets", "logarithms"].map((k) => this.payload.array(step.arrays[k]));
      const [modes, width] = logarithms.shape;
      const made = [];
      for (let mode = 0; mode < modes; mode++)
        made.push(new Process(nodes, targets.data.subarray(mode * nodes.shape[0], (mode + 1) * nodes.shape[0]),
          logarithms.data.subarray(mode * width, (mode + 1) * width), step.settings.wide));
      this.prepared.set(index, made);
    }
    const processes = this.prepared.get(index);
    const found = new Float64Array(2 * processes.length);
    processes.forEach((process, mode) => { [found[mode], found[processes.length + mode]] = process.at(x); });
    return found;
  }
}

// A Gaussian process with a Matern-5/2 kernel and a linear mean with a wide prior.
class Process {
  constructor(nodes, target, logarithms, wide) {
    const [n, width] = nodes.shape;
    Object.assign(this, { n, width, wide, amplitude: Math.exp(logarithms[0]), raw: nodes.data });
    this.scale = Array.from({ length: width }, (_, k) => Math.exp(-logarithms[2 + k]));
    const factor = new Float64Array(n * n), row = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      this.kernel(nodes.data.subarray(i * width, (i + 1) * width), row);
      for (let j = 0; j <= i; j++) factor[i * n + j] = row[j] + (i === j ? Math.exp(logarithms[1]) : 0);
    }
    for (let i = 0; i < n; i++)  // Cholesky
      for (let j = 0; j <= i; j++) {
        let sum = factor[i * n + j];
        for (let k = 0; k < j; k++) sum -= factor[i * n + k] * factor[j * n + k];
        factor[i * n + j] = i === j ? Math.sqrt(sum) : sum / factor[j * n + j];
      }
    this.factor = factor;
    this.half = this.solve(Float64Array.from(target));
    this.across = row;
  }

  kernel(x, out) {
    const { n, width, raw, scale, amplitude, wide } = this;
    for (let j = 0; j < n; j++) {
      let square = 0, product = 1;
      for (let k = 0; k < width; k++) {
        const away = (x[k] - raw[j * width + k]) * scale[k];
        square += away * away;
        product += x[k] * raw[j * width + k];
      }
      const far = Math.sqrt(5 * square);
      out[j] = amplitude * (1 + far + far * far / 3) * Math.exp(-far) + wide * product;
    }
  }

  solve(b) {
    const { n, factor } = this;
    for (let i = 0; i < n; i++) {
      let sum = b[i];
      for (let k = 0; k < i; k++) sum -= factor[i * n + k] * b[k];
      b[i] = sum / factor[i * n + i];
    }
    return b;
  }

  at(x) {
    this.kernel(x, this.across);
    const z = this.solve(this.across);
    let mean = 0, variance = this.amplitude + this.wide * (1 + x.reduce((sum, value) => sum + value * value, 0));
    for (let i = 0; i < this.n; i++) { mean += z[i] * this.half[i]; variance -= z[i] * z[i]; }
    return [mean, Math.max(variance, 0)];
  }
}

function elementwise(operation, x, y) {
  if (y === undefined) return x.map((value) => operation(value));
  const length = Math.max(x.length, y.length);
  return Float64Array.from({ length }, (_, i) => operation(x[x.length === 1 ? 0 : i], y[y.length === 1 ? 0 : i]));
}

function mapped(operation, a, b) {
  const length = (typeof a === "number" ? b : a).length, out = new Float32Array(length);
  if (b === undefined) for (let i = 0; i < length; i++) out[i] = operation(a[i]);
  else if (typeof b === "number") for (let i = 0; i < length; i++) out[i] = operation(a[i], b);
  else if (typeof a === "number") for (let i = 0; i < length; i++) out[i] = operation(a, b[i]);
  else for (let i = 0; i < length; i++) out[i] = operation(a[i], b[i]);
  return out;
}

function joined(values) {
  const out = new Float64Array(values.reduce((sum, value) => sum + value.length, 0));
  let place = 0;
  for (const value of values) { out.set(value, place); place += value.length; }
  return out;
}

function times(x, matrix) {
  const [rows, columns] = matrix.shape, out = new Float64Array(columns), data = matrix.data;
  for (let i = 0; i < rows; i++) {
    const value = x[i], start = i * columns;
    for (let j = 0; j < columns; j++) out[j] += value * data[start + j];
  }
  return out;
}

function distances(x, nodes) {
  const [count, width] = nodes.shape, out = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let square = 0;
    for (let k = 0; k < width; k++) square += (x[k] - nodes.data[i * width + k]) ** 2;
    out[i] = Math.sqrt(square);
  }
  return out;
}

function table(x, at, values) {
  let low = 0, high = at.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (at[middle] <= x) low = middle; else high = middle; }
  const share = (x - at[low]) / (at[low + 1] - at[low]), columns = values.shape[1];
  return Float64Array.from({ length: columns }, (_, k) =>
    (1 - share) * values.data[low * columns + k] + share * values.data[(low + 1) * columns + k]);
}

// Columns over a lattice by Lagrange's cubics through the four nearest entries along every number.
function lattice(x, ranges, values) {
  const count = Math.round(values.shape[0] ** (1 / x.length)), columns = values.shape[1], out = new Float64Array(columns);
  const axes = Array.from(x, (value, k) => {
    const place = (value - ranges[2 * k]) / (ranges[2 * k + 1] - ranges[2 * k]) * (count - 1), first = Math.max(0, Math.min(count - 4, Math.floor(place) - 1));
    const t = [0, 1, 2, 3].map((i) => place - first - i);
    return { first, shares: [t[1] * t[2] * t[3] / -6, t[0] * t[2] * t[3] / 2, t[0] * t[1] * t[3] / -2, t[0] * t[1] * t[2] / 6] };
  });
  for (let corner = 0; corner < 4 ** x.length; corner++) {
    let entry = 0, weight = 1;
    axes.forEach(({ first, shares }, k) => { const i = (corner >> (2 * k)) & 3; entry = entry * count + first + i; weight *= shares[i]; });
    for (let c = 0; c < columns; c++) out[c] += weight * values.data[entry * columns + c];
  }
  return out;
}

// At every point of a block the largest value among its neighbors, one direction after the other.
function around(values, shape, neighbors) {
  let found = values, stride = values.length;
  for (const size of shape) {
    stride /= size;
    // An even window, as wide as a narrow block, reaches one farther back than ahead.
    const window = Math.min(2 * neighbors + 1, size), back = window >> 1, ahead = window - back - 1, next = new Float32Array(values.length);
    for (let i = 0; i < values.length; i++) {
      const place = Math.floor(i / stride) % size, start = i - place * stride;
      let most = -Infinity;
      // At the edges the block is mirrored, which adds no value that is not within reach.
      for (let j = place - back; j <= place + ahead; j++) { const k = j < 0 ? -1 - j : j >= size ? 2 * size - 1 - j : j; most = Math.max(most, found[start + k * stride]); }
      next[i] = most;
    }
    found = next;
  }
  return found;
}

function combined(given, first, rows) {
  const { count, size, data, mix } = rows, out = new Float32Array(size), weights = mix ? times(given, mix) : given;
  for (let k = 0; k < count; k++) {
    const weight = weights[first + k], start = k * size;
    if (weight !== 0) for (let i = 0; i < size; i++) out[i] += weight * data[start + i];
  }
  return out;
}

function squares(weights, { count, size, data }) {
  const out = new Float32Array(size);
  for (let k = 0; k < count; k++) {
    const weight = weights[k], start = k * size;
    if (weight !== 0) for (let i = 0; i < size; i++) out[i] += weight * data[start + i] * data[start + i];
  }
  return out;
}

function spread(weights, rows) {
  const members = weights.length / rows.count, out = new Float32Array(rows.size);
  for (let m = 0; m < members; m++) {
    const one = combined(weights, m * rows.count, rows);
    for (let i = 0; i < out.length; i++) out[i] += one[i] * one[i];
  }
  return out.map((value) => Math.sqrt(value / members));
}

// Runs with smaller weights are left out of a sum: all of them together are below its single precision.
const NEGLIGIBLE = 1e-8;
const TAPS = 4;

// For every row of a wall layer the levels of the runs that it is made of, and their weights (sureflow.models.warps).
function moves(weights, landmarks, runs, count, end, levels) {
  const given = [-0.5, ...landmarks, end], used = [...weights.keys()].filter((k) => Math.abs(weights[k]) > NEGLIGIBLE);
  const first = new Int32Array(count * used.length), shares = new Float64Array(TAPS * count * used.length), width = runs.shape[1];
  used.forEach((run, place) => {
    const found = [-0.5, ...runs.data.subarray(run * width, (run + 1) * width), end], slopes = monotoneSlopes(given, found);
    for (let row = 0, piece = 0; row < count; row++) {
      while (piece < given.length - 2 && given[piece + 1] <= row) piece++;
      const at = row * used.length + place, size = given[piece + 1] - given[piece], t = (row - given[piece]) / size, u = 1 - t;
      const from = (1 + 2 * t) * u * u * found[piece] + t * u * u * size * slopes[piece] + t * t * (3 - 2 * t) * found[piece + 1] - t * t * u * size * slopes[piece + 1];
      first[at] = Math.max(0, Math.min(levels - TAPS, Math.floor(from)));
      // Lagrange's weights; level 0 is the wall, half a cell before level 1.
      const places = [0, 1, 2, 3].map((tap) => Math.max(first[at] + tap - 1, -0.5));
      for (let tap = 0; tap < TAPS; tap++) {
        let share = weights[run];
        for (let other = 0; other < TAPS; other++) if (other !== tap) share *= (from - places[other]) / (places[tap] - places[other]);
        shares[TAPS * at + tap] = share;
      }
    }
  });
  return { used, first, shares, count };
}

// Slopes of piecewise cubics that are monotone as their nodes are; they end with slope 1.
function monotoneSlopes(given, found) {
  const n = given.length - 1, step = [], secant = [], slopes = [];
  for (let i = 0; i < n; i++) { step.push(given[i + 1] - given[i]); secant.push((found[i + 1] - found[i]) / step[i]); }
  const edge = ((2 * step[0] + step[1]) * secant[0] - step[0] * secant[1]) / (step[0] + step[1]);
  slopes.push(Math.max(0, Math.min(3 * secant[0], edge)));
  for (let i = 1; i < n; i++) {
    const before = 2 * step[i] + step[i - 1], after = step[i] + 2 * step[i - 1];
    slopes.push((before + after) / (before / secant[i - 1] + after / secant[i]));
  }
  return [...slopes, Math.min(1, 3 * secant[n - 1])];
}

function warped({ used, first, shares, count }, rows, lines, size) {
  const out = new Float32Array(size), { data } = rows, sum = new Float64Array(lines);
  for (let row = 0; row < count; row++) {
    sum.fill(0);
    for (let place = 0; place < used.length; place++) {
      const at = row * used.length + place, start = used[place] * rows.size + first[at] * lines;
      const a = shares[4 * at], b = shares[4 * at + 1], c = shares[4 * at + 2], d = shares[4 * at + 3];
      for (let i = start, line = 0; line < lines; i++, line++) sum[line] += a * data[i] + b * data[i + lines] + c * data[i + 2 * lines] + d * data[i + 3 * lines];
    }
    out.set(sum, row * lines);
  }
  return out;
}

function warpedAt({ used, first, shares, count }, rows, lines, points) {
  return Float32Array.from(points, (point) => {
    const row = Math.floor(point / lines), line = point % lines;
    let sum = 0;
    if (row < count) for (let place = 0; place < used.length; place++) {
      const at = row * used.length + place, start = used[place] * rows.size + first[at] * lines + line;
      for (let tap = 0; tap < TAPS; tap++) sum += shares[TAPS * at + tap] * rows.data[start + tap * lines];
    }
    return sum;
  });
}

// The arrays of a page: small ones as they are, rows of fields decoded variable by variable when they are needed.
class Payload {
  constructor(header, bytes) {
    Object.assign(this, { header, bytes, cache: new Map() });
  }

  static async open(header, text) {
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Payload(header, new Uint8Array(await new Response(stream).arrayBuffer()));
  }

  array(name) {
    return this.cached(name, () => {
      const { offset, shape, dtype } = this.header.arrays[name];
      const size = shape.reduce((a, b) => a * b, 1), kind = { f8: Float64Array, f4: Float32Array, i4: Int32Array }[dtype];
      return { shape, data: new kind(this.bytes.buffer.slice(offset, offset + size * kind.BYTES_PER_ELEMENT)) };
    });
  }

  rows(name, variable, region) {
    if (region === EVERYWHERE) return this.cached(`${name} ${variable}`, () => this.decoded(name, variable));
    return this.cached(`${name} ${variable} ${region.name}`, () => {
      const all = this.rows(name, variable, EVERYWHERE), { points } = region, size = points.length;
      const data = new Float32Array(all.count * size);
      for (let k = 0; k < all.count; k++) for (let i = 0; i < size; i++) data[k * size + i] = all.data[k * all.size + points[i]];
      return { ...all, size, data };
    });
  }

  // Levels as differences along the points, the lowest bytes of a row before the next ones. Where there is a matrix to mix
  // them, the rows are components, and weights of rows are multiplied with it.
  decoded(name, variable) {
    const { offset, shape: [count, variables, size], exponent, planes, mix, ranges: named } = this.header.rows[name];
    const ranges = this.array(named).data, data = new Float32Array(count * size), { bytes } = this;
    for (let k = 0; k < count; k++) {
      const row = k * variables + variable, low = ranges[2 * row], step = ranges[2 * row + 1];
      const first = offset + planes * row * size, second = first + size, third = second + size;
      let level = 0;
      for (let i = 0; i < size; i++) {
        level = planes === 3 ? (level + bytes[first + i] + 256 * bytes[second + i] + 65536 * bytes[third + i]) & 0xffffff : (level + bytes[first + i] + 256 * bytes[second + i]) & 0xffff;
        const value = low + step * level;
        data[k * size + i] = exponent === 1 ? value : value ** exponent;
      }
    }
    return { count, size, data, mix: mix ? this.array(mix) : null };
  }

  cached(key, make) {
    if (!this.cache.has(key)) this.cache.set(key, make());
    return this.cache.get(key);
  }
}
