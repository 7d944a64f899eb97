// A numeric program, as sureflow.explore.program records it: small vectors step by step, fields when they are asked for.

// Number by number; with a step of 0, the first number of `a` or `b` serves for all. Each loop is written out: one that the
// operations shared would call a function for every number.
const ELEMENTWISE = {
  add: (out, a, i, b, j) => { for (let k = 0; k < out.length; k++) out[k] = a[k * i] + b[k * j]; },
  subtract: (out, a, i, b, j) => { for (let k = 0; k < out.length; k++) out[k] = a[k * i] - b[k * j]; },
  multiply: (out, a, i, b, j) => { for (let k = 0; k < out.length; k++) out[k] = a[k * i] * b[k * j]; },
  divide: (out, a, i, b, j) => { for (let k = 0; k < out.length; k++) out[k] = a[k * i] / b[k * j]; },
  maximum: (out, a, i, b, j) => { for (let k = 0; k < out.length; k++) out[k] = Math.max(a[k * i], b[k * j]); },
  minimum: (out, a, i, b, j) => { for (let k = 0; k < out.length; k++) out[k] = Math.min(a[k * i], b[k * j]); },
  raise: (out, a, i, b, j) => { for (let k = 0; k < out.length; k++) out[k] = a[k * i] ** b[k * j]; },
  square: (out, a) => { for (let k = 0; k < out.length; k++) out[k] = a[k] * a[k]; },
  exp: (out, a) => { for (let k = 0; k < out.length; k++) out[k] = Math.exp(a[k]); },
  log: (out, a) => { for (let k = 0; k < out.length; k++) out[k] = Math.log(a[k]); },
  tanh: (out, a) => { for (let k = 0; k < out.length; k++) out[k] = Math.tanh(a[k]); },
  sqrt: (out, a) => { for (let k = 0; k < out.length; k++) out[k] = Math.sqrt(Math.max(a[k], 0)); },
};
const SUMS = ["combine", "squares", "spread"];  // of rows of fields
const OF_SMALL = [...SUMS, "warp", "frame", "below"];  // what makes a field of small values
const OF_FIELDS = ["lines"];  // what makes small values of a field
const EVERYWHERE = { name: "all" };  // the region of all points

class Program {
  constructor(header, payload, values) {
    this.values = values;
    this.steps = header.steps;
    this.outputs = header.outputs;
    this.payload = payload;
    this.prepared = new Map();
    this.isField = [];
    this.sizes = [];
    for (const step of this.steps) {
      const { op, inputs } = step;
      this.isField.push(OF_SMALL.includes(op) || (!OF_FIELDS.includes(op) && inputs.some((i) => this.isField[i])));
      this.sizes.push(this.sizeOf(step));
    }
  }

  // How many values a field has: of all that is drawn, and more where neighbors of these matter.
  sizeOf({ op, inputs, settings }) {
    if (SUMS.includes(op)) return this.payload.described[settings.rows].shape[2];
    const before = ["around", "drawn"].includes(op) ? undefined : inputs.find((i) => this.isField[i]);
    return before === undefined ? this.values : this.sizes[before];
  }

  has(name) { return name in this.outputs; }

  // One condition, at which everything is computed when it is asked for.
  run(parameters) { return { parameters, small: [], fields: new Map() }; }

  // A small output, or a field of one variable over a region: all points, or some of them by number.
  get(evaluation, name, variable = 0, region = EVERYWHERE) {
    const index = this.outputs[name];
    return this.isField[index] ? this.field(evaluation, index, variable, region) : this.small(evaluation, index);
  }

  small(evaluation, index) { return (evaluation.small[index] ??= this.computeSmall(evaluation, index)); }

