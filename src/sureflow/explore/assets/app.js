// The page: its parts, and when they show what.

class Explorer {
  constructor(header, payload, source) {
    const changed = () => this.changed(), schedule = () => this.schedule();
    Object.assign(this, { header, payload, source, frames: [] });
    this.palettes = Uint8Array.from(atob(header.colors.bytes), (c) => c.charCodeAt(0));
    this.state = new State(header);
    this.shown = new Shown(header, payload);
    this.sizes = new Sizes(["stage", "map", "chart"], schedule);
    this.link = new Link(this.state, changed);
    this.controls = new Controls(this, changed, () => this.map.forget());
    this.map = new ParameterMap(this, changed, schedule);
    this.stage = new Stage(this);
    this.gestures = new Gestures(this, changed);
    this.line = new LinePlot(this);
    this.files = new Files(this);
    source.arrived = schedule;
    for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", () => this.recolor());
    this.show();
    this.render();
  }

  set(k, value) { this.controls.set(k, value); }

  changed() { this.show(); this.schedule(); }

  // The state in the controls.
  show() { this.controls.show(); this.map.show(); }

  // After a change of the colors of the page, at once: a printer does not wait.
  recolor() {
    COLORS.clear();
    this.sizes.forget();
    this.map.recolor();
    this.render();
  }

  schedule() {
    this.asked ??= performance.now();
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { if (this.waiting) this.render(); });
  }

  // The answers to the state, as far as they are known.
  render() {
    this.waiting = false;
    const { state } = this, answers = [state.at, ...(state.other ? [state.other] : [])].map((at) => this.source.answer(at));
    $("waiting").hidden = !answers.includes(null);
    const known = answers.every((answer) => answer?.drawable), failed = answers.some((answer) => answer?.failed);
    this.controls.enable(known || !!this.stage.panels, known && !failed);
    if (known) this.draw(answers);
    else if (failed) showVerdict(answers, state.active);
  }

  draw(answers) {
    this.shown.take(answers);
    const panels = panelsOf(this.shown, this.state, this.header);
    this.controls.showRange();
    this.stage.show(panels);
    if (!this.drawn) { this.drawn = true; performance.mark("first-picture"); }
    showVerdict(answers, this.state.active);
    showQuantities(this.header.quantities, answers);
    this.line.show();
    if (this.complete) this.map.draw();
    this.stage.readAgain();
    this.link.write();
    if (this.asked !== undefined) { this.frames.push(performance.now() - this.asked); if (this.frames.length > 500) this.frames.shift(); this.asked = undefined; }
  }
}

(async () => {
  try {
    const header = JSON.parse($("header").textContent), scene = await Payload.open(header.scene, "scene");
    const source = header.service ? new RemoteSource(header, scene) : new LocalSource(header, scene);
    const explorer = window.explorer = new Explorer(header, scene, source);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    await source.open();
    explorer.complete = true;
    explorer.render();
    performance.mark("complete");
    document.body.dataset.ready = "true";
  } catch (error) {
    document.querySelector("main").replaceChildren(Object.assign(element("p", `This page cannot show its model: ${error.message}.`), { className: "failed" }));
    console.error(error);
  }
})();
