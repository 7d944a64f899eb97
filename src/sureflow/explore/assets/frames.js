// Frames that flows about bodies share, and the way from there to a mesh (sureflow.models.shock_frame, sureflow.models.body_frame).

// Lines from the wall of a block: the harmonic mean of their lengths, where the cells lie along them, in shares, and the lines
// at places along the wall; and 1 where they fold or are not normal to it (sureflow.data.wall_layer).
function wallLines([x, y], { shape: [rows, lines], along, least_turn: leastTurn, free, most_oblique: mostOblique }) {
  const found = new Float64Array(1 + rows), wide = lines + 1;
  let inverse = 0, oblique = 0;
  for (let line = 0; line < lines; line++) {
    const middle = (row) => [x, y].map((axis) => 0.5 * (axis[row * wide + line] + axis[row * wide + line + 1])), wall = middle(0), outer = middle(rows);
    const length = Math.hypot(outer[0] - wall[0], outer[1] - wall[1]);
    const first = middle(1), away = [first[0] - wall[0], first[1] - wall[1]], face = [x[line + 1] - x[line], y[line + 1] - y[line]];
    inverse += 1 / length;
    oblique += Math.abs(away[0] * face[0] + away[1] * face[1]) / (Math.hypot(...away) * Math.hypot(...face)) / lines;
    for (let row = 0; row < rows; row++) {
      const [lower, upper] = [middle(row), middle(row + 1)];
      found[1 + row] += Math.hypot(0.5 * (lower[0] + upper[0]) - wall[0], 0.5 * (lower[1] + upper[1]) - wall[1]) / length / lines;
    }
  }
  found[0] = lines / inverse;
  const levels = [0, ...found.subarray(1), 1], normal = oblique <= mostOblique && levels.every((level, k) => !k || level > levels[k - 1]);
  return joined([found, placesAlong(x, y, lines, along, leastTurn, free), [normal ? 0 : 1]]);
}

// The wall has turned at twice the arc up to half of its turn.
function placesAlong(x, y, lines, along, leastTurn, free) {
  const arc = [], turned = [], last = lines - 1;
  for (let line = 0, length = 0, before = 0, start = 0; line < lines; line++) {
    const [dx, dy] = [x[line + 1] - x[line], y[line + 1] - y[line]], size = Math.hypot(dx, dy);
    let angle = Math.atan2(dy, dx);
    if (line === 0) start = before = angle;
    angle -= 2 * Math.PI * Math.round((angle - before) / (2 * Math.PI));
    before = angle;
    length += size;
    arc.push(length - 0.5 * size);
    turned.push(Math.abs(angle - start));
  }
  if (turned[last] < leastTurn) return along.map((_, k) => last * (k + 1) / (along.length + 1));
  const half = 0.5 * turned[last], after = turned.findIndex((one) => one >= half), part = (half - turned[after - 1]) / (turned[after] - turned[after - 1]);
  const reach = 2 * (arc[after - 1] + part * (arc[after] - arc[after - 1]) - arc[0]), number = [...arc.keys()];
  return along.map((one) => {
    const place = arc[0] + reach * one, line = interpolated(place, arc, number) + last * Math.max(place / arc[last] - 1, 0);
    return last * heldBack(line / last, free, 1);
  });
}

// Wall, landmarks, shock and outer boundary on every line, in order, with room between them.
function shockNodes(landmarks, shock, { n_rows: rows, gap }) {
  return joined(Array.from(shock, (row) => nodesOfLine(landmarks, inReach(row, landmarks.length, rows, gap), rows, gap)));
}

// The same with landmarks in shares of the way to the shock, and places between them and the shock (sureflow.models.body_frame).
function bodyNodes(told, shock, { n_rows: rows, gap, landmarks, between, free, end, first, held, least }) {
  const at = [-0.5, ...Array(rows).keys(), rows - 0.5], share = [0, ...told.subarray(first, first + rows), 1], thickness = told[first + rows];
  return joined(Array.from(shock, (row) => {
    const front = inReach(row, landmarks.length + between.length, rows, gap), way = interpolated(front, at, share);
    const layer = landmarks.map((one) => way * heldBack(one * thickness / way, free, end)), last = layer[layer.length - 1];
    const usual = way * heldBack(landmarks[landmarks.length - 1] * (held || thickness) / way, free, end);
    const places = [...layer, ...between.map((one) => Math.max(usual + one * (way - usual), last + least * one * (way - last)))].map((one) => interpolated(one, share, at));
    return nodesOfLine(places, front, rows, gap);
  }));
}