  computeSmall(evaluation, index) {
    const step = this.steps[index], array = (key) => this.payload.array(step.arrays[key]);
    if (step.op === "lines") return wallLines([0, 1].map((axis) => this.field(evaluation, step.inputs[0], axis, EVERYWHERE)), step.settings);
    const inputs = step.inputs.map((i) => this.small(evaluation, i)), [x, y] = inputs;
    switch (step.op) {
      case "parameters": return Float64Array.from(evaluation.parameters);
      case "constant": return array("values").data;
      case "join": return joined(inputs);
      case "pick": return Float64Array.from(step.settings.columns, (column) => x[column]);
      case "sum": return Float64Array.of(x.reduce((a, b) => a + b, 0));
      case "smallest": return Float64Array.of(x.slice().sort()[step.settings.rank]);
      case "power": return power(x, step.settings.exponent, Float64Array);
      case "times": return times(x, array("matrix"));
      case "distance": return distances(x, array("nodes"));
      case "table": return table(x[0], array("at").data, array("values"));
      case "frame_nodes": return shockNodes(x, y, step.settings);
      case "body_nodes": return bodyNodes(x, y, step.settings);
      case "stations": return stationsOfLines(array("usual").data, x, step.settings);
      case "between": return Float64Array.from(y, (at) => tapped(x, at));
      case "read": return table(x[0], y, { shape: [y.length, 1], data: array("values").data });
      case "lattice": return lattice(x, array("ranges").data, array("values"));
      case "interpolant": return this.interpolant(step).at(x, y);
      case "process": return this.process(step, index, x);
      default: return elementwise(step.op, x, y, Float64Array);
    }
  }

  field(evaluation, index, variable, region) {
    return this.once(evaluation, `${index} ${variable} ${region.name}`, () => this.computeField(evaluation, index, variable, region));
  }

  once({ fields }, key, make) {
    if (!fields.has(key)) fields.set(key, make());
    return fields.get(key);
  }

  computeField(evaluation, index, variable, region) {
    const step = this.steps[index], small = (place) => this.small(evaluation, step.inputs[place]), size = region === EVERYWHERE ? this.sizes[index] : region.points.length;
    if (SUMS.includes(step.op)) {
      const rows = this.payload.rows(step.settings.rows, variable, region);
      return { combine: (weights) => combined(weights, 0, rows), squares: (weights) => squares(weights, rows), spread: (weights) => spread(weights, rows) }[step.op](small(0));
    }
    if (step.op === "warp") {
      const { last, end, levels, shape: [, lines] } = step.settings;
      const rows = this.payload.rows(step.settings.rows, variable, EVERYWHERE), runs = this.payload.array(step.arrays.runs);
      const shares = this.once(evaluation, `moves ${step.inputs}`, () => moves(small(0), small(1), runs, Math.ceil(last), end, levels));
      return region === EVERYWHERE ? warped(shares, rows, lines, size) : warpedAt(shares, rows, lines, region.points);
    }
    if (step.op === "frame") return this.framed(evaluation, step, variable, region);
    if (step.op === "from_cells") return this.fromCells(evaluation, step, variable, region);
    if (step.op === "below") return below(small(0), step.settings, size, region.points);
    if (step.op === "only") return this.field(evaluation, step.inputs[0], step.settings.variable, region);
    if (step.op === "select") return this.field(evaluation, step.inputs[step.settings.which[variable]], variable, region);
    if (step.op === "raise" && !this.isField[step.inputs[1]] && small(1)[0] === 0) return new Float32Array(size).fill(1);
    if (step.op === "around" && region.rough) return this.field(evaluation, step.inputs[0], variable, region);
    if (step.op === "drawn") return this.field(evaluation, step.inputs[0], variable, region).subarray(0, size);
    if (step.op === "around") {
      const given = this.field(evaluation, step.inputs[0], variable, EVERYWHERE), { shape, neighbors, count } = step.settings;
      const all = step.arrays.places ? aroundSome(given, this.payload.array(step.arrays.places).data, shape, neighbors, count) : around(given, shape, neighbors);
      return region === EVERYWHERE ? all : Float32Array.from(region.points, (point) => all[point]);
    }
    if (step.op === "multiply" && step.inputs.some((i) => !this.isField[i] && this.factor(evaluation, i, variable) === 0)) return new Float32Array(size);
    const inputs = step.inputs.map((i) => {
      if (this.isField[i]) return this.field(evaluation, i, variable, region);
      return [this.factor(evaluation, i, variable)];
    });
    return step.op === "power" ? power(inputs[0], step.settings.exponent, Float32Array) : elementwise(step.op, inputs[0], inputs[1], Float32Array);
  }

