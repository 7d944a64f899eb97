// What the map of two parameters shows: the verdict and the size of the bars at a grid of conditions.

const MAP_MARKS = "Hatched: extrapolated; gray: not trusted. Circles: training runs.";

class MapValues {
  // The other parameters stay as they are.
  constructor({ header, source, state }, key, region) {
    const { field, across, up } = state, n = source.glance ? 40 : 24;
    Object.assign(this, { header, source, key, region, n, field, across, up, at: [...state.current], trust: [], bar: [], done: false, stale: true });
    const bars = header.bands.length ? `Brighter: larger bars of ${header.fields[field].name}, inside the training domain up to the largest there. ` : "";
    this.note = bars + MAP_MARKS;
  }

  // `wanted` tells whether they are still to be shown; `arrived` is called when there are more of them, `failed` when there are none.
  compute(wanted, arrived, failed) {
    if (this.source.glance) this.byRows(wanted, arrived);
    else this.byService(wanted, arrived, failed);
  }

  condition(i, j) {
    const at = [...this.at];
    for (const [k, place] of [[this.across, i], [this.up, j]]) at[k] = valueAtShare(this.header.parameters[k], (place + 0.5) / this.n);
    return at;
  }

  // Row by row between frames, so that the sliders stay quick.
  byRows(wanted, arrived) {
    const { n } = this;
    let j = 0;
    const some = () => {
      if (!wanted()) return;
      const until = performance.now() + 8;
      for (; j < n && performance.now() < until; j++) for (let i = 0; i < n; i++) {
        const { trust, bar } = this.source.glance(this.condition(i, j), this.field, this.region);
        this.trust[j * n + i] = trust; this.bar[j * n + i] = bar;
      }
      this.done = j >= n;
      this.stale = true;
      arrived();
      if (!this.done) setTimeout(some, 16);
    };
    setTimeout(some, 50);
  }

  // All at once; those that cannot be had are asked for again after a while.
  async byService(wanted, arrived, failed) {
    try {
      const trust = await this.source.verdicts(Array.from({ length: this.n * this.n }, (_, c) => this.condition(c % this.n, Math.floor(c / this.n))));
      Object.assign(this, { trust, bar: trust.map(() => 0), note: MAP_MARKS });
    } catch (error) {
      this.note = `There is no map: ${error.message}.`;
      setTimeout(() => { if (wanted()) failed(); }, this.source.pause);
    }
    Object.assign(this, { done: true, stale: true });
    if (wanted()) arrived();
  }
}