const inReach = (shock, count, rows, gap) => Math.min(Math.max(shock, gap * (count + 1) - 0.5), rows - 0.5 - gap);

function nodesOfLine(places, shock, rows, gap) {
  const inside = Array.from(places, (row, k) => Math.max(Math.min(row, shock - gap * (places.length - k)), gap * (k + 1) - 0.5));
  return [-0.5, ...inside, shock, rows - 0.5];
}

// Up to a share as it is, the rest squeezed into what is left before the end.
function heldBack(share, free, end) {
  return share < free ? share : free + (end - free) * (1 - Math.exp((free - share) / (end - free)));
}

// Linear between entries, and the last ones beyond them.
function interpolated(x, at, values) {
  if (x >= at[at.length - 1]) return values[at.length - 1];
  let piece = 0;
  while (piece < at.length - 2 && at[piece + 1] <= x) piece++;
  const t = Math.max(0, (x - at[piece]) / (at[piece + 1] - at[piece]));
  return values[piece] + t * (values[piece + 1] - values[piece]);
}

// Piecewise cubics through (given, found), monotone as the nodes are, at even distances from the first node to the last.
function monotoneAt(given, found, count) {
  const slopes = monotoneSlopes(given, found), out = new Float64Array(count), start = given[0], reach = given[given.length - 1] - start;
  for (let place = 0, piece = 0; place < count; place++) {
    const at = start + reach * place / (count - 1);
    while (piece < given.length - 2 && given[piece + 1] <= at) piece++;
    const size = given[piece + 1] - given[piece], t = (at - given[piece]) / size, u = 1 - t;
    out[place] = (1 + 2 * t) * u * u * found[piece] + t * u * u * size * slopes[piece] + t * t * (3 - 2 * t) * found[piece + 1] - t * t * u * size * slopes[piece + 1];
  }
  return out;
}

// Where 0, 1, ... lie among numbers that grow, as fractions.
function placesOf(reached, count) {
  const out = new Float64Array(count), last = reached.length - 1;
  for (let row = 0, place = 0; row < count; row++) {
    while (place < last - 1 && reached[place + 1] <= row) place++;
    out[row] = place + Math.max(0, Math.min(1, (row - reached[place]) / (reached[place + 1] - reached[place])));
  }
  return out;
}

// The stations of a frame at the lines of a mesh.
function stationsOfLines(usual, told, { lines, stations }) {
  const [given, found] = [usual, told].map((one) => [0, ...one, lines - 1]);
  return placesOf(monotoneAt(given, found, stations).map((line) => Math.max(0, Math.min(lines - 1, line))), lines);
}

// For every cell of a mesh the first of four places of a frame that it is made of, and their weights; for every line alike
// the first of four stations, where lines are not the stations.
function wayBack(given, nodes, at, { places, stations, shape: [rows, lines] }) {
  const first = new Int32Array(rows * lines), shares = new Float64Array(TAPS * rows * lines);
  for (let line = 0; line < lines; line++) {
    const reached = monotoneAt(given, nodes.subarray(line * given.length, (line + 1) * given.length), places);
    placesOf(reached, rows).forEach((place, row) => setTaps(first, shares, row * lines + line, place, places));
  }
  const along = at && { first: new Int32Array(lines), shares: new Float64Array(TAPS * lines) };
  at?.forEach((station, line) => setTaps(along.first, along.shares, line, station, stations));
  return { first, shares, along, lines };
}

// Hermite's cubic with central differences as slopes, one-sided ones of second order at the ends.
function setTaps(first, shares, cell, at, count) {
  const place = Math.min(Math.floor(at), count - 2), t = at - place, u = 1 - t, a = (1 + 2 * t) * u * u, b = t * u * u, c = t * t * (3 - 2 * t), d = -t * t * u;
  const found = place === 0 ? [a - 1.5 * b - 0.5 * d, c + 2 * b, 0.5 * (d - b), 0] : place === count - 2 ? [0, 0.5 * (d - b), a - 2 * d, c + 0.5 * b + 1.5 * d] : [-0.5 * b, a - 0.5 * d, c + 0.5 * b, 0.5 * d];
  first[cell] = place === 0 ? 0 : place === count - 2 ? place - 2 : place - 1;
  for (let tap = 0; tap < TAPS; tap++) shares[TAPS * cell + tap] = found[tap];
}