  // The number of a small value that belongs to a variable.
  factor(evaluation, index, variable) {
    const value = this.small(evaluation, index);
    return value.length === 1 ? value[0] : value[variable];
  }

  // What is summed in a frame, part by part, and brought to the mesh.
  framed(evaluation, { inputs, arrays, settings }, variable, region) {
    const { parts, places, stations, shape } = settings, small = inputs.map((i) => this.small(evaluation, i)), nodes = small[parts.length], at = small[parts.length + 1];
    const way = this.once(evaluation, `way ${inputs.slice(parts.length)}`, () => wayBack(this.payload.array(arrays.given).data, nodes, at, settings));
    const rows = settings.rows.map((name) => this.payload.rows(name, variable, EVERYWHERE));
    if (region !== EVERYWHERE) return summedAt(rows, small, parts, way, stations, region.points);
    const frame = summed(rows, small, parts, stations, places);
    return broughtBack(at ? alongLines(frame, way, stations) : frame, way, shape[1]);
  }

  // A field over the cells of a frame, at those of the mesh; at some of them, from what lies around these alone.
  fromCells(evaluation, { inputs: [cells, ...maps], arrays, settings }, variable, region) {
    const { first, shares, corners } = this.once(evaluation, `cells ${maps}`, () => cellsAround(this.payload.array(arrays.given).data, maps.map((i) => this.small(evaluation, i)), settings));
    if (region === EVERYWHERE) {
      const values = this.field(evaluation, cells, variable, EVERYWHERE);
      return shared(shares, first.length, (point, corner) => values[first[point] + corners[corner]]);
    }
    const points = Array.from(region.points), near = points.flatMap((point) => corners.map((corner) => first[point] + corner));
    const values = this.field(evaluation, cells, variable, { name: `around ${region.name}`, points: near, fleeting: true });
    return shared(points.flatMap((point) => [...shares.subarray(TAPS * point, TAPS * (point + 1))]), points.length, (i, corner) => values[TAPS * i + corner]);
  }

