// Fields on their mesh.
//
// A plane mesh with a value a cell is rasterized once for a view: every pixel learns its cell. While sliders move, pixels only
// change their colors, which takes a millisecond or two even without a graphics card. Smooth fields and volumes are drawn with
// WebGL2 as triangles, with values in a texture, and colors and hatching in the shader.

const VERTEX = `#version 300 es
in vec3 place; in float id;
uniform mat3 turn; uniform vec2 center, scale; uniform float mirror, middle, depth; uniform highp sampler2D values; uniform int width;
out vec2 value; out vec3 eye;
void main() {
  eye = turn * vec3(place.x, place.y * mirror, place.z);
  gl_Position = vec4((eye.xy - center) * scale, (middle - eye.z) * depth, 1.0);
  value = texelFetch(values, ivec2(int(id) % width, int(id) / width), 0).rg;
}`;
const FRAGMENT = `#version 300 es
precision highp float;
in vec2 value; in vec3 eye; out vec4 color;
uniform vec2 range; uniform bool logarithmic, hatched, solid; uniform float threshold, row, pixel; uniform sampler2D colors;
void main() {
  float v = logarithmic ? log(max(value.r, 1e-37)) : value.r;
  float share = clamp((v - range.x) / max(range.y - range.x, 1e-30), 0.0, 1.0);
  vec3 shade = texture(colors, vec2(share * 255.0 / 256.0 + 0.5 / 256.0, row)).rgb;
  if (solid) shade *= 0.65 + 0.35 * abs(normalize(cross(dFdx(eye), dFdy(eye))).z);
  if (hatched && !(value.g <= threshold)) {
    float stripe = mod((gl_FragCoord.x + gl_FragCoord.y) / pixel, 9.0);
    if (stripe < 1.2) shade = vec3(0.0); else if (stripe < 2.4) shade = vec3(1.0);
  }
  color = vec4(shade, 1.0);
}`;

class View {
  constructor(canvas, colors, count) { Object.assign(this, { canvas, colors, palettes: count, rasters: [] }); }

  // WebGL2 takes a while to begin, and not every picture needs it.
  get gl() { return this.context ?? this.begin(); }

