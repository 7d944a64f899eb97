// Where panels are on the stage, in pixels, and where the field is in each of them.

class Layout {
  constructor({ header, state, shown }, count, width, height, pixel) {
    Object.assign(this, { dimension: header.axes.length, state, meshes: shown.drawnMeshes, pixel });
    this.boxes = this.largest(count, width, height);
    this.camera = this.aimed(this.boxes[0]);
  }

  // Of side by side, two and two, and one below the other, what shows the field largest.
  largest(count, width, height) {
    const bar = Math.round(70 * this.pixel), top = Math.round(22 * this.pixel);
    const choices = Array.from({ length: count }, (_, c) => {
      const columns = count - c, w = Math.floor(width / columns), h = Math.floor(height / Math.ceil(count / columns));
      return Array.from({ length: count }, (_, k) => ({ x: (k % columns) * w, y: Math.floor(k / columns) * h + top, width: Math.max(1, w - bar), height: Math.max(1, h - top), bar }));
    });
    const sizes = choices.map((boxes) => this.aimed(boxes[0]).fitted);
    return choices[sizes.indexOf(Math.max(...sizes))];
  }

  // The camera of a box: how the mesh is turned, the place in the middle, and pixels per unit of length, as seen and to see everything.
  aimed(box) {
    const { state } = this, turn = this.dimension === 3 ? turned(state.yaw, state.pitch) : new Float32Array([1, 0, 0, 0, 1, 0, 0, 0, 1]);
    const low = [Infinity, Infinity], high = [-Infinity, -Infinity], signs = state.mirrored ? [1, -1] : [1];
    for (const [x, y, z] of this.corners()) for (const sign of signs) for (let a = 0; a < 2; a++) {
      const value = turn[a] * x + turn[3 + a] * y * sign + turn[6 + a] * z;
      low[a] = Math.min(low[a], value); high[a] = Math.max(high[a], value);
    }
    const fitted = 0.94 * Math.min(box.width / (high[0] - low[0] || 1), box.height / (high[1] - low[1] || 1));
    const free = state.zoom === null || state.x === null;
    return { turn, fitted, x: free ? (low[0] + high[0]) / 2 : state.x, y: free ? (low[1] + high[1]) / 2 : state.y, zoom: fitted * (state.zoom ?? 1) };
  }

  // Of the box around all meshes.
  corners() {
    const ends = [0, 1, 2].map((a) => [Math.min(...this.meshes.map((one) => one.low[a])), Math.max(...this.meshes.map((one) => one.high[a]))]);
    return this.dimension === 3 ? Array.from({ length: 8 }, (_, c) => ends.map((end, a) => end[(c >> a) & 1])) : [0, 1].map((k) => [ends[0][k], ends[1][k], 0]);
  }

  toScreen([x, y], box) { return [box.x + box.width / 2 + (x - this.camera.x) * this.camera.zoom, box.y + box.height / 2 - (y - this.camera.y) * this.camera.zoom]; }

  // Where pixels of the stage are in the plane of the mesh, and in which panel.
  toPlace(x, y) {
    const { boxes, camera, pixel } = this, k = Math.max(0, boxes.findIndex((b) => x >= b.x && x <= b.x + b.width + b.bar && y >= b.y - 22 * pixel && y <= b.y + b.height)), box = boxes[k];
    return [camera.x + (x - box.x - box.width / 2) / camera.zoom, camera.y - (y - box.y - box.height / 2) / camera.zoom, k];
  }
}

function turned(yaw, pitch) { const [a, b, c, d] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)]; return new Float32Array([a, b * d, -b * c, 0, c, d, b, -a * d, a * c]); }
