// Files that the page saves: the picture, the values of the fields, and the curves.

class Files {
  constructor({ header, state, shown, stage, line }) {
    Object.assign(this, { header, state, shown, stage, line });
    $("png").onclick = () => this.savePng();
    $("csv").onclick = () => this.save(this.fieldCsv(), "csv", "text/csv");
    $("line-csv").onclick = () => this.save(this.lineCsv(), "line.csv", "text/csv");
  }

  name() { return `${this.header.fields[this.state.field].name}_${this.header.parameters.map((p, k) => `${p.name}${short(this.state.at[k])}`).join("_")}`; }

  save(content, ending, type) {
    const link = element("a");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = `${this.name()}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    $("saved").textContent = `Saved ${link.download}.`;
  }

  // The panels with what is drawn over them, and below them their conditions and verdicts.
  savePng() {
    const { stage, shown } = this, { pixel } = stage.layout, out = element("canvas"), { width, height } = $("view"), context = out.getContext("2d");
    out.width = width; out.height = height + 44 * pixel;
    context.fillStyle = color("--ground"); context.fillRect(0, 0, out.width, out.height);
    stage.draw();  // WebGL2 keeps no picture after it was shown
    context.drawImage($(stage.painted ? "picture" : "view"), 0, 0); context.drawImage($("overlay"), 0, 0);
    context.fillStyle = color("--ink"); context.font = `${12 * pixel}px system-ui, sans-serif`; context.textBaseline = "top";
    shown.answers.forEach(({ at, verdict }, k) => {
      const condition = this.header.parameters.map((p, i) => `${p.words} ${short(at[i])}${unitAfter(p)}`).join(", ");
      context.fillText(`${lettered(k, shown.answers.length, ": ")}${condition} - ${verdict.text}`, 8 * pixel, height + (4 + 18 * k) * pixel, out.width - 16 * pixel);
    });
    out.toBlob((blob) => this.save(blob, "png"));
  }

  // Every value that is drawn, after its place: that of a cell, or of a corner where values are at points.
  fieldCsv() {
    const { header, shown } = this, columns = [];
    shown.answers.forEach((answer, k) => {
      const mesh = shown.meshOf(k), prefix = lettered(k, shown.answers.length, "_"), there = (values) => (mesh.location === "points" ? mesh.lift(values) : values);
      if (k === 0 || header.moving) columns.push(...placesIn(mesh).map((axis, a) => [`${header.moving ? prefix : ""}${header.axes[a].name}`, axis]));
      header.fields.forEach((field, v) => {
        const std = answer.std(v), halves = std ? header.bands.filter((band) => band.factors).map((band) => [`_${band.name}`, answer.half(v, band)]) : [];
        for (const [name, values] of [["", answer.mean(v)], ["_std", std], ...halves]) if (values) columns.push([prefix + field.name + name, there(values)]);
      });
    });
    return csv(columns);
  }

  lineCsv() {
    const found = this.line.curves();
    if (!found) return "";
    const columns = [], { moving } = this.header, field = this.header.fields[this.state.field].name;
    found.curves.forEach((curve, k) => {
      const prefix = lettered(k, found.curves.length, "_");
      if (k === 0 || moving) columns.push([`${moving ? prefix : ""}distance`, curve.x]);
      columns.push([prefix + field, curve.y]);
      if (curve.std) columns.push([`${prefix}${field}_std`, curve.std]);
    });
    return csv(columns);
  }
}

// Columns, of which some may be longer than others.
function csv(columns) {
  const rows = [columns.map(([name]) => headed(name)).join(",")], count = Math.max(...columns.map(([, values]) => values.length));
  for (let i = 0; i < count; i++) rows.push(columns.map(([, values]) => (i < values.length ? Number(values[i].toPrecision(7)) : "")).join(","));
  return rows.join("\n") + "\n";
}

// A name at the head of a column (RFC 4180); one that a spreadsheet would take for a formula begins with an apostrophe.
function headed(name) {
  const harmless = /^[=+\-@\t\r]/.test(name) ? `'${name}` : name;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

// Where values are, axis by axis: at the corners of triangles, or in the middle of those of a cell.
function placesIn(mesh) {
  const axes = Array.from({ length: mesh.dimension }, (_, a) => a);
  if (mesh.location === "points") return axes.map((a) => mesh.places.filter((_, i) => i % 3 === a));
  const sums = axes.map(() => new Float64Array(mesh.count)), counts = new Float64Array(mesh.count), corners = mesh.places.length / 3, seen = new Set();
  mesh.triangles.forEach((corner, k) => {
    const cell = mesh.owners[Math.floor(k / 3)], key = cell * corners + corner;
    if (seen.has(key)) return;
    seen.add(key);
    counts[cell] += 1;
    sums.forEach((sum, a) => { sum[cell] += mesh.places[3 * corner + a]; });
  });
  return sums.map((sum) => sum.map((value, i) => value / (counts[i] || 1)));
}
