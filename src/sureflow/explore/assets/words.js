// What predictions say in words and numbers: the verdict, the value at a place, and the quantities.

// That of the condition that is moved, unless there is none of another one.
function showVerdict(answers, active) {
  const failed = answers.findIndex((answer) => answer?.failed), k = failed >= 0 ? failed : active && answers[1] ? 1 : 0;
  const { trust, text } = answers[k].verdict, box = $("verdict"), whose = failed >= 0 ? lettered(k, answers.length, ": ") : "";
  const words = whose + (trust === "inside" ? text.replace("inside", "inside the training domain") : text);
  if (box.textContent !== words) box.textContent = words;
  box.className = trust;
}

// The value and its bar at a place of a panel.
function reading({ header, state, shown, panels, layout }, x, y, k) {
  const panel = panels[Math.min(k, panels.length - 1)], answer = shown.answers[Math.min(k, shown.answers.length - 1)], { mesh } = panel;
  const plane = mesh.dimension === 2, height = state.mirrored && y < 0 ? -y : y, found = plane ? mesh.locate(x, height) : mesh.pick(x, y, layout.camera.turn);
  if (!found) return "Outside of the mesh.";
  const field = header.fields[state.field], std = panel.std ? mesh.value(panel.std, found) : null;
  const at = plane ? `${header.axes[0].name} ${short(x)}, ${header.axes[1].name} ${short(height)} ${header.axes[0].unit}: ` : "";
  const whose = panel.difference ? "B - A, " : lettered(k, panels.length, ", "), value = `${field.name} = ${short(mesh.value(panel.mean, found))}`;
  if (std === null) return `${at}${whose}${value}${unitAfter(field)}`;
  const bands = panel.difference ? [] : header.bands.filter((band) => band.factors);
  const widths = bands.map((band) => [band.short, answer.half(state.field, band)]).filter(([, half]) => half).map(([words, half]) => `; ${words}: ± ${short(mesh.value(half, found), 2)}`);
  return `${at}${whose}${value} ± ${short(std, 2)}${unitAfter(field)} (one standard deviation${widths.join("")})`;
}

// `described` are the names, words and units of the quantities, if the model has any.
function showQuantities(described, answers) {
  if (!described) return;
  const all = answers.map((answer) => answer.quantities), { words, units, learned } = described, twice = all.length > 1, bar = (one) => (one ? withBar(one.value, one.std) : "-");
  const difference = (k) => (all.every(Boolean) ? short(all[1][k].value - all[0][k].value) : "-");
  const rows = words.map((name, k) => {
    const head = `<th scope="row">${escaped(titled({ name, unit: units[k] }))}${learned[k] ? " *" : ""}</th>`;
    return `<tr>${head}${all.map((one) => `<td>${bar(one?.[k])}</td>`).join("")}${twice ? `<td>${difference(k)}</td>` : ""}</tr>`;
  });
  $("quantities").innerHTML = `${twice ? '<thead><tr><td></td><th scope="col">A</th><th scope="col">B</th><th scope="col">B - A</th></tr></thead>' : ""}<tbody>${rows.join("")}</tbody>`;
  $("quantities-note").textContent = all.find(Boolean)?.[0].std === null ? "Calibrate the model for bars of these." : `± one standard deviation of the model's error.${learned.some(Boolean) ? " * learned as a number, which errs less on runs left out than what is read off the field." : ""}`;
}
