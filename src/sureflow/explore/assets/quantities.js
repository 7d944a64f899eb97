// What engineers read off a flow around a body, as sureflow.physics.quantities does.

class Quantities {
  constructor(header, payload) {
    Object.assign(this, header);
    // The cells along the wall, then those along the axis.
    this.region = { name: "quantities", points: payload.array("quantity_points").data };
    if (!this.moving) this.body = new Body(payload.array("wall_nodes").data, payload.array("axis_centers").data);
  }

  // Density and temperature over the region, the free stream, and the body of a mesh that moves.
  values(density, temperature, [velocity, free, cold], moved) {
    const body = moved ? new Body(moved.slice(0, 2 * this.shape[1] + 2), moved.slice(2 * this.shape[1] + 2)) : this.body, { faces } = body;
    const pressure = density.map((value, i) => value * this.gas_constant * temperature[i]);
    const wall = pressure.slice(0, faces.length), axis = pressure.slice(faces.length), still = free * this.gas_constant * cold;
    const stagnation = (9 * wall[0] - wall[1]) / 8;
    return this.names.map((name) => {
      if (name === "stand_off") return body.standOff(axis, still);
      if (name === "stagnation_pressure") return stagnation;
      if (name === "drag_coefficient_pressure")
        return -faces.reduce((sum, face, i) => sum + (wall[i] - still) * face.area, 0) / (0.5 * free * velocity ** 2 * body.base);
      const angle = Number(name.split("_").pop());
      return (interpolated(angle, [0, ...faces.map((face) => face.angle)], [stagnation, ...wall]) - still) / (stagnation - still);
    });
  }
}

// Faces of the wall and cells along the axis.
class Body {
  constructor(wall, axis) {
    this.faces = Array.from({ length: wall.length / 2 - 1 }, (_, i) => {
      const [x0, r0, x1, r1] = wall.slice(2 * i, 2 * i + 4), size = Math.hypot(x1 - x0, r1 - r0);
      const normal = [-(r1 - r0) / size, (x1 - x0) / size];
      return { middle: [(x0 + x1) / 2, (r0 + r1) / 2], normal, area: 2 * Math.PI * (r0 + r1) / 2 * -(r1 - r0),
        angle: Math.acos(Math.max(-1, Math.min(1, -normal[0]))) * 180 / Math.PI };
    });
    this.axis = Array.from({ length: axis.length / 2 }, (_, j) => [axis[2 * j], axis[2 * j + 1]]);
    const x = wall[2] - wall[0], r = wall[3];
    this.nose = (x * x + r * r) / (2 * x);
    this.base = Math.PI * wall[wall.length - 1] ** 2;
  }

  standOff(p, still) {
    const half = 0.5 * (still + Math.max(...p));
    let inner = p.length - 2;
    for (let j = p.length - 2; j >= 0; j--) if (p[j] >= half) { inner = j; break; }
    const share = Math.max(0, Math.min(1, (p[inner] - half) / Math.max(p[inner] - p[inner + 1], 1e-30)));
    const { middle, normal } = this.faces[0];
    const place = [0, 1].map((a) => this.axis[inner][a] * (1 - share) + this.axis[inner + 1][a] * share);
    return ((place[0] - middle[0]) * normal[0] + (place[1] - middle[1]) * normal[1]) / this.nose;
  }
}