  begin() {
    const gl = this.canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: false });
    if (!gl) throw new Error("this browser has no WebGL2: use a newer one, or turn on its graphics acceleration");
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source); gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "place"); gl.bindAttribLocation(program, 1, "id");
    gl.linkProgram(program); gl.useProgram(program);
    this.context = gl;
    this.at = (name) => (this.at[name] ??= gl.getUniformLocation(program, name));
    gl.activeTexture(gl.TEXTURE1);
    this.texture();
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, 256, this.palettes, 0, gl.RGB, gl.UNSIGNED_BYTE, this.colors);
    gl.uniform1i(this.at("colors"), 1);
    gl.activeTexture(gl.TEXTURE0);
    this.texture();
    gl.uniform1i(this.at("values"), 0);
    gl.enable(gl.SCISSOR_TEST);
    return gl;
  }

  texture() {
    const gl = this.gl;
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    for (const name of ["TEXTURE_MIN_FILTER", "TEXTURE_MAG_FILTER"]) gl.texParameteri(gl.TEXTURE_2D, gl[name], gl.NEAREST);
    for (const name of ["TEXTURE_WRAP_S", "TEXTURE_WRAP_T"]) gl.texParameteri(gl.TEXTURE_2D, gl[name], gl.CLAMP_TO_EDGE);
  }

  // Corners of triangles; a corner shows the value of a cell, or of itself where values are smooth.
  buffers(mesh) {
    if (mesh.buffers && !mesh.moved) return mesh.buffers;
    const { gl } = this, { triangles, places } = mesh, corners = new Float32Array(3 * triangles.length);
    const ids = (of) => Float32Array.from(triangles, (_, k) => of(k)), filled = (data) => { const made = gl.createBuffer(); gl.bindBuffer(gl.ARRAY_BUFFER, made); gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW); return made; };
    for (let k = 0; k < triangles.length; k++) for (let a = 0; a < 3; a++) corners[3 * k + a] = places[3 * triangles[k] + a];
    for (const old of Object.values(mesh.buffers ?? {})) gl.deleteBuffer(old);
    mesh.moved = false;
    return (mesh.buffers = { places: filled(corners), cells: filled(ids((k) => mesh.owners[Math.floor(k / 3)])), nodes: filled(ids((k) => triangles[k])) });
  }

  // The pixels of a box that show a cell: which cell, from 1 on, where in a picture of this width, and whether the stripes of a
  // hatch are black (1) or white (2) there.
  covered(mesh, box, camera, mirror, wide, pixel) {
    const key = [box.width, box.height, camera.x, camera.y, camera.zoom, mirror, wide, pixel].join();
    if (mesh.raster?.key === key) return mesh.raster;
    const { width, height } = box, numbers = new Uint32Array(width * height), period = Math.round(9 * pixel), line = Math.max(1, Math.round(1.2 * pixel));
    for (const sign of mirror ? [-1, 1] : [1]) mesh.rasterize(numbers, width, height, camera, sign);
    let count = 0;
    for (let k = 0; k < numbers.length; k++) if (numbers[k]) count++;
    const cells = new Uint32Array(count), places = new Uint32Array(count), stripes = new Uint8Array(count);
    // Rows of the raster run from the bottom up, those of the picture from the top down.
    for (let y = height - 1, k = 0, from = 0; y >= 0; y--) for (let x = 0; x < width; x++, from++) if (numbers[from]) {
      const stripe = (x + height - y) % period;
      cells[k] = numbers[from]; places[k] = y * wide + x; stripes[k] = stripe < line ? 1 : stripe < 2 * line ? 2 : 0;
      k++;
    }
    return (mesh.raster = { key, cells, places, stripes });
  }

  // The colors of the cells of a panel, each on no stripe, on a black and on a white one.
  shades({ values, bars, threshold, range, logarithmic, palette }) {
    const count = values.length, shades = new Uint32Array(3 * (count + 1)), [low, high] = logarithmic ? range.map((v) => Math.log(Math.max(v, 1e-37))) : range;
    const { colors } = this, first = 256 * palette, size = 255 / Math.max(high - low, 1e-30);
    for (let i = 0; i < count; i++) {
      const value = logarithmic ? Math.log(Math.max(values[i], 1e-37)) : values[i], at = 3 * (first + Math.max(0, Math.min(255, Math.round((value - low) * size)) || 0)), to = 3 * (i + 1);
      shades[to] = shades[to + 1] = shades[to + 2] = colors[at] | (colors[at + 1] << 8) | (colors[at + 2] << 16) | 0xff000000;
      if (bars && !(bars[i] <= threshold)) { shades[to + 1] = 0xff000000; shades[to + 2] = 0xffffffff; }
    }
    return shades;
  }

  // All panels as colors of pixels.
  paint(context, panels, boxes, camera, { mirror, pixel }) {
    const { width, height } = context.canvas, corners = boxes.map((box) => [box.x, box.y]).join(), before = this.rasters;
    this.rasters = panels.map(({ mesh }, p) => this.covered(mesh, boxes[p], camera, mirror, width, pixel));
    if (this.image?.width !== width || this.image.height !== height) this.image = context.createImageData(width, height);
    const pixels = new Uint32Array(this.image.data.buffer);
    if (this.boxes !== corners || this.rasters.some((raster, p) => raster !== before[p])) pixels.fill(0);
    this.boxes = corners;
    panels.forEach((panel, p) => {
      const shades = this.shades(panel), origin = boxes[p].y * width + boxes[p].x, { cells, places, stripes } = this.rasters[p];
      for (let k = 0; k < cells.length; k++) pixels[origin + places[k]] = shades[3 * cells[k] + stripes[k]];
    });
    context.putImageData(this.image, 0, 0);
  }

  upload(values, bars) {
    const gl = this.gl, width = Math.min(1024, values.length), height = Math.ceil(values.length / width);
    const pairs = new Float32Array(2 * width * height);
    for (let i = 0; i < values.length; i++) { pairs[2 * i] = values[i]; pairs[2 * i + 1] = bars ? bars[i] : 0; }
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RG32F, width, height, 0, gl.RG, gl.FLOAT, pairs);
    gl.uniform1i(this.at("width"), width);
  }

  clear(background) {
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.scissor(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...background, 1); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  }

  // One panel in a box of pixels, from the top left corner.
  draw(panel, box, camera, { smooth, mirror, pixel }) {
    const { gl } = this, { mesh } = panel, solid = mesh.dimension === 3, buffers = this.buffers(mesh);
    gl.viewport(box.x, this.canvas.height - box.y - box.height, box.width, box.height);
    gl.scissor(box.x, this.canvas.height - box.y - box.height, box.width, box.height);
    (solid ? gl.enable : gl.disable).call(gl, gl.DEPTH_TEST);
    const nodal = smooth || mesh.location === "points", shown = (values) => (values && nodal ? mesh.atCorners(values) : values);
    this.upload(shown(panel.values), shown(panel.bars));
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.places);
    gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[nodal ? "nodes" : "cells"]);
    gl.enableVertexAttribArray(1); gl.vertexAttribPointer(1, 1, gl.FLOAT, false, 0, 0);
    const [low, high] = panel.logarithmic ? panel.range.map((v) => Math.log(Math.max(v, 1e-37))) : panel.range;
    gl.uniform2f(this.at("range"), low, high);
    gl.uniform1i(this.at("logarithmic"), panel.logarithmic ? 1 : 0);
    gl.uniform1i(this.at("hatched"), panel.bars ? 1 : 0);
    gl.uniform1i(this.at("solid"), solid ? 1 : 0);
    gl.uniform1f(this.at("threshold"), panel.threshold ?? 0);
    gl.uniform1f(this.at("row"), (panel.palette + 0.5) / this.palettes);
    gl.uniform1f(this.at("pixel"), pixel);
    gl.uniformMatrix3fv(this.at("turn"), false, camera.turn);
    gl.uniform2f(this.at("center"), camera.x, camera.y);
    gl.uniform2f(this.at("scale"), 2 * camera.zoom / box.width, 2 * camera.zoom / box.height);
    gl.uniform1f(this.at("middle"), [0, 1, 2].reduce((sum, a) => sum + camera.turn[3 * a + 2] * 0.5 * (mesh.low[a] + mesh.high[a]), 0));
    gl.uniform1f(this.at("depth"), 0.5 / mesh.size);
    for (const sign of mirror ? [1, -1] : [1]) {
      gl.uniform1f(this.at("mirror"), sign);
      gl.drawArrays(gl.TRIANGLES, 0, mesh.triangles.length);
    }
  }
}

