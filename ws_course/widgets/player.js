// Plays a timeline. Everything it shows is in `data`, which player.py makes; nothing is asked of a kernel.
// As a widget, `render` is called; in a page, `mountAll` puts a player into every place that waits for it.

const ROW = 21, BAR = 16, WAIT_BAR = 9, ROLE_GAP = 8, BLOCK_GAP = 14, BLOCK_NAME = 22, TOP = 12, AXIS = 36;
const ACROSS = 12; // seconds in which the cursor crosses what is visible, at speed 1
const STEP_PAUSE = 900; // milliseconds between steps where the reader wants no motion
const ICONS = {
  play: "M4 2.5v11l9.5-5.5z",
  pause: "M3.5 2.5h3.2v11H3.5zM9.3 2.5h3.2v11H9.3z",
  back: "M11.5 2.8v10.4L4.5 8z",
  forward: "M4.5 2.8v10.4L11.5 8z",
  tileBack: "M2.6 2.8h1.8v10.4H2.6zM13 2.8v10.4L5.6 8z",
  tileForward: "M11.6 2.8h1.8v10.4h-1.8zM3 2.8v10.4L10.4 8z",
  zoomOut: "M3 7.1h10v1.8H3z",
  zoomIn: "M7.1 3h1.8v4.1H13v1.8H8.9V13H7.1V8.9H3V7.1h4.1z",
};

function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// The last index whose time, as `at` reads it, is not after `time`; -1 if all are.
function lastBefore(list, time, at = (entry) => entry) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(list[middle]) <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), Math.max(low, high));
}

// "3", "1–4" for neighbours, or "1, 3, 6".
function numbers(warps) {
  const together = warps.length > 2 && warps.at(-1) - warps[0] === warps.length - 1;
  return together ? `${warps[0]}–${warps.at(-1)}` : warps.join(", ");
}

// A step of 1, 2 or 5 times a power of ten that is at least `least`.
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}

function moment(data, time) {
  return data.unit === "tick" ? `tick ${time}` : `${time} ${data.unit}`;
}

// ---- what is true at a time

// The spans of a row at this time, each [work, start, end, item, name], the last one started first. There may be
// several: in a model the loads into all slots, which speakers() puts together.
function spansAt(row, time) {
  const found = [], last = lastBefore(row.spans, time, (span) => span[1]);
  for (let i = last; i >= 0 && i > last - 16; --i) if (row.spans[i][2] > time) found.push(row.spans[i]);
  return found;
}

// What a warp does, as words for one warp and for several.
function doing(data, row, time) {
  const spans = spansAt(row, time);
  if (spans.length) {
    const phrases = [...new Set(spans.map((span) => span[0]))].map((work) => {
      const mine = spans.filter((span) => span[0] === work), items = mine.map((span) => span[3]).filter((item) => item >= 0);
      const tiles = items.length ? `${items.length > 1 ? "tiles" : "tile"} ${numbers(items.sort((a, b) => a - b))}` : "";
      const name = mine[0][4], what = work === "wait" && name ? (name.startsWith("(") ? name : `at ${name}`) : tiles;
      return data.works[work].verbs.map((verb) => `${verb} ${what}`.trim());
    });
    return [0, 1].map((several) => phrases.map((phrase) => phrase[several]).join(" and "));
  }
  if (time < row.spans[0][1])
    return data.piece ? ["has nothing in this piece yet", "have nothing in this piece yet"] : ["has not begun", "have not begun"];
  if (time < row.spans.at(-1)[1]) return ["is between two jobs", "are between two jobs"];
  return data.piece ? ["has nothing more in this piece", "have nothing more in this piece"] : ["has finished", "have finished"];
}

// Who is spoken of: every warp. In a model a row is no warp; there it is the role, with all that its rows do.
function speakers(data) {
  if (!data.modelled) return data.rows;
  const found = [];
  for (const row of data.rows) {
    const same = found.find((other) => other.block === row.block && other.role === row.role);
    if (same) same.spans = [...same.spans, ...row.spans].sort((a, b) => a[1] - b[1]);
    else found.push({ ...row });
  }
  return found;
}

