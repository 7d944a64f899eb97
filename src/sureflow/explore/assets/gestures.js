// Pointers and keys on the stage: they pan, zoom, turn, read values and draw a line.

class Gestures {
  // `changed` is called when the state is another one.
  constructor({ header, state, stage }, changed) {
    Object.assign(this, { state, stage, changed, plane: header.axes.length === 2, pointers: new Map(), start: null });
    const overlay = $("overlay");
    overlay.onpointerdown = (event) => this.press(event);
    overlay.onpointermove = (event) => this.move(event);
    overlay.onpointerup = overlay.onpointercancel = (event) => this.release(event);
    overlay.addEventListener("wheel", (event) => { event.preventDefault(); this.zoomAt(stage.toPlace(event), Math.exp(-event.deltaY / 500)); }, { passive: false });
    overlay.ondblclick = (event) => this.zoomAt(stage.toPlace(event), 2);
    overlay.onkeydown = (event) => this.key(event);
    $("draw").hidden = !this.plane;
    $("draw").onclick = () => $("draw").setAttribute("aria-pressed", !this.isDrawing);
    $("fit").onclick = () => { state.zoom = null; changed(); };
  }

  get isDrawing() { return $("draw").getAttribute("aria-pressed") === "true"; }

  press(event) {
    const { state, stage, plane } = this;
    $("overlay").setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event);
    this.start = { place: stage.toPlace(event), drawing: this.isDrawing && plane, turning: !plane && !event.shiftKey,
      x: event.clientX, y: event.clientY, camera: stage.layout.camera, yaw: state.yaw, pitch: state.pitch };
  }

  move(event) {
    const { state, stage, start, pointers } = this;
    if (pointers.has(event.pointerId) && pointers.size === 2) { this.pinch(event); return; }
    if (!pointers.has(event.pointerId) || !start) { this.hover(event); return; }
    const x = event.clientX - start.x, y = event.clientY - start.y, { pixel } = stage.layout, { zoom } = start.camera;
    if (start.drawing) { state.drawn = [start.place[0], start.place[1], ...stage.toPlace(event).slice(0, 2)].map((v) => +v.toPrecision(5)); state.line = "drawn"; }
    else if (start.turning) this.turn(start.yaw + x / 150, start.pitch + y / 150);
    else if (Math.hypot(x, y) > 3) this.look(start.camera.x - x * pixel / zoom, start.camera.y + y * pixel / zoom, zoom);
    this.changed();
  }

  release(event) {
    const { start } = this;
    this.pointers.delete(event.pointerId);
    if (start && !start.drawing && Math.hypot(event.clientX - start.x, event.clientY - start.y) <= 3) this.hover(event);
    if (start?.drawing) $("draw").setAttribute("aria-pressed", false);
    this.start = null;
  }

  pinch(event) {
    const [a, b] = [...this.pointers.values()], before = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    this.pointers.set(event.pointerId, event);
    const [c, d] = [...this.pointers.values()], after = Math.hypot(c.clientX - d.clientX, c.clientY - d.clientY);
    if (before > 0) this.zoomAt(this.stage.toPlace({ clientX: (c.clientX + d.clientX) / 2, clientY: (c.clientY + d.clientY) / 2 }), after / before);
  }

  key(event) {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const { state, stage, plane } = this, { camera, pixel } = stage.layout, step = 12 * pixel / camera.zoom, place = stage.probe ?? [camera.x, camera.y];
    if (by && !plane) this.turn(state.yaw + 0.1 * by[0], state.pitch - 0.1 * by[1]);
    else if (by && event.shiftKey) this.look(camera.x + by[0] * step * 3, camera.y + by[1] * step * 3, camera.zoom);
    else if (by) stage.readAt(place[0] + by[0] * step, place[1] + by[1] * step, 0);
    else if (event.key === "+" || event.key === "=") this.zoomAt(place, 1.3);
    else if (event.key === "-") this.zoomAt(place, 1 / 1.3);
    else if (event.key === "0") state.zoom = null;
    else return;
    event.preventDefault();
    this.changed();
  }

  hover(event) { this.stage.readAt(...this.stage.toPlace(event)); this.stage.drawOverlay(); }

  turn(yaw, pitch) { Object.assign(this.state, { yaw, pitch: Math.max(-1.57, Math.min(1.57, pitch)) }); }

  // A place in the middle of the panels, and pixels per unit of length.
  look(x, y, zoom) { Object.assign(this.state, { x: +x.toPrecision(6), y: +y.toPrecision(6), zoom: +(zoom / this.stage.layout.camera.fitted).toPrecision(5) }); }

  // The place stays where it is on the screen.
  zoomAt([x, y], factor) {
    const { camera } = this.stage.layout, zoom = Math.max(0.3 * camera.fitted, Math.min(2000 * camera.fitted, camera.zoom * factor)), share = camera.zoom / zoom;
    this.look(x + (camera.x - x) * share, y + (camera.y - y) * share, zoom);
    this.changed();
  }
}