// Of every cell of a mesh the first of four cells of a frame around it, and what each of them counts (sureflow.models.frame_cells).
function cellsAround(given, [nodes, at], { fineness, along, shape: [rows, lines] }) {
  const first = new Int32Array(rows * lines), shares = new Float64Array(TAPS * rows * lines), next = lines > 1 ? 1 : 0;
  const before = (place, count) => { const inside = Math.min(Math.max(place, 0), count - 1), low = Math.max(0, Math.min(Math.floor(inside), count - 2)); return [low, inside - low]; };
  for (let line = 0; line < lines; line++) {
    const reached = monotoneAt(given, nodes.subarray(line * given.length, (line + 1) * given.length), fineness * rows + 1), [left, on] = before(at ? at[line] / along : line, lines);
    placesOf(reached, rows).forEach((place, row) => {
      const [low, up] = before(place / fineness - 0.5, rows), cell = row * lines + line;
      first[cell] = low * lines + left;
      shares.set([(1 - up) * (1 - on), (1 - up) * on, up * (1 - on), up * on], TAPS * cell);
    });
  }
  return { first, shares, corners: [0, next, lines, lines + next] };
}

// Sums of four values each.
function shared(shares, count, value) {
  const out = new Float32Array(count);
  for (let i = 0; i < count; i++) for (let tap = 0; tap < TAPS; tap++) out[i] += shares[TAPS * i + tap] * value(i, tap);
  return out;
}

function tapped(values, at) {
  const first = [0], shares = [0, 0, 0, 0];
  setTaps(first, shares, 0, at, values.length);
  return shares.reduce((sum, share, tap) => sum + share * values[first[0] + tap], 0);
}

// The values of a frame, of so many stations, each part with weights of its own.
function summed(rows, weights, parts, stations, places) {
  const out = new Float32Array(places * stations);
  parts.forEach(([place, after, station, last], k) => {
    const there = combined(weights[k], 0, rows[k]), width = last - station;
    for (let row = place; row < after; row++) out.set(there.subarray((row - place) * width, (row - place + 1) * width), row * stations + station);
  });
  return out;
}

// From the stations of a frame to the lines of a mesh.
function alongLines(values, { along: { first, shares }, lines }, stations) {
  const places = values.length / stations, out = new Float32Array(places * lines);
  for (let place = 0; place < places; place++) for (let line = 0; line < lines; line++) {
    const at = place * stations + first[line], from = TAPS * line;
    out[place * lines + line] = shares[from] * values[at] + shares[from + 1] * values[at + 1] + shares[from + 2] * values[at + 2] + shares[from + 3] * values[at + 3];
  }
  return out;
}

function broughtBack(values, { first, shares }, lines) {
  const out = new Float32Array(first.length);
  for (let i = 0; i < out.length; i++) {
    const at = first[i] * lines + i % lines, from = TAPS * i;
    out[i] = shares[from] * values[at] + shares[from + 1] * values[at + lines] + shares[from + 2] * values[at + 2 * lines] + shares[from + 3] * values[at + 3 * lines];
  }
  return out;
}

// The same at some points alone.
function summedAt(rows, given, parts, { first, shares, along, lines }, stations, points) {
  const weights = rows.map(({ mix }, k) => (mix ? times(given[k], mix) : given[k])), found = new Map();
  const value = (place, station) => {
    const key = place * stations + station;
    if (!found.has(key)) {
      const k = parts.findIndex(([start, after, from, last]) => start <= place && place < after && from <= station && station < last);
      const [start, , from, last] = parts[k], { count, size, data } = rows[k], at = (place - start) * (last - from) + station - from;
      let sum = 0;
      for (let row = 0; row < count; row++) sum += weights[k][row] * data[row * size + at];
      found.set(key, sum);
    }
    return found.get(key);
  };
  const onLine = (place, line) => along ? [0, 1, 2, 3].reduce((sum, tap) => sum + along.shares[TAPS * line + tap] * value(place, along.first[line] + tap), 0) : value(place, line);
  return Float32Array.from(points, (point) =>
    [0, 1, 2, 3].reduce((sum, tap) => sum + shares[TAPS * point + tap] * onLine(first[point] + tap, point % lines), 0));
}

// 1 up to a share of a row of every line, 0 from another share on, smooth between; at all points or at some.
function below(row, { shares: [low, high] }, size, points) {
  const out = new Float32Array(size);
  for (let k = 0; k < size; k++) {
    const point = points ? points[k] : k, way = Math.max(0, Math.min(1, (Math.floor(point / row.length) / Math.max(row[point % row.length], 1) - low) / (high - low)));
    out[k] = 1 - way * way * (3 - 2 * way);
  }
  return out;
}