function sentence(data, who, time) {
  const several = new Set(data.rows.map((row) => row.block)).size > 1;
  const groups = [];
  for (const row of who) {
    const words = doing(data, row, time);
    const same = groups.find((g) => g.block === row.block && g.role === row.role && g.words[0] === words[0]);
    if (same) same.warps.push(row.warp);
    else groups.push({ block: row.block, role: row.role, words, warps: [row.warp] });
  }
  const phrases = groups.map(({ block, role, words, warps }) => {
    const many = warps.length > 1 ? 1 : 0;
    const name = [several && `block ${block}`, role !== "every role" && role, !data.modelled && `${["warp", "warps"][many]} ${numbers(warps)}`];
    return [...name.filter(Boolean), words[many]].join(" ");
  });
  return `at ${moment(data, time)}: ${phrases.join("; ")}`;
}

function slotAt(history, time) {
  const [, state, item, full, empty] = history[Math.max(0, lastBefore(history, time, (entry) => entry[0]))];
  return { state, item, full, empty };
}

// ---- the parts of the page

function swatch(fill) {
  return drawn("svg", { class: "swatch", "aria-hidden": "true" }, drawn("rect", { width: "100%", height: "100%", fill }));
}

// Pixels for the names of the rows: the longest role beside the number of a warp.
function gutterFor(data) {
  return Math.ceil(7.2 * Math.max(...data.rows.map((row) => row.role.length))) + 92;
}

