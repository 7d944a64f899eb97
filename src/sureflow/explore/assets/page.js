// What all parts of the page use: its elements, their sizes and colors, and names with their units.

const $ = (id) => document.getElementById(id);
function element(tag, text) { const made = document.createElement(tag); if (text !== undefined) made.textContent = text; return made; }
function fill(select, options) { select.replaceChildren(...options.map(([value, text]) => { const option = element("option", text); option.value = value; return option; })); }

// The sizes of elements that are drawn into. Asking for one makes the browser lay out the page, so it is kept until it changes.
class Sizes {
  constructor(ids, changed) {
    this.kept = {};
    const observer = new ResizeObserver((entries) => { for (const { target } of entries) delete this.kept[target.id]; changed(); });
    for (const id of ids) observer.observe($(id));
  }

  of(id) { return (this.kept[id] ??= $(id).getBoundingClientRect()); }

  forget() { this.kept = {}; }
}

// A canvas without what was drawn on it. One that is cleared hides, on paper, what is behind it; one that begins anew does not.
function emptied(canvas) {
  const context = canvas.getContext("2d");
  if (matchMedia("print").matches) canvas.width = canvas.width;
  else context.clearRect(0, 0, canvas.width, canvas.height);
  return context;
}

// Lines that are seen on any ground: `trace` draws them wide and black, then narrow and white.
function outlined(context, [wide, narrow], trace) {
  for (const [style, size] of [["#000", wide], ["#fff", narrow]]) {
    context.strokeStyle = style; context.lineWidth = size;
    context.beginPath(); trace(); context.stroke();
  }
}

const COLORS = new Map();  // by their names in the style of the page
function color(name) { if (!COLORS.has(name)) COLORS.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim()); return COLORS.get(name); }
function rgb(name) { const hex = color(name); return hex.length === 7 ? [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255) : [1, 1, 1]; }

// What is written of a unit after a number.
function unitAfter({ unit }) { return unit && unit !== "1" ? ` ${unit}` : ""; }
function titled({ name, unit }) { return unit && unit !== "1" ? `${name} (${unit})` : name; }
function worded({ words, unit }) { return titled({ name: words, unit }); }
// Which of several conditions something belongs to.
function lettered(k, count, after) { return count > 1 ? "AB"[k] + after : ""; }