  // The same one for all ways to go on beyond the runs.
  interpolant({ arrays, settings }) {
    const key = [arrays.nodes, arrays.inverse, settings.kernel].join(" ");
    if (!this.prepared.has(key))
      this.prepared.set(key, new Interpolant(this.payload.array(arrays.nodes), this.payload.array(arrays.inverse), settings.kernel));
    return this.prepared.get(key);
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

// Kernels by their names, of the distance, and their derivatives over the distance (sureflow.models.kernels).
const KERNELS = {
  "cubic": [(r) => r * r * r, (r) => 3 * r],
  "thin-plate": [(r) => (r > 0 ? r * r * Math.log(r) : 0), (r) => (r > 0 ? 2 * Math.log(r) : 0) + 1],
  "matern": [(r) => (1 + Math.sqrt(5) * r + 5 * r * r / 3) * Math.exp(-Math.sqrt(5) * r), (r) => -5 / 3 * (1 + Math.sqrt(5) * r) * Math.exp(-Math.sqrt(5) * r)],
};

// Weights of runs and the power function, from what changes on the way from the nearest run (sureflow.models.kernels.System).
class Interpolant {
  constructor(nodes, inverse, kernel) {
    const [n, width] = nodes.shape, size = n + width + 1;
    const [value, slope] = KERNELS[kernel];
    Object.assign(this, { n, size, nodes, kernel: value, slope, inverse, matrix: { shape: [size, size], data: new Float64Array(size * size) } });
    const { data } = this.matrix;
    for (let i = 0; i < n; i++) {
      data.set(this.terms(nodes.data.subarray(i * width, (i + 1) * width)).terms, i * size);
      for (let j = n; j < size; j++) data[j * size + i] = data[i * size + j];
    }
  }

  // The kernel about the nodes, then 1 and the inputs; and which node is nearest.
  terms(x) {
    const away = distances(x, this.nodes), terms = new Float64Array(this.size);
    let nearest = 0;
    away.forEach((r, i) => { terms[i] = this.kernel(r); if (r < away[nearest]) nearest = i; });
    terms[this.n] = 1;
    terms.set(x, this.n + 1);
    return { terms, nearest, away };
  }

  // The terms at an edge, and on from there along their slopes.
  line(x, edge) {
    const { n, nodes: { shape: [, width], data } } = this, { terms, away } = this.terms(edge);
    for (let i = 0; i < n; i++) {
      let approach = 0;
      for (let k = 0; k < width; k++) approach += (edge[k] - data[i * width + k]) * (x[k] - edge[k]);
      terms[i] += this.slope(away[i]) * approach;
    }
    terms.set(x, n + 1);
    return terms;
  }

  at(x, edge = x) {
    const { n, size, matrix, inverse } = this, { terms, nearest } = this.terms(x);
    const from = (value, i) => value - matrix.data[nearest * size + i], change = terms.map(from);
    const straight = x.some((value, k) => value !== edge[k]) ? this.line(x, edge).map(from) : change;
    const moved = times(straight, inverse), back = times(moved, matrix);
    let square = 2 * (this.kernel(0) - terms[nearest]);
    for (let i = 0; i < size; i++) square -= moved[i] * (2 * change[i] - back[i]);
    const found = moved.slice(0, n + 1);
    found[nearest] += 1;
    found[n] = Math.sqrt(Math.max(square, 0));
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

function elementwise(name, x, y, kind) {
  const out = new kind(Math.max(x.length, y?.length ?? 0));
  ELEMENTWISE[name](out, x, x.length > 1 ? 1 : 0, y, y?.length > 1 ? 1 : 0);
  return out;
}

function power(x, exponent, kind) { return exponent === 2 ? elementwise("square", x, undefined, kind) : elementwise("raise", x, [exponent], kind); }

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
    const next = new Float32Array(values.length);
    for (let i = 0; i < values.length; i++) {
      const place = Math.floor(i / stride) % size, start = i - place * stride, last = Math.min(size - 1, place + neighbors);
      let most = -Infinity;
      for (let j = Math.max(0, place - neighbors); j <= last; j++) most = Math.max(most, found[start + j * stride]);
      next[i] = most;
    }
    found = next;
  }
  return found;
}

// The same at the first of some points of a block, where the values at the points of a block are known that are near these.
function aroundSome(values, places, shape, neighbors, count) {
  const block = new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(-Infinity);
  places.forEach((place, i) => { block[place] = values[i]; });
  const all = around(block, shape, neighbors);
  return Float32Array.from(places.subarray(0, count), (place) => all[place]);
}

function combined(given, first, rows) {
  const { count, size, data, mix } = rows, out = new data.constructor(size), weights = mix ? times(given, mix) : given;
  let k = 0;
  for (; k + 4 <= count; k += 4) {  // four rows at a time, which read and write the sum once
    const [a, b, c, d] = weights.subarray(first + k, first + k + 4), two = 2 * size, three = 3 * size;
    for (let i = 0, j = k * size; i < size; i++, j++) out[i] += a * data[j] + b * data[j + size] + c * data[j + two] + d * data[j + three];
  }
  for (; k < count; k++) for (let i = 0, j = k * size, weight = weights[first + k]; i < size; i++, j++) out[i] += weight * data[j];
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
  constructor({ arrays, rows }, bytes) { Object.assign(this, { arrays, described: rows, bytes, cache: new Map() }); }

  // From the element of this name, which holds them as text.
  static async open(described, name) {
    return new Payload(described, await inflated(fromBase85($(name).textContent.trim())));
  }

  array(name) {
    return this.cached(name, () => {
      const { offset, shape, dtype, half } = this.arrays[name], size = shape.reduce((a, b) => a * b, 1);
      const kind = { f8: Float64Array, f4: Float32Array, i4: Int32Array }[dtype], read = (length) => new kind(this.bytes.buffer, offset, length);
      return { shape, data: half ? bothHalves(read((size + shape[0]) / 2), shape[0]) : read(size) };
    });
  }

  rows(name, variable, region) {
    if (region === EVERYWHERE) return this.cached(`${name} ${variable}`, () => this.decoded(name, variable));
    const some = () => {
      const all = this.rows(name, variable, EVERYWHERE), { points } = region, size = points.length;
      const data = new Float32Array(all.count * size);
      for (let k = 0; k < all.count; k++) for (let i = 0; i < size; i++) data[k * size + i] = all.data[k * all.size + points[i]];
      return { ...all, size, data };
    };
    return region.fleeting ? some() : this.cached(`${name} ${variable} ${region.name}`, some);
  }

  // Levels are differences, once or twice from one stride to the next and perhaps within a stride, folded so that small ones are
  // small numbers; the lowest bytes of a row come before the next ones. Where there is a matrix to mix them, the rows are
  // components, and weights of rows are multiplied with it.
  decoded(name, variable) {
    const { offset, shape: [count, variables, size], exponent, planes, mix, stride, ranges: named, orders } = this.described[name], { bytes } = this;
    const ranges = this.array(named).data, data = new (planes === 4 ? Float64Array : Float32Array)(count * size), levels = new Int32Array(size);
    const mask = planes === 4 ? -1 : 2 ** (8 * planes) - 1, order = this.array(orders).data;
    for (let k = 0; k < count; k++) {
      const row = k * variables + variable, low = ranges[2 * row], step = ranges[2 * row + 1], to = k * size;
      levels.fill(0);
      for (let plane = 0; plane < planes; plane++) for (let i = 0, from = offset + (planes * row + plane) * size; i < size; i++) levels[i] |= bytes[from + i] << 8 * plane;
      for (let i = 0; i < size; i++) levels[i] = (levels[i] >>> 1) ^ -(levels[i] & 1);
      if (order[row] > 1) for (let i = 1; i < size; i++) if (i % stride) levels[i] += levels[i - 1];
      for (let times = 0; times <= order[row] % 2; times++) for (let i = stride; i < size; i++) levels[i] += levels[i - stride];
      for (let i = 0; i < size; i++) data[to + i] = low + step * (levels[i] & mask);
      if (exponent !== 1) for (let i = to; i < to + size; i++) data[i] = exponent === 4 ? data[i] * data[i] * (data[i] * data[i]) : data[i] ** exponent;
    }
    return { count, size, data, mix: mix ? this.array(mix) : null };
  }

  cached(key, make) {
    if (!this.cache.has(key)) this.cache.set(key, make());
    return this.cache.get(key);
  }
}

// A symmetric matrix from its lower half, row by row.
function bothHalves(half, size) {
  const out = new half.constructor(size * size);
  for (let i = 0, k = 0; i < size; i++) for (let j = 0; j <= i; j++, k++) out[i * size + j] = out[j * size + i] = half[k];
  return out;
}

// Five characters are four bytes: numbers to the base 85, in the order of Python's base64.b85encode.
const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%:()*+-;.=>?@^_`{|}~";

function fromBase85(text) {
  const digits = new Uint8Array(128), count = Math.ceil(text.length / 5), bytes = new Uint8Array(4 * count);
  for (let i = 0; i < LETTERS.length; i++) digits[LETTERS.charCodeAt(i)] = i;
  for (let group = 0; group < count; group++) {
    let number = 0;
    // The last group is filled up with the largest digit.
    for (let i = 5 * group; i < 5 * group + 5; i++) number = 85 * number + (i < text.length ? digits[text.charCodeAt(i)] : 84);
    for (let i = 3; i >= 0; i--, number = Math.floor(number / 256)) bytes[4 * group + i] = number % 256;
  }
  return bytes.subarray(0, 4 * count - (5 * count - text.length));
}

async function inflated(bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}
