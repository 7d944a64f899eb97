// The stage: panels of fields, what is drawn over them, and the place that is read.

class Stage {
  constructor(page) {
    const { header, state, shown, sizes, palettes } = page;
    Object.assign(this, { header, state, shown, sizes, panels: null, layout: null, probe: null, painted: false });
    this.view = new View($("view"), palettes, header.colors.names.length);
    this.overlay = new Overlay(page);
  }

  show(panels) {
    this.panels = panels;
    const { note } = this.shown;
    $("meshes").textContent = note;
    $("meshes").hidden = !note;
    this.draw();
  }

  draw() {
    const { state, header, panels } = this, pixel = Math.min(devicePixelRatio || 1, 2), context = $("picture").getContext("2d");
    this.layout = new Layout(this, panels.length, ...this.resized(pixel), pixel);
    const { boxes, camera } = this.layout, options = { smooth: state.smooth, mirror: state.mirrored, pixel };
    this.painted = header.axes.length === 2 && header.location === "cells" && !state.smooth;
    $("view").style.visibility = this.painted ? "hidden" : "visible";
    if (!this.painted && !this.begun()) return this.draw();
    if (this.painted) this.view.paint(context, panels, boxes, camera, options);
    else {
      emptied($("picture"));
      this.view.clear(rgb("--ground"));
      panels.forEach((panel, k) => this.view.draw(panel, boxes[k], camera, options));
    }
    this.drawOverlay();
  }

  // The canvases as large as the stage. A size that is set anew, even the same one, would empty them.
  resized(pixel) {
    const stage = this.sizes.of("stage"), width = Math.max(1, Math.round(stage.width * pixel)), height = Math.max(1, Math.round(stage.height * pixel));
    for (const canvas of [$("view"), $("picture"), $("overlay")]) if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    return [width, height];
  }

  // Whether WebGL2 can be had; where cells can be painted without it, they are no longer smooth, and the box says why.
  begun() {
    try { return !!this.view.gl; } catch (error) {
      if (!this.state.smooth || this.header.axes.length !== 2 || this.header.location !== "cells") throw error;
      this.state.smooth = $("smooth").checked = false;
      $("smooth").disabled = true; $("smooth").title = error.message;
      return false;
    }
  }

  drawOverlay() { this.overlay.draw(this.panels, this.layout, this.probe); }

  // Where a pointer is in the plane of the mesh, and over which panel.
  toPlace({ clientX, clientY }) {
    const bounds = $("overlay").getBoundingClientRect(), { pixel } = this.layout;
    return this.layout.toPlace((clientX - bounds.left) * pixel, (clientY - bounds.top) * pixel);
  }

  readAt(x, y, panel = 0) {
    $("readout").textContent = reading(this, x, y, panel);
    if (this.header.axes.length === 2) this.probe = [x, y, panel];
  }

  // After a change of the condition or the field.
  readAgain() { if (this.probe) this.readAt(...this.probe); }
}