// The triangles of a mesh, with what is needed to find the value at a place.
class Mesh {
  constructor(header, payload) {
    this.location = header.location;
    this.dimension = header.axes.length;
    this.triangles = payload.array("triangles").data;
    this.owners = payload.array("owners").data;
    this.count = header.values;
    [this.first, this.second, this.share] = ["first", "second", "share"].map((name) => payload.array(name).data);
    if (header.places) this.setPlaces(payload.array(header.places).data);
  }

  setPlaces(flat) {
    const n = flat.length / this.dimension;
    this.places = new Float32Array(3 * n);
    this.low = [Infinity, Infinity, Infinity]; this.high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < n; i++) for (let a = 0; a < 3; a++) {
      const value = a < this.dimension ? flat[i * this.dimension + a] : 0;
      this.places[3 * i + a] = value;
      this.low[a] = Math.min(this.low[a], value); this.high[a] = Math.max(this.high[a], value);
    }
    this.size = Math.hypot(...this.high.map((value, a) => value - this.low[a])) || 1;
    this.bins = this.raster = this.traced = null;
    this.moved = true;
  }

  // Write the number of its cell, from 1 on, into every pixel whose middle lies in a triangle. An edge that two triangles share
  // is cut by a row of pixels at one place, so that there are no gaps.
  rasterize(numbers, width, height, camera, sign) {
    const n = this.places.length / 3, sx = new Float64Array(n), sy = new Float64Array(n), { triangles, owners } = this;
    for (let i = 0; i < n; i++) { sx[i] = width / 2 + (this.places[3 * i] - camera.x) * camera.zoom; sy[i] = height / 2 + (sign * this.places[3 * i + 1] - camera.y) * camera.zoom; }
    for (let t = 0; t < owners.length; t++) {
      let a = triangles[3 * t], b = triangles[3 * t + 1], c = triangles[3 * t + 2], swap;
      if (sy[b] < sy[a]) { swap = a; a = b; b = swap; }
      if (sy[c] < sy[b]) { swap = b; b = c; c = swap; if (sy[b] < sy[a]) { swap = a; a = b; b = swap; } }
      const first = Math.max(0, Math.ceil(sy[a] - 0.5)), last = Math.min(height, Math.ceil(sy[c] - 0.5)), cell = owners[t] + 1;
      for (let row = first; row < last; row++) {
        const y = row + 0.5, long = sx[a] + (sx[c] - sx[a]) * (y - sy[a]) / (sy[c] - sy[a]);
        const short = y < sy[b] ? sx[a] + (sx[b] - sx[a]) * (y - sy[a]) / (sy[b] - sy[a]) : sx[b] + (sx[c] - sx[b]) * (y - sy[b]) / (sy[c] - sy[b]);
        const from = Math.max(0, Math.ceil(Math.min(long, short) - 0.5)), to = Math.min(width, Math.ceil(Math.max(long, short) - 0.5));
        if (to > from) numbers.fill(cell, row * width + from, row * width + to);
      }
    }
  }

  // A field at the corners of the triangles.
  atCorners(values) { return this.location === "cells" ? this.atNodes(values) : this.lift(values); }

  // Values at the points of the mesh, as a corner of the triangles has them: of a point, or between two.
  lifted(values, i) { return (1 - this.share[i]) * values[this.first[i]] + this.share[i] * values[this.second[i]]; }

  lift(values) {
    const out = new Float32Array(this.first.length);
    for (let i = 0; i < out.length; i++) out[i] = this.lifted(values, i);
    return out;
  }

  // Values of cells, averaged at the nodes around which they lie.
  atNodes(values) {
    if (!this.shares) {
      this.shares = new Float32Array(this.places.length / 3);
      for (let k = 0; k < this.triangles.length; k++) this.shares[this.triangles[k]] += 1;
    }
    const out = new Float32Array(this.shares.length);
    for (let k = 0; k < this.triangles.length; k++) out[this.triangles[k]] += values[this.owners[(k / 3) | 0]];
    for (let i = 0; i < out.length; i++) out[i] /= this.shares[i];
    return out;
  }

  // Triangles by the bins of a grid that their boxes touch.
  binned() {
    if (this.bins) return this.bins;
    const n = Math.max(4, Math.min(128, Math.ceil(Math.sqrt(this.triangles.length / 6))));
    const [x0, y0] = this.low, sx = n / (this.high[0] - x0 || 1), sy = n / (this.high[1] - y0 || 1);
    const cell = (v, s) => Math.max(0, Math.min(n - 1, Math.floor(v * s)));
    const bins = Array.from({ length: n * n }, () => []);
    for (let t = 0; t < this.triangles.length / 3; t++) {
      const xs = [0, 1, 2].map((k) => this.places[3 * this.triangles[3 * t + k]] - x0);
      const ys = [0, 1, 2].map((k) => this.places[3 * this.triangles[3 * t + k] + 1] - y0);
      for (let j = cell(Math.min(...ys), sy); j <= cell(Math.max(...ys), sy); j++)
        for (let i = cell(Math.min(...xs), sx); i <= cell(Math.max(...xs), sx); i++) bins[j * n + i].push(t);
    }
    return (this.bins = { n, find: (x, y) => bins[cell(y - y0, sy) * n + cell(x - x0, sx)] });
  }

  // The triangle at a place of the plane, with the shares of its corners; null outside.
  locate(x, y) {
    for (const t of this.binned().find(x, y)) {
      const [a, b, c] = [0, 1, 2].map((k) => 3 * this.triangles[3 * t + k]), p = this.places;
      const shares = barycentric(x, y, p[a], p[a + 1], p[b], p[b + 1], p[c], p[c + 1]);
      if (shares) return { triangle: t, shares };
    }
    return null;
  }

  // The frontmost triangle of a volume at a place of the screen.
  pick(x, y, turn) {
    let best = null, nearest = -Infinity;
    const seen = (i) => [0, 1, 2].map((r) => turn[r] * this.places[3 * i] + turn[3 + r] * this.places[3 * i + 1] + turn[6 + r] * this.places[3 * i + 2]);
    for (let t = 0; t < this.triangles.length / 3; t++) {
      const [a, b, c] = [0, 1, 2].map((k) => seen(this.triangles[3 * t + k]));
      const shares = barycentric(x, y, a[0], a[1], b[0], b[1], c[0], c[1]);
      const depth = shares ? shares[0] * a[2] + shares[1] * b[2] + shares[2] * c[2] : -Infinity;
      if (depth > nearest) { nearest = depth; best = { triangle: t, shares }; }
    }
    return best;
  }

  // A field where `locate` found a place: of the cell, or between the corners.
  value(values, found) {
    return this.location === "cells" ? values[this.owners[found.triangle]] : this.between(found, (corner) => this.lifted(values, corner));
  }

  between({ triangle, shares }, of) { return shares.reduce((sum, share, k) => sum + share * of(this.triangles[3 * triangle + k]), 0); }
}

function barycentric(x, y, ax, ay, bx, by, cx, cy) {
  const area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
  if (area === 0) return null;
  const b = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area, c = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area;
  return b >= -1e-6 && c >= -1e-6 && b + c <= 1 + 1e-6 ? [1 - b - c, b, c] : null;
}
