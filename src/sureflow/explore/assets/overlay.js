// What is drawn over the fields: titles, color bars, the scale, the line that was drawn by hand, and the place that is read.

class Overlay {
  // `palettes` are the colors of all palettes.
  constructor({ header, state, palettes }) { Object.assign(this, { header, state, palettes }); }

  draw(panels, layout, probe) {
    const context = emptied($("overlay")), { pixel, boxes } = layout, { drawn } = this.state, plane = this.header.axes.length === 2;
    context.font = `${12 * pixel}px system-ui, sans-serif`;
    panels.forEach((panel, k) => {
      const box = boxes[k];
      context.fillStyle = color("--ink"); context.textAlign = "left"; context.textBaseline = "alphabetic";
      context.fillText(panel.title, box.x + 6 * pixel, box.y - 7 * pixel, box.width + box.bar - 10 * pixel);
      this.drawBar(context, panel, box, pixel);
      if (plane) this.drawScale(context, box, layout);
      if (drawn) {
        const [a, b] = [layout.toScreen(drawn.slice(0, 2), box), layout.toScreen(drawn.slice(2), box)];
        outlined(context, [4 * pixel, 2 * pixel], () => { context.moveTo(...a); context.lineTo(...b); });
      }
      if (probe && plane) {
        const [x, y] = layout.toScreen(probe, box);
        outlined(context, [3 * pixel, 1.4 * pixel], () => context.arc(x, y, 6 * pixel, 0, 7));
      }
    });
  }

  drawBar(context, panel, box, pixel) {
    const x = box.x + box.width + 8 * pixel, y = box.y + 10 * pixel, width = 13 * pixel, height = box.height - 24 * pixel, ink = color("--ink");
    if (height < 30 * pixel) return;
    for (let i = 0; i < 128; i++) {
      const at = 3 * (256 * panel.palette + 2 * i);
      context.fillStyle = `rgb(${this.palettes[at]},${this.palettes[at + 1]},${this.palettes[at + 2]})`;
      context.fillRect(x, y + height * (1 - (i + 1) / 128), width, height / 128 + 1);
    }
    context.strokeStyle = ink; context.lineWidth = 0.7 * pixel; context.strokeRect(x, y, width, height);
    context.fillStyle = ink; context.textAlign = "left"; context.textBaseline = "middle"; context.font = `${10.5 * pixel}px system-ui, sans-serif`;
    const [low, high] = panel.range, share = (v) => (panel.logarithmic ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));
    const marks = panel.logarithmic ? decades(low, high) : ticks(low, high, Math.max(2, Math.min(8, height / (34 * pixel))));
    const digits = panel.logarithmic ? 3 : digitsOf(marks, 3);
    for (const mark of marks) if (share(mark) >= -1e-6 && share(mark) <= 1.000001) {
      const place = y + height * (1 - share(mark));
      context.fillRect(x + width, place - 0.4 * pixel, 3 * pixel, 0.8 * pixel);
      context.fillText(short(mark, digits), x + width + 5 * pixel, place, box.bar - 30 * pixel);
    }
    context.font = `${12 * pixel}px system-ui, sans-serif`;
  }

  // A bar as long as a round number of the axes' unit.
  drawScale(context, box, { pixel, camera }) {
    const [axis] = this.header.axes, rough = 90 * pixel / camera.zoom, power = 10 ** Math.floor(Math.log10(rough));
    const length = power * [5, 2, 1].find((f) => f * power <= rough), x = box.x + 10 * pixel, y = box.y + box.height - 10 * pixel;
    context.fillStyle = color("--soft"); context.fillRect(x, y, length * camera.zoom, 2 * pixel);
    context.textAlign = "left"; context.textBaseline = "bottom";
    context.fillText(`${short(length)} ${axis.unit ?? ""}`.trim(), x, y - 2 * pixel);
  }
}

function decades(low, high) { const found = []; for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high) + 1; power++) for (const f of Math.log10(high / low) > 2.5 ? [1] : [1, 2, 5]) found.push(f * 10 ** power); return found; }
