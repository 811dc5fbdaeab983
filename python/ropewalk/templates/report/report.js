"use strict";
// Draws the plots when they come into view; filters; themes. Needs Plotly and the JSON of the page, and no network.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const Plot = window.Plotly || window.moduleName;
  const drawn = new Set();
  const state = { hidden: new Set(), off: new Map() };

  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

  // "@ink" and the like stand for what the theme has.
  const paint = (value) => {
    if (typeof value === "string") return value.startsWith("@") ? colour(value.slice(1)) : value;
    if (Array.isArray(value)) return value.map(paint);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, paint(inner)]));
    }
    return value;
  };

  // Each level has a tick; of a long name begin and end are shown.
  const short = (name, most) => {
    const letters = [...String(name)];
    const half = (most - 1) >> 1;
    return letters.length <= most ? String(name) : [...letters.slice(0, most - 1 - half), "…", ...letters.slice(-half)].join("");
  };

  const levels = (given, most) => (given.categoryarray
    ? { tickmode: "array", tickvals: given.categoryarray, ticktext: given.categoryarray.map((name) => short(name, most)) }
    : { tickmode: "linear", dtick: 1 });

  const axis = (given, narrow, few) => ({
    gridcolor: colour("grid"), linecolor: colour("quiet"), automargin: true, ...given,
    title: given.title ? { ...given.title, standoff: 6, font: { size: 12 } } : undefined,
    // An axis of numbers needs only some ticks; one of levels names each.
    nticks: few && given.type !== "category" ? 5 : undefined,
    ...(given.type === "category" ? levels(given, narrow ? 14 : 48) : {}),
  });

  const traces = (index) => {
    const off = state.off.get(index) || new Set();
    return data.plots[index].data.map((trace, place) => {
      const shown = paint(trace);
      const meta = trace.meta;
      if (off.has(place) || (meta.case && state.hidden.has(meta.case))) shown.visible = false;
      if (meta.cases) {
        shown.z = trace.z.map((row, y) => row.map((v, x) => (state.hidden.has(meta.cases[y][x]) ? null : v)));
      }
      return shown;
    });
  };

  const layout = (index, width) => {
    const given = paint(data.plots[index].layout);
    const narrow = width < 480;
    const made = {
      ...given,
      autosize: true,
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      showlegend: false,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 8, r: 8, t: 8, b: 8, pad: 2 },
      font: { family: "system-ui, DejaVu Sans, sans-serif", size: 12, color: colour("ink") },
      hoverlabel: { bgcolor: colour("plot-hover"), bordercolor: colour("quiet"), font: { color: colour("ink") } },
      annotations: given.annotations.filter((note) => !state.hidden.has(note.name)),
      transition: { duration: 0 },
    };
    if (narrow && data.plots[index].cells) {
      for (const note of made.annotations) {
        note.text = note.text.replace(/ ± [^<]*/, "");
        note.font = { ...note.font, size: 10 };
      }
    }
    for (const key of ["xaxis", "yaxis", "yaxis2"]) if (made[key]) made[key] = axis(made[key], narrow, narrow && key === "xaxis");
    return made;
  };

  const config = { displayModeBar: false, responsive: true, showTips: false };

  const draw = (canvas) => {
    const index = Number(canvas.dataset.plot);
    drawn.add(canvas);
    return Plot.react(canvas, traces(index), layout(index, canvas.clientWidth), config)
      .then(() => { canvas.dataset.drawn = "true"; });
  };

  const redraw = () => {
    for (const canvas of drawn) {
      if (canvas.offsetParent === null) {
        Plot.purge(canvas);
        delete canvas.dataset.drawn;
        drawn.delete(canvas);
        observer.unobserve(canvas);
        observer.observe(canvas);
      } else {
        draw(canvas);
      }
    }
  };

  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting && !drawn.has(target)) draw(target);
    }
  }, { rootMargin: "300px" });

  const DASHES = { solid: "", dash: "6 4", dot: "2 3", dashdot: "6 3 2 3", longdash: "9 4" };
  // As plotly draws them on areas.
  const PATTERNS = {
    "/": "M4 9l6-8M10 9l6-8M16 9l6-8",
    x: "M5 1l7 8M14 1l7 8M12 1l-7 8M21 1l-7 8",
    ".": "M7 3h.01M13 3h.01M19 3h.01M10 7h.01M16 7h.01",
  };
  const SYMBOLS = { circle: "●", square: "■", diamond: "◆", "triangle-up": "▲", cross: "✚", x: "✖" };

  const svg = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  const swatch = ({ colour: tone, shape }) => {
    const tint = tone.startsWith("@") ? `var(--${tone.slice(1)})` : tone;
    if (SYMBOLS[shape]) {
      const made = document.createElement("span");
      made.textContent = `${SYMBOLS[shape]} `;
      made.style.color = tint;
      made.setAttribute("aria-hidden", "true");
      return made;
    }
    const made = svg("svg", { width: 26, height: 10, "aria-hidden": "true" });
    if (shape.startsWith("area")) {
      made.append(svg("rect", { x: 3, width: 20, height: 10, style: `fill:${tint}` }));
      const pattern = PATTERNS[shape.slice("area".length)];
      if (pattern) made.append(svg("path", { d: pattern, stroke: "#fff", "stroke-width": 1.6, "stroke-linecap": "round" }));
    } else {
      made.append(svg("line", { x1: 0, x2: 26, y1: 5, y2: 5, "stroke-width": 2.5, "stroke-dasharray": DASHES[shape] || "", style: `stroke:${tint}` }));
    }
    return made;
  };

  // Legends are buttons beside the data: reachable by keyboard, and never on top of a curve.
  const legend = (list) => {
    const index = Number(list.dataset.legend);
    for (const entry of data.plots[index].legend) {
      const item = document.createElement("li");
      const owned = entry.traces || [];
      const holder = document.createElement(owned.length ? "button" : "span");
      holder.append(swatch(entry), entry.name);
      if (owned.length) {
        holder.type = "button";
        holder.setAttribute("aria-pressed", "true");
        holder.title = "show or hide";
        holder.addEventListener("click", () => {
          const off = state.off.get(index) || new Set();
          const hide = holder.getAttribute("aria-pressed") === "true";
          for (const trace of owned) hide ? off.add(trace) : off.delete(trace);
          state.off.set(index, off);
          holder.setAttribute("aria-pressed", String(!hide));
          draw(list.closest("figure").querySelector(".canvas"));
        });
      }
      item.append(holder);
      list.append(item);
    }
  };

  const MAX_ROWS = 400;

  const rowsOf = (trace) => {
    if (trace.type === "heatmap") {
      return trace.text.flatMap((row, y) => row.map((text, x) => [trace.y[y], trace.x[x], trace.z[y][x] === null ? "" : text])).filter((row) => row[2]);
    }
    if (trace.type === "box") {
      return [[trace.name, ...["lowerfence", "q1", "median", "q3", "upperfence"].map((key) => trace[key][0])]];
    }
    const x = trace.x || trace.y.map((_, k) => +(trace.x0 + k * trace.dx).toPrecision(6));
    return trace.y.map((y, k) => [trace.name, x[k], trace.text ? trace.text[k] : y]).filter((row) => row[1] !== null);
  };

  const HEADINGS = {
    heatmap: (plot) => [plot.layout.yaxis.title.text, plot.layout.xaxis.title.text, "value"],
    box: () => ["case", "lower whisker", "25 %", "median", "75 %", "upper whisker"],
    scatter: (plot) => ["what", plot.layout.xaxis.title.text, plot.layout.yaxis.title.text],
  };

  const values = (figure, button) => {
    const place = figure.querySelector(".values");
    const open = place.hidden;
    place.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (!open) return;
    const index = Number(figure.querySelector(".canvas").dataset.plot);
    const plot = data.plots[index];
    const seen = traces(index).filter((trace) => trace.visible !== false && trace.hoverinfo !== "skip");
    const rows = seen.flatMap(rowsOf);
    const table = document.createElement("table");
    const cells = (tag, texts) => {
      const row = document.createElement("tr");
      for (const text of texts) {
        const cell = document.createElement(tag);
        cell.textContent = text === null ? "" : text;
        if (typeof text === "number") cell.className = "number";
        row.append(cell);
      }
      return row;
    };
    const head = document.createElement("thead");
    head.append(cells("th", HEADINGS[seen.length ? seen[0].type : "scatter"](plot)));
    const body = document.createElement("tbody");
    for (const row of rows.slice(0, MAX_ROWS)) body.append(cells("td", row));
    table.append(head, body);
    place.replaceChildren(table);
    if (rows.length > MAX_ROWS) {
      const note = document.createElement("p");
      note.textContent = `The first ${MAX_ROWS} of ${rows.length} values; ropewalk export writes all.`;
      place.prepend(note);
    }
  };

  const act = {
    values,
    reset: (figure) => {
      const canvas = figure.querySelector(".canvas");
      Plot.purge(canvas);
      draw(canvas);
    },
    image: (figure) => {
      const canvas = figure.querySelector(".canvas");
      Plot.downloadImage(canvas, { format: "svg", width: canvas.clientWidth, height: canvas.clientHeight, filename: figure.id });
    },
  };

  // Filters: levels of factors, the metric, the case of the plots over time, verdicts.
  const filter = () => {
    const unwanted = all("input[data-factor]:not(:checked)");
    state.hidden = new Set(
      Object.entries(data.cases)
        .filter(([, levels]) => unwanted.some((box) => levels[box.dataset.factor] === box.value))
        .map(([name]) => name),
    );
    const metric = document.getElementById("metric");
    const verdict = document.getElementById("verdict");
    for (const part of all("[data-metric]")) part.hidden = metric !== null && part.dataset.metric !== metric.value;
    let shown = 0;
    const tally = {};
    for (const row of all("tr[data-case]")) {
      const other = metric !== null && row.dataset.of !== undefined && row.dataset.of !== metric.value;
      const kind = verdict !== null && verdict.value !== "" && row.dataset.verdict !== verdict.value;
      row.hidden = other || kind || state.hidden.has(row.dataset.case);
      shown += row.hidden ? 0 : 1;
      if (!row.hidden) tally[row.dataset.verdict] = (tally[row.dataset.verdict] || 0) + 1;
    }
    for (const number of all("[data-tally]")) number.textContent = tally[number.dataset.tally] || 0;
    const status = document.getElementById("status");
    if (status) {
      const total = Object.keys(data.cases).length;
      const cases = total ? `${total - state.hidden.size} of ${total} cases, ` : "";
      status.textContent = `${cases}${shown} verdict${shown === 1 ? "" : "s"} shown`;
    }
    redraw();
  };

  const chooseCase = (select) => {
    for (const part of all("[data-of-case]")) part.hidden = part.dataset.ofCase !== select.value;
    redraw();
  };

  const theme = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const name = () => { theme.textContent = isDark() ? "Light colours" : "Dark colours"; };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { name(); redraw(); });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-act]");
    if (button) act[button.dataset.act](button.closest("figure"), button);
  });
  for (const box of all("input[data-factor], #metric, #verdict")) box.addEventListener("change", filter);
  const clear = document.getElementById("clear");
  if (clear) {
    clear.addEventListener("click", () => {
      for (const box of all("input[data-factor]")) box.checked = true;
      const verdict = document.getElementById("verdict");
      if (verdict) verdict.value = "";
      filter();
    });
  }
  const select = document.getElementById("case");
  if (select) select.addEventListener("change", () => chooseCase(select));
  // A page that is printed has all its plots.
  addEventListener("beforeprint", () => { for (const canvas of all(".canvas")) if (canvas.offsetParent !== null) draw(canvas); });

  name();
  for (const list of all("[data-legend]")) legend(list);
  filter();
  if (select) chooseCase(select);
  for (const canvas of all(".canvas[data-plot]")) observer.observe(canvas);
  root.dataset.ready = "true";
})();
