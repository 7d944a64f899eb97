// Whether a prediction can be trusted, in the words of sureflow.uq.domain.

function judged(domain, at, novelty, folded) {
  const refused = unanswerable(domain, at) || (folded ? withoutLines(domain, at) : "");
  if (refused) return { trust: "refused", text: `refused: ${refused}` };
  const excess = at.map((value, k) => Math.max(0, measured(domain, domain.ranges[k][0], k) - measured(domain, value, k), measured(domain, value, k) - measured(domain, domain.ranges[k][1], k)) / domain.width[k]);
  const distance = Math.hypot(...excess), usual = domain.usual ?? Infinity;
  if (distance === 0 && novelty <= usual) return { trust: "inside", text: ["inside", ...byEstimate(domain, at)].join(": ") };
  const outside = domain.names.flatMap((name, k) => {
    if (!(excess[k] > 0)) return [];
    const [value, low, high] = apart(at[k], domain.ranges[k]), told = domain.estimated.includes(name) ? ", the range estimated from the runs," : "";
    return [`${name}=${value} is outside ${low}..${high}${told} by ${percent(excess[k])} of the range of ${domain.logarithmic[k] ? "its logarithms" : "the runs"}`];
  });
  const where = outside.join("; ") || `every parameter is in its range, but this combination is ${general(novelty / usual, 2)} times as new to the model ` +
    `as ${percent(1 - domain.more_novel)} of its training runs were when they were left out`;
  const text = `${where}; ${nearestRun(domain, at)}`;
  if (distance <= domain.reach) return { trust: "extrapolated", text: `extrapolated: ${text}` };
  return { trust: "refused", text: `refused: ${text}; a distance of ${percent(distance)} is more than the ${percent(domain.reach)} up to which bars are known` };
}

// Of a mesh that moves (sureflow.surrogate.space).
function withoutLines(domain, at) {
  const place = domain.names.map((name, k) => `${name}=${general(at[k])}`).join(", ");
  return `the mesh that the runs suggest at ${place} folds, or its lines are not normal to the wall`;
}

// As distances are measured.
function measured(domain, value, k) { return domain.logarithmic[k] ? Math.log(Math.max(value, 0)) : value; }

// Which parameters lie beyond the runs, in ranges that are estimated from them alone; one sentence, or nothing.
function byEstimate(domain, at) {
  const found = domain.names.flatMap((name, k) => {
    if (!domain.estimated.includes(name) || (at[k] >= domain.runs[k][0] && at[k] <= domain.runs[k][1])) return [];
    const [value, first, last, low, high] = apart(at[k], [...domain.runs[k], ...domain.ranges[k]]);
    return [`${name}=${value} is beyond the runs, ${first}..${last}, but within ${low}..${high}, the range estimated from them`];
  });
  return found.length ? [found.join("; ")] : [];
}

// Why no model of the runs can answer, or nothing.
function unanswerable(domain, at) {
  for (const [k, name] of domain.names.entries()) {
    if (domain.logarithmic[k] && at[k] <= 0) return `${name}=${general(at[k])} must be positive: the model sees its logarithm`;
    const low = domain.limits[k][0] ?? -Infinity, high = domain.limits[k][1] ?? Infinity;
    if (at[k] < low || at[k] > high) {
      const both = isFinite(low) && isFinite(high);
      return `${name}=${general(at[k])} is ${both ? `outside ${general(low)}..${general(high)}, the limits` : at[k] < low ? `below ${general(low)}, the limit` : `above ${general(high)}, the limit`} declared for it`;
    }
  }
  for (const [k, name] of domain.names.entries()) {
    const [low, high] = domain.runs[k];
    if (low === high && at[k] !== low) return `${name}=${general(at[k])}, but all training runs have ${name}=${general(low)}, so that its influence is unknown`;
  }
  const off = domain.missing.map((direction) => Math.abs(direction.reduce((sum, value, k) => sum + value * (measured(domain, at[k], k) - domain.middle[k]) / domain.width[k], 0)));
  if (Math.max(0, ...off) <= domain.off_plane) return "";
  const together = domain.names.filter((_, k) => domain.missing.some((direction) => Math.abs(direction[k]) > domain.off_plane));
  return `${together.join(" and ")} vary together in all training runs, so that the influence of each of them is unknown, and this condition combines them in another way`;
}

function nearestRun(domain, at) {
  let best = null, least = Infinity;
  for (const run of domain.conditions) {
    const away = run.map((value, k) => (measured(domain, value, k) - measured(domain, at[k], k)) / domain.width[k]), distance = Math.hypot(...away);
    if (distance < least) { least = distance; best = { run, away: away.map(Math.abs) }; }
  }
  const most = best.away.indexOf(Math.max(...best.away)), place = domain.names.map((name, k) => `${name}=${general(best.run[k], 4)}`).join(", ");
  return `the nearest run is at ${place}${domain.names.length > 1 ? `, ${percent(best.away[most])} of the range of ${domain.names[most]} away` : ""}`;
}

function percent(share) { return `${roundedToEven(100 * share)}%`; }

function roundedToEven(value) { const floor = Math.floor(value), rest = value - floor; return rest > 0.5 || (rest === 0.5 && floor % 2) ? floor + 1 : floor; }

// A value and ends of ranges as texts: ends with four digits, or with as many more as leave the value on its side of all.
function apart(value, ends) {
  for (let digits = 4; ; digits++) {
    const texts = [general(value, Math.max(digits, 6)), ...ends.map((end) => general(end, digits))], [shown, ...others] = texts.map(Number);
    if (digits === 17 || others.every((other, k) => Math.sign(shown - other) === Math.sign(value - ends[k]))) return texts;
  }
}

// As Python writes a number with %g.
function general(value, digits = 6) {
  if (value === 0 || !isFinite(value)) return value === 0 ? "0" : value > 0 ? "inf" : value < 0 ? "-inf" : "nan";
  const text = exponential(value, digits), [mantissa, power] = text.split("e"), exponent = Number(power);
  if (exponent >= -4 && exponent < digits) return String(Number(text));
  return `${Number(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

// To so many digits. Python rounds halves to even, JavaScript up; 60 digits show whether it is a half.
function exponential(value, digits) {
  const up = value.toExponential(digits - 1), [mantissa, power] = value.toExponential(60).split("e");
  const places = mantissa.length - 60 + digits - 1, half = /^50*$/.test(mantissa.slice(places));
  return half && Number(up.split("e")[0].at(-1)) % 2 ? `${mantissa.slice(0, places)}e${power}` : up;
}
