// Where values of a parameter are on its slider and on the axes of the map: models see a logarithmic one by its logarithm, so it
// moves by factors.

function positionOf({ logarithmic }, value) { return logarithmic ? Math.log10(value) : value; }
function valueAt({ logarithmic }, position) { return logarithmic ? 10 ** position : position; }

// Both ends of the slider.
function endsOf(parameter) { return [parameter.least, parameter.most].map((value) => positionOf(parameter, value)); }

// Where a value is in shares of the way from end to end, and the value there.
function shareOf(parameter, value) { const [first, last] = endsOf(parameter); return (positionOf(parameter, value) - first) / (last - first); }
function valueAtShare(parameter, share) { const [first, last] = endsOf(parameter); return valueAt(parameter, first + share * (last - first)); }

// Values to mark on an axis, about so many, and what is written at them.
function marksOf({ logarithmic, least, most }, about) {
  if (!logarithmic) return ticks(least, most, about).map((value) => [value, short(value)]);
  const marks = powers(least, most, about + 1) ?? ticks(least, most, about), plain = marks.every((value) => !short(value).includes("e"));
  return marks.map((value) => [value, plain ? short(value) : scientific(value, 4)]);  // 1e4 beside 1e5, not 10000
}

// As many round values as there is room for: 1, 2 and 5 times every power of ten, 1 and 3 times, powers of ten alone, or every second
// or third of them. Nothing where there are too few, since the range is narrow.
function powers(least, most, room) {
  const first = Math.floor(Math.log10(least)), last = Math.floor(Math.log10(most));
  for (const [step, digits] of [[1, [1, 2, 5]], [1, [1, 3]], ...Array.from({ length: last - first + 1 }, (_, k) => [k + 1, [1]])]) {
    const all = [];
    for (let power = step * Math.floor(first / step); power <= last; power += step) all.push(...digits.map((digit) => Number(`${digit}e${power}`)));
    const inside = all.filter((value) => value >= least * (1 - 1e-9) && value <= most * (1 + 1e-9));
    if (inside.length <= room) return inside.length > 2 ? inside : null;
  }
  return null;
}
