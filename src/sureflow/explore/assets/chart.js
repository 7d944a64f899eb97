// Curves with bands as an SVG picture.

function chart(box, room, curves, { x, y }) {
  const width = Math.max(280, Math.min(640, room || 560)), height = Math.round(0.62 * width), left = 62, right = 14, top = 8, bottom = 40;
  const xs = span(curves.flatMap((curve) => [curve.x[0], curve.x[curve.x.length - 1]]));
  const ys = span(curves.flatMap((curve) => [...curve.y.keys()].flatMap((i) => [curve.y[i] - (curve.half?.[i] ?? 0), curve.y[i] + (curve.half?.[i] ?? 0)])));
  if (!(xs[1] > xs[0])) { box.replaceChildren(); return; }
  if (!(ys[1] > ys[0])) { ys[0] -= Math.abs(ys[0]) * 0.01 + 1e-12; ys[1] += Math.abs(ys[1]) * 0.01 + 1e-12; }
  const px = (v) => left + (width - left - right) * (v - xs[0]) / (xs[1] - xs[0]);
  const py = (v) => height - bottom - (height - top - bottom) * (v - ys[0]) / (ys[1] - ys[0]);
  const path = (of) => of.map(([a, b], i) => `${i ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join("");
  const parts = [];
  const [across, up] = [ticks(...xs, width / 75), ticks(...ys, 6)], [wide, high] = [digitsOf(across, 4), digitsOf(up, 4)];
  for (const tick of across) parts.push(`<line class="grid" x1="${px(tick)}" x2="${px(tick)}" y1="${top}" y2="${height - bottom}"/><text x="${px(tick)}" y="${height - bottom + 15}" text-anchor="middle">${short(tick, wide)}</text>`);
  for (const tick of up) parts.push(`<line class="grid" y1="${py(tick)}" y2="${py(tick)}" x1="${left}" x2="${width - right}"/><text x="${left - 5}" y="${py(tick) + 4}" text-anchor="end">${short(tick, high)}</text>`);
  parts.push(`<rect class="frame" x="${left}" y="${top}" width="${width - left - right}" height="${height - top - bottom}"/>`);
  curves.forEach((curve, k) => {
    const name = k ? "b" : "a", points = [...curve.x.keys()].filter((i) => isFinite(curve.y[i]));
    if (!points.length) return;
    if (curve.half) {
      const above = points.map((i) => [curve.x[i], curve.y[i] + curve.half[i]]), below = points.map((i) => [curve.x[i], curve.y[i] - curve.half[i]]);
      parts.push(`<path class="${name}-band" d="${path([...above, ...below.reverse()])}Z"/>`);
    }
    parts.push(`<path class="${name}" d="${path(points.map((i) => [curve.x[i], curve.y[i]]))}"/>`);
  });
  parts.push(`<text x="${(left + width - right) / 2}" y="${height - 6}" text-anchor="middle">${escaped(x)}</text>`);
  parts.push(`<text transform="translate(12 ${(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle">${escaped(y)}</text>`);
  box.innerHTML = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(`${y} over ${x}, from ${short(ys[0])} to ${short(ys[1])}`)}">${parts.join("")}</svg>`;
}

function span(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) if (isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
  return [low, high];
}

function ticks(low, high, about) {
  const rough = (high - low) / about, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

// As many digits as tell evenly spaced marks apart, and no fewer than that.
function digitsOf(marks, least) {
  const size = Math.max(...marks.map(Math.abs)), step = marks[1] - marks[0];
  return size > 0 && step > 0 ? Math.max(least, 2 + Math.floor(Math.log10(size)) - Math.floor(Math.log10(step))) : least;
}

function short(value, digits = 4) {
  if (!isFinite(value)) return "-";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? scientific(value, digits) : String(+value.toPrecision(digits));
}

function scientific(value, digits) { return value.toExponential(digits - 2).replace(/\.?0+e/, "e").replace("e+", "e"); }

// A value with its standard deviation, both to the place that the latter leaves uncertain; the sign stays with the latter.
function withBar(value, std) {
  if (std === null || !(std > 0) || !isFinite(value)) return short(value, 5);
  const places = Math.max(0, -Math.floor(Math.log10(std)));
  return Math.abs(value) < 1e7 && places < 8 ? `${value.toFixed(places)} ±\u00a0${std.toFixed(places)}` : `${short(value, 5)} ±\u00a0${short(std, 2)}`;
}

function escaped(text) {
  return String(text).replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);
}