// The timeline: rows of spans in an SVG. `place(time)` moves the cursor, `view` is the visible part of the time.
function makePlot(data, gutter) {
  const hatch = `ws-player-hatch-${Math.random().toString(36).slice(2)}`;
  const fill = (work) => (data.works[work].hatched ? `url(#${hatch})` : `var(--${work})`);
  const pattern = drawn(
    "pattern", { id: hatch, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    drawn("rect", { width: 6, height: 6, style: "fill: var(--waiting)" }),
    drawn("rect", { width: 1.4, height: 6, style: "fill: var(--stripe)" }),
  );
  const blocks = new Set(data.rows.map((row) => row.block)).size;
  const names = drawn("g"), content = drawn("g"), lamps = [], middles = [];
  let y = TOP, previous = null;
  for (const row of data.rows) {
    const newBlock = previous?.block !== row.block, newRole = newBlock || previous.role !== row.role;
    if (previous) y += newBlock ? BLOCK_GAP : newRole ? ROLE_GAP : 0;
    if (newBlock && blocks > 1) {
      names.append(drawn("text", { class: "block", x: 0, y: y + 13 }, `block ${row.block}`));
      y += BLOCK_NAME;
    }
    const middle = y + ROW / 2;
    if (newRole) names.append(drawn("text", { class: "role", x: 0, y: middle + 4 }, row.role));
    names.append(drawn("text", { class: "warp", x: gutter - 30, y: middle + 4, "text-anchor": "end" }, row.name));
    const lamp = drawn("rect", { x: gutter - 22, y: middle - 5, width: 10, height: 10, rx: 2, class: "lamp" });
    names.append(lamp);
    lamps.push(lamp);
    middles.push(middle);
    y += ROW;
    previous = row;
  }
  const bottom = y + 4, height = bottom + AXIS;
  const clip = `${hatch}-clip`, window_ = drawn("rect", { x: gutter - 1, y: 0, height });
  const later = drawn("rect", { class: "later", y: TOP - 4, height: bottom - TOP + 4 });
  const cursor = drawn("line", { class: "cursor", y1: 7, y2: bottom });
  const handle = drawn("path", { class: "handle" });
  const axis = drawn("text", { class: "axis", x: gutter, y: bottom + 31 }, data.axis);
  const svg = drawn(
    "svg", {
      class: "plot", height, role: "img",
      "aria-label": `${data.title}: ${data.rows.length} rows. ${data.label}`,
    },
    drawn("defs", {}, pattern, drawn("clipPath", { id: clip }, window_)),
    names, drawn("g", { "clip-path": `url(#${clip})` }, content, later, cursor), handle, axis,
  );

  let bars = [], lit = [], scale = 1, width = 100, view = null;
  const all = data.end - data.start || 1;

  function drawAll() {
    content.replaceChildren();
    const step = niceStep(92 / scale);
    // A number at an end of the time stays inside.
    const anchor = (x) => (x < 10 ? "start" : x > all * scale - 14 ? "end" : "middle");
    for (let t = Math.ceil(data.start / step) * step; t <= data.end; t += step) {
      const x = (t - data.start) * scale;
      content.append(drawn("line", { class: "grid", x1: x, x2: x, y1: TOP - 2, y2: bottom }));
      content.append(drawn("text", { class: "tick", x: x, y: bottom + 14, "text-anchor": anchor(x) }, String(t)));
    }
    bars = data.rows.map((row, i) => row.spans.map(([work, start, end, item, name]) => {
      const high = work === "wait" ? WAIT_BAR : BAR, middle = middles[i], x = (start - data.start) * scale;
      const wide = Math.max((end - start) * scale, 1);
      const { letter, text } = data.works[work];
      const bar = drawn("rect", { class: "span", x, y: middle - high / 2, width: wide, height: high, rx: 2, fill: fill(work) });
      bar.append(drawn("title", {}, `${work} ${work === "wait" ? name : item >= 0 ? `tile ${item}` : ""} ${start}–${end}`));
      content.append(bar);
      const words = `${letter}${item}`;
      if (letter && item >= 0 && wide > 6.5 * words.length + 4)
        content.append(drawn("text", { class: "number", x: x + wide / 2, y: middle + 4, style: `fill: ${text}` }, words));
      return bar;
    }));
    lit = data.rows.map(() => []);
  }

  return {
    svg,
    // The time under a pointer.
    timeAt: (clientX) => {
      const x = clientX - svg.getBoundingClientRect().left - gutter;
      return view.start + (clamp(x, 0, width) / width) * view.span;
    },
    // Show a part of the time in the width that there is.
    look(next) {
      const room = Math.max(svg.clientWidth - gutter - 8, 120);
      if (!view || room !== width || next.span !== view.span) {
        width = room;
        scale = width / next.span;
        window_.setAttribute("width", width + 9);
        drawAll();
      }
      view = { ...next };
      content.setAttribute("transform", `translate(${gutter - (view.start - data.start) * scale} 0)`);
    },
    place(time) {
      const x = gutter + (time - view.start) * scale;
      later.setAttribute("x", x);
      later.setAttribute("width", Math.max(0, gutter + (data.start + all - view.start) * scale - x + 2));
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      const inside = x >= gutter - 1 && x <= gutter + width + 1;
      handle.setAttribute("d", inside ? `M${x - 5} 1h10v3l-5 6-5-6z` : "");
      data.rows.forEach((row, i) => {
        const spans = spansAt(row, time), now = spans.map((span) => bars[i][row.spans.indexOf(span)]);
        if (now.length && now.length === lit[i].length && now.every((bar, n) => bar === lit[i][n])) return;
        for (const bar of lit[i]) bar.classList.remove("now");
        for (const bar of now) bar.classList.add("now");
        lit[i] = now;
        lamps[i].setAttribute("fill", now.length ? fill(spans[0][0]) : "none");
        lamps[i].setAttribute("stroke", now.length ? "none" : "var(--rule)");
      });
    },
  };
}

// One box for every slot of a block's ring, with its two barriers.
function makeRing(data, ring, several, first) {
  const bit = () => element("span", { class: "bit" });
  const slots = ring.slots.map((history, slot) => {
    const words = element("span", { class: "what" }), tile = element("span", { class: "tile" });
    const box = element("div", { class: "box" }, element("div", { class: "chip" }, words, tile));
    const barrier = (name) => {
      const phase = element("span", { class: "phase" }), parity = bit();
      const line = element("div", { class: "barrier", "data-barrier": name }, element("span", { class: "object" }, `${name}[${slot}]`), phase, parity);
      return { line, phase, parity, shown: undefined };
    };
    const full = barrier("full"), empty = barrier("empty");
    const node = element(
      "div", { class: "slot", role: "listitem" }, element("div", { class: "place" }, `slot ${slot}`), box, full.line, empty.line,
    );
    return { history, node, box, words, tile, full, empty };
  });
  const count = `${slots.length} ${slots.length === 1 ? "slot" : "slots"}`;
  const name = several ? `Ring of block ${ring.block}` : "Ring";
  const node = element(
    "div", { class: "ring" },
    element("div", { class: "name" }, `${name} `, element("small", {}, first ? `${count} · the parity of a barrier is the last bit of its phase` : count)),
    element("div", { class: "slots", role: "list", "aria-label": `${name}, ${count}` }, ...slots.map((slot) => slot.node)),
  );

  function setBarrier(barrier, phase) {
    if (barrier.shown === phase) return;
    const known = phase !== null;
    barrier.phase.textContent = `phase ${known ? phase : "?"} · parity`;
    barrier.parity.textContent = known ? phase & 1 : "?";
    barrier.parity.dataset.parity = known ? phase & 1 : "?";
    barrier.parity.classList.remove("flipped");
    if (typeof barrier.shown === "number" && known) {
      void barrier.parity.offsetWidth; // without this the animation would not start again
      barrier.parity.classList.add("flipped");
    }
    barrier.shown = phase;
  }

  return {
    node,
    place(time) {
      for (const slot of slots) {
        const { state, item, full, empty } = slotAt(slot.history, time);
        const { colour, text, hatched, words } = data.states[state];
        slot.node.dataset.state = state;
        slot.words.textContent = words;
        slot.tile.textContent = item >= 0 ? `tile ${item}` : "";
        slot.box.classList.toggle("hatched", hatched);
        slot.box.style.setProperty("--fill", colour);
        slot.box.style.setProperty("--text", text);
        const known = state !== "unknown";
        setBarrier(slot.full, known ? full : null);
        setBarrier(slot.empty, known ? empty : null);
      }
    },
  };
}

function makeButton(icon, label, keys, act) {
  const path = drawn("path", { d: ICONS[icon] });
  const button = element(
    "button", { type: "button", "aria-label": label, title: `${label} (${keys})` },
    drawn("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, path),
  );
  button.addEventListener("click", act);
  return { button, draw: (other) => path.setAttribute("d", ICONS[other]) };
}

// ---- the player

function mount(place, data) {
  const all = Math.max(data.end - data.start, 1);
  const several = new Set(data.rows.map((row) => row.block)).size > 1;
  const moments = [...new Set([
    data.start, data.end,
    ...data.rows.flatMap((row) => row.spans.flatMap((span) => [span[1], span[2]])),
    ...data.rings.flatMap((ring) => ring.slots.flatMap((history) => history.map((entry) => entry[0]))),
  ])].sort((a, b) => a - b);
  const deepest = clamp(moments.length / 8, 1, 256);
  const who = speakers(data);
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

  let reserved = 0; // pixels that the longest sentence so far has taken
  const state = { time: data.start, playing: false, speed: 1, start: data.start, span: all };

  const gutter = gutterFor(data), plot = makePlot(data, gutter);
  const rings = data.rings.map((ring, i) => makeRing(data, ring, several, i === 0));
  const slider = element("input", {
    type: "range", min: data.start, max: data.end, step: 1, value: data.start, "aria-label": "moment of the timeline",
  });
  const seen = element("div");
  const words = element("p", { class: "sentence", role: "status", "aria-live": "polite" });
  const clock = element("span", { class: "clock", "aria-hidden": "true" });
  const speed = element(
    "select", { "aria-label": "speed", title: "speed" },
    ...[0.25, 0.5, 1, 2, 4].map((value) => element("option", { value, ...(value === 1 && { selected: "" }) }, `${value}×`)),
  );
  const play = makeButton("play", "play", "space", () => (state.playing ? pause() : start()));
  play.button.classList.add("play");
  const tileBack = makeButton("tileBack", "previous tile", "shift+←", () => jump(data.tiles, -1));
  const back = makeButton("back", "previous event", "←", () => jump(moments, -1));
  const forward = makeButton("forward", "next event", "→", () => jump(moments, 1));
  const tileForward = makeButton("tileForward", "next tile", "shift+→", () => jump(data.tiles, 1));
  const zoomOut = makeButton("zoomOut", "zoom out", "−", () => zoom(0.5));
  const zoomIn = makeButton("zoomIn", "zoom in", "+", () => zoom(2));
  const root = element(
    "div", {
      class: "ws-player", role: "group", tabindex: 0, "aria-label": `Timeline player: ${data.title}. ${data.label}`,
      "data-lm-suppress-shortcuts": "true", // the keys are for the player, not for the notebook around it
    },
    element(
      "div", { class: "head" }, element("div", { class: "title" }, data.title, element("small", {}, data.piece)),
      element("div", { class: "legend" }, ...Object.keys(data.works).map((work) => element(
        "span", {}, swatch(data.works[work].hatched ? "var(--waiting)" : `var(--${work})`), work,
      ))),
    ),
    plot.svg,
    element("div", { class: "scrub", style: `margin-left: ${gutter - 8}px` }, slider, element("div", { class: "window" }, seen)),
    element(
      "div", { class: "controls" }, tileBack.button, back.button, play.button, forward.button, tileForward.button,
      element("span", { class: "apart" }), zoomOut.button, zoomIn.button, element("span", { class: "apart" }), speed, clock,
    ),
    words,
    ...rings.map((ring) => ring.node),
    element(
      "div", { class: "foot" }, element("span", { class: "note" }, data.note),
      element("span", { class: "label" }, data.label),
    ),
  );
  for (const [name, colour] of Object.entries(data.page)) root.style.setProperty(`--given-${name}`, colour);
  for (const [work, { colour }] of Object.entries(data.works)) root.style.setProperty(`--${work}`, colour);

  function show() {
    state.span = clamp(state.span, all / deepest, all);
    state.start = clamp(state.start, data.start, data.end - state.span);
    plot.look(state);
    plot.place(state.time);
    // While it plays, what is said belongs to the last event, so it changes when something happens.
    const at = state.playing ? moments[lastBefore(moments, state.time)] : Math.round(state.time);
    const said = sentence(data, who, at);
    if (words.textContent !== said) {
      words.textContent = said;
      // It grows and does not shrink: what is below stays where it is.
      if (words.offsetHeight > reserved) words.style.minHeight = `${(reserved = words.offsetHeight)}px`;
    }
    rings.forEach((ring) => ring.place(at));
    slider.value = state.time;
    slider.setAttribute("aria-valuetext", moment(data, Math.round(state.time)));
    const [number, unit] = [Math.round(state.time), data.unit];
    clock.replaceChildren(...(unit === "tick" ? [element("small", {}, "tick "), `${number}`] : [`${number} `, element("small", {}, unit)]));
    root.classList.toggle("zoomed", state.span < all);
    seen.style.left = `${(100 * (state.start - data.start)) / all}%`;
    seen.style.width = `${(100 * state.span) / all}%`;
    zoomOut.button.disabled = state.span >= all;
    zoomIn.button.disabled = state.span <= (all / deepest) * 1.001;
  }

  // Keep the cursor in sight: at the given share of the window once it leaves the middle.
  function follow(share) {
    const at = (state.time - state.start) / state.span;
    if (at < 0.02 || at > Math.max(share, 0.9)) state.start = state.time - share * state.span;
  }

  function go(time) {
    state.time = clamp(time, data.start, data.end);
    follow(0.3);
    show();
  }

  function jump(list, direction) {
    pause();
    const before = lastBefore(list, state.time);
    if (direction > 0) go(list[before + 1] ?? data.end);
    else go((list[before] < state.time ? list[before] : list[before - 1]) ?? data.start);
  }

  function zoom(factor, around = state.time) {
    const share = clamp((around - state.start) / state.span, 0, 1);
    state.span = clamp(state.span / factor, all / deepest, all);
    state.start = around - share * state.span;
    show();
  }

  let waiting = null, last = 0;

  function start() {
    if (state.time >= data.end) state.time = state.start = data.start;
    state.playing = true;
    words.setAttribute("aria-live", "off"); // too fast to be read out
    play.draw("pause");
    play.button.setAttribute("aria-label", "pause");
    last = performance.now();
    next();
  }

  function pause() {
    if (!state.playing) return;
    state.playing = false;
    cancelAnimationFrame(waiting);
    clearTimeout(waiting);
    words.setAttribute("aria-live", "polite");
    play.draw("play");
    play.button.setAttribute("aria-label", "play");
    state.time = Math.round(state.time);
    show();
  }

  function next() {
    if (!root.isConnected) return pause();
    if (state.time >= data.end) return pause();
    if (calm.matches) {
      waiting = setTimeout(() => {
        if (!state.playing) return;
        state.time = moments[lastBefore(moments, state.time) + 1] ?? data.end;
        follow(0.3);
        show();
        next();
      }, STEP_PAUSE / state.speed);
      return;
    }
    waiting = requestAnimationFrame((now) => {
      if (!state.playing) return;
      // A tab that was in the background does not leap.
      state.time = Math.min(data.end, state.time + (Math.min(now - last, 100) / 1000 / ACROSS) * state.speed * state.span);
      last = now;
      const ahead = state.start + 0.6 * state.span;
      if (state.time > ahead) state.start += state.time - ahead;
      follow(0.6);
      show();
      next();
    });
  }

  const keys = {
    " ": () => (state.playing ? pause() : start()),
    ArrowRight: (event) => jump(event.shiftKey ? data.tiles : moments, 1),
    ArrowLeft: (event) => jump(event.shiftKey ? data.tiles : moments, -1),
    Home: () => (pause(), go(data.start)),
    End: () => (pause(), go(data.end)),
    "+": () => zoom(2),
    "=": () => zoom(2), // + without shift on many keyboards
    "-": () => zoom(0.5),
    "−": () => zoom(0.5),
  };
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === speed) return;
    if (event.key === " " && event.target.tagName === "BUTTON") return; // it presses the button
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act(event);
  });
  slider.addEventListener("input", () => (pause(), go(Number(slider.value))));
  speed.addEventListener("change", () => (state.speed = Number(speed.value)));
  plot.svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pause();
    plot.svg.setPointerCapture(event.pointerId);
    state.time = Math.round(plot.timeAt(event.clientX));
    show();
  });
  plot.svg.addEventListener("pointermove", (event) => {
    if (!plot.svg.hasPointerCapture(event.pointerId)) return;
    state.time = Math.round(plot.timeAt(event.clientX));
    show();
  });
  plot.svg.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(2 ** (-event.deltaY / 200), plot.timeAt(event.clientX));
    } else if (state.span < all && (event.deltaX || event.shiftKey)) {
      event.preventDefault();
      state.start += ((event.deltaX || event.deltaY) / plot.svg.clientWidth) * state.span;
      show();
    }
  }, { passive: false });

  place.replaceChildren(root);
  const resized = new ResizeObserver(() => plot.svg.clientWidth && show());
  resized.observe(root);
  show();
  return () => {
    pause();
    resized.disconnect();
    root.remove();
  };
}

// In a page: once for every output with this name, also where an output is shown twice.
function mountAll(name, data) {
  for (const place of document.querySelectorAll(`.ws-player-place[data-player="${name}"]`)) {
    if (place.dataset.mounted) continue;
    place.dataset.mounted = "true";
    mount(place, data);
  }
}

function render({ model, el }) {
  let unmount = mount(el, model.get("data"));
  const again = () => {
    unmount();
    unmount = mount(el, model.get("data"));
  };
  model.on("change:data", again);
  return () => {
    model.off("change:data", again);
    unmount();
  };
}

export default { render };
