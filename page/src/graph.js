// The graph as it is at a moment: nodes and folded groups, laid out by dagre, moved and zoomed by d3; states by colour and by shape.

import dagre from "@dagrejs/dagre";
import { select } from "d3-selection";
import { zoom, zoomIdentity, zoomTransform } from "d3-zoom";
import { drawn, openGroups, treeOf } from "./fold.js";
import { MARKS, STATES } from "./model.js";
import { bytes, el, plural, shape, show, svg } from "./text.js";

const LINE = 15;
const WORDS = { live: "saved, live", freed: "saved, freed", pinned: "pinned", modified: "modified in place", recomputed: "recomputed by a checkpoint", packed: "packed by a hook", none: "saves nothing" };

export class GraphView {
  constructor(app) {
    this.app = app;
    this.asked = new Set();
    this.closed = new Set();
    this.by = "";
    this.layouts = new Map();
    this.canvas = svg("g");
    this.picture = svg("svg", { class: "graph", role: "group", "aria-label": "graph: left and right go from node to node, up and down along an edge; Enter tells everything of a node, or opens a group", onkeydown: (event) => this.onArrow(event) }, this.canvas);
    this.popup = el("div", { class: "popup", hidden: true, role: "tooltip" });
    this.foldBy = el("select", { "aria-label": "fold by", onchange: () => { this.by = this.foldBy.value; this.refit = true; app.refresh(); } },
      [["", "fold: as fits"], ["module", "by module"], ["function", "by function and loop"], ["line", "by line"], ["none", "no folding"]].map(([value, words]) => el("option", { value }, words)));
    this.search = el("input", { type: "search", placeholder: "find a node (/)", "aria-label": "find a node by operation, name, module or line", oninput: () => app.refresh(), onkeydown: (event) => { if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1); } });
    this.found = el("span", { class: "found", role: "status" });
    this.empty = el("p", { class: "empty" }, "no graph at this moment");
    this.legend = el("ul", { class: "legend", "aria-label": "states" }, STATES.map((state) => el("li", { class: state }, el("span", { class: "sign" }, MARKS[state]), WORDS[state])));
    this.details = el("section", { class: "details", "aria-label": "details of the node", hidden: true });
    const button = (words, title, action) => el("button", { type: "button", title, "aria-label": title, onclick: action }, words);
    this.element = el("section", { class: "panel graph-panel", "aria-label": "graph" },
      el("h2", {}, "Graph "),
      el("div", { class: "tools" }, this.foldBy, this.search, this.found,
        button("+", "zoom in", () => this.zoomBy(1.4)), button("−", "zoom out", () => this.zoomBy(1 / 1.4)), button("fit", "fit the whole graph in", () => this.fit()),
        button("fold", "fold everything", () => { this.asked.clear(); this.closed.clear(); this.refit = true; app.refresh(); })),
      el("div", { class: "drawing" }, this.picture, this.empty, this.popup), this.legend, this.details);
    this.zoom = zoom().scaleExtent([0.05, 4]).on("zoom", (event) => this.canvas.setAttribute("transform", event.transform));
    select(this.picture).call(this.zoom).on("dblclick.zoom", null);
    new ResizeObserver(() => this.fit(true)).observe(this.picture);
  }

  zoomBy(factor) {
    this.zoom.scaleBy(select(this.picture), factor);
  }

  /** Show the whole graph; `legible`: no smaller than can be read. */
  fit(legible = false) {
    const { clientWidth: width, clientHeight: height } = this.picture;
    if (!this.layout || !width || !height) return;
    const whole = Math.min(1.2, width / (this.layout.width + 16), height / (this.layout.height + 16));
    const k = legible ? Math.max(whole, 0.75) : whole;
    const centre = (room, size) => Math.max(8, (room - size * k) / 2);
    this.zoom.transform(select(this.picture), zoomIdentity.translate(centre(width, this.layout.width), centre(height, this.layout.height)).scale(k));
  }

  /** On paper, be as high as the whole graph. */
  resize(printing) {
    const drawing = this.picture.parentElement;
    const k = Math.min(1, drawing.clientWidth / (this.layout.width + 16));
    drawing.style.height = printing ? `${Math.min(900, this.layout.height * k + 20)}px` : "";
    this.fit(!printing);
  }

  /** Move the picture so that a unit is in view. */
  follow(unit) {
    if (unit) this.bring(this.layout.at(unit.id));
  }

  bring({ x, y }) {
    if (!this.picture.clientWidth) return;
    const transform = zoomTransform(this.picture);
    const [left, top] = transform.apply([x, y]);
    const inside = left > 40 && left < this.picture.clientWidth - 40 && top > 24 && top < this.picture.clientHeight - 24;
    if (!inside) this.zoom.translateTo(select(this.picture), x, y);
  }

  /** The way of folding that suits a graph, unless one was chosen. */
  foldingOf(run, nodes) {
    if (this.by) return this.by;
    if (nodes.some((node) => node.module)) return "module";
    return nodes.some((node) => node.scope != null) ? "function" : nodes.length > 80 ? "line" : "none";
  }

  update(state) {
    const { run, step } = state;
    const nodes = run.alive(step);
    const by = this.foldingOf(run, nodes);
    const tree = treeOf(run, nodes, by);
    const open = openGroups(tree, this.asked, this.closed);
    const what = drawn(tree, open);
    const key = JSON.stringify([run.name, by, what.units.map((unit) => (unit.node ? unit.node.index : `${unit.group.key} ${unit.group.nodes.length}`)), what.frames.map((frame) => frame.group.key)]);
    const changed = key !== this.key;
    this.key = key;
    this.what = what;
    this.state = state;
    this.empty.hidden = nodes.length > 0;
    this.names = run.namesOf(step);
    this.layout = this.layOut(key, what, state);
    this.draw(state);
    if (changed || this.refit) this.fit(true);
    this.refit = false;
    const running = run.steps[step]?.kind === "node" ? run.steps[step].node : null;
    this.follow(what.unitOf.get(state.node ?? running ?? nodes.find((node) => node.line === state.line && (node.source ?? 0) === state.source)?.index));
    this.tell(state);
    this.lookFor(state);
  }

  /** Places for units and frames. */
  layOut(key, what, state) {
    const labels = what.units.map((unit) => this.labelOf(unit, state));
    const whole = `${key} ${labels.map((lines) => Math.max(...lines.map((line) => line.length))).join()}`;
    if (this.layouts.has(whole)) return this.layouts.get(whole);
    const graph = new dagre.graphlib.Graph({ compound: true });
    graph.setGraph({ rankdir: "TB", nodesep: 14, ranksep: what.frames.length ? 12 : 26, edgesep: 8, marginx: 8, marginy: what.frames.length ? 48 : 8, ranker: what.units.length > 150 ? "longest-path" : "network-simplex" });
    graph.setDefaultEdgeLabel(() => ({}));
    what.units.forEach((unit, index) => {
      const width = Math.max(...labels[index].map((line) => line.length)) * 6.7 + 26;
      graph.setNode(unit.id, { width: Math.max(64, width + (unit.node?.leaf ? 0 : 12)), height: labels[index].length * LINE + 12 });
    });
    for (const frame of what.frames) graph.setNode(frame.id, { label: frame.group.label });
    for (const one of [...what.units, ...what.frames]) if (one.parent) graph.setParent(one.id, one.parent.id);
    for (const [from, to] of what.edges) graph.setEdge(from.id, to.id);
    let found;
    try {
      if (what.units.length) dagre.layout(graph);
      const size = graph.graph();
      found = { width: Math.max(1, size.width ?? 1), height: Math.max(1, size.height ?? 1), at: (id) => graph.node(id), path: (from, to) => graph.edge(from, to)?.points ?? [] };
    } catch {
      found = rows(what, labels);
    }
    if (this.layouts.size > 60) this.layouts.clear();
    this.layouts.set(whole, found);
    return found;
  }

  labelOf(unit, { run, step }) {
    if (unit.group) {
      const { nodes, label } = unit.group;
      return [`▸ ${show(label, 40)}`, plural(nodes.length, "node") + this.savedWords(run, nodes, step)];
    }
    const { node } = unit;
    const names = this.names?.get(node.index) ?? run.namesOf(step).get(node.index) ?? [];
    const title = show(names.length ? names.slice(0, 2).join(", ") : "", 28);
    const where = node.line == null ? "" : ` · ${run.line(node.line, node.source)}`;
    const first = node.leaf ? (title || "a leaf") : node.name;
    return [show(first, 36), `${node.leaf || !title ? "" : `${title} `}${shape(node.shape)}${where}`];
  }

  savedWords(run, nodes, step) {
    let held = 0;
    for (const node of nodes) for (const saved of node.saved) if (run.savedState(node, saved, step) !== "freed") held += saved.bytes;
    return held ? `, saves ${bytes(held)}` : "";
  }

  draw(state) {
    const { run, step } = state;
    const focused = this.canvas.contains(document.activeElement);
    const { at, path } = this.layout;
    const running = run.steps[step]?.kind === "node" ? run.steps[step].node : null;
    const parts = [];
    this.items = [];
    const levels = new Map();
    for (const frame of [...this.what.frames].reverse()) levels.set(frame.parent, Math.max(levels.get(frame.parent) ?? 1, 1 + (levels.get(frame) ?? 1)));
    for (const frame of this.what.frames) {
      const { id, group } = frame;
      const { x, y, width, height } = at(id);
      const above = 11 * (levels.get(frame) ?? 1);
      const close = () => { this.closed.add(group.key); this.asked.delete(group.key); this.app.refresh(); };
      const corner = { x: x - width / 2 + 8, y: y - height / 2 - above + 12 };
      parts.push(svg("rect", { class: "frame", x: corner.x - 8, y: corner.y - 12, width, height: height + above + 4, rx: 8 }));
      this.item(`f ${group.key}`, corner, null, svg("g", { class: "unit closer", "aria-label": `${show(group.label)}, ${plural(group.nodes.length, "node")}: fold`, "aria-expanded": "true" },
        svg("text", corner, `▾ ${show(group.label, Math.max(8, Math.floor(width / 7)))}`)), close);
    }
    const inside = (unit, index) => (unit.node ? unit.node.index === index : unit.group.nodes.some((node) => node.index === index));
    for (const [from, to, count] of this.what.edges) {
      const points = path(from.id, to.id);
      const active = running != null && inside(from, running);
      parts.push(svg("path", { class: active ? "edge active" : "edge", d: points.map(({ x, y }, index) => `${index ? "L" : "M"}${x} ${y}`).join(""), "stroke-width": Math.min(4, 1 + Math.log2(count)) }));
    }
    this.elements = new Map();
    for (const unit of this.what.units) {
      const { x, y, width, height } = at(unit.id);
      const box = unit.group ? this.groupBox(unit.group, state) : this.nodeBox(unit.node, state);
      const labels = this.labelOf(unit, state);
      const chosen = state.node != null && inside(unit, state.node);
      const byLine = state.line != null && (unit.node ? [unit.node] : unit.group.nodes).some((node) => node.line === state.line && (node.source ?? 0) === state.source);
      const classes = ["unit", unit.group ? "group" : "node", box.state, unit.node?.leaf ? "leaf" : "", running != null && inside(unit, running) ? "running" : "",
        run.steps[step]?.failed && running != null && inside(unit, running) ? "failed" : "", chosen ? "chosen" : "", byLine ? "by-line" : ""];
      const act = () => (unit.group ? this.open(unit.group) : this.app.selectNode(unit.node.index));
      const element = svg("g", {
        class: classes.filter(Boolean).join(" "), transform: `translate(${x - width / 2} ${y - height / 2})`,
        "data-node": unit.node?.index, "data-state": box.state, "aria-label": this.wordsOf(unit, labels, box), "aria-expanded": unit.group ? "false" : null,
        onmouseenter: () => this.hover(unit, element), onmouseleave: () => { this.popup.hidden = true; },
      },
      unit.group ? svg("rect", { class: "behind", x: 4, y: 4, width, height, rx: 6 }) : "",
      svg("rect", { width, height, rx: unit.node?.leaf ? height / 2 : 6 }),
      box.state === "modified" && !unit.group ? svg("rect", { class: "inner", x: 3, y: 3, width: width - 6, height: height - 6, rx: 4 }) : "",
      svg("text", { x: 9, y: LINE + 1, "aria-hidden": "true" }, svg("tspan", { class: "title" }, labels[0]), " ", svg("tspan", { x: 9, dy: LINE }, labels[1])),
      box.marks ? svg("text", { class: "sign", "aria-hidden": "true", x: width - 7, y: LINE + 1, "text-anchor": "end" }, box.marks) : "");
      this.elements.set(unit, element);
      this.item(keyOf(unit), { x, y: y - height / 2 }, unit, element, act);
    }
    this.items.sort((a, b) => a.y - b.y || a.x - b.x);
    this.canvas.replaceChildren(...parts, ...this.items.map((item) => item.element));
    if (!focused && state.node != null) this.cursor = null;
    const stop = this.stopAt(this.what.unitOf.get(state.node ?? running));
    stop?.element.setAttribute("tabindex", 0);
    if (focused) stop?.element.focus({ preventScroll: true });
  }

  /** Take in what can be focused: the nodes, the groups, and the names of open groups. One of them is a stop of the Tab key; arrows go to the others. */
  item(key, { x, y }, unit, element, act) {
    const item = { key, x, y, unit, element };
    const attributes = { tabindex: -1, role: "button", "data-key": key };
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.addEventListener("click", act);
    element.addEventListener("keydown", (event) => this.onKey(event, act));
    element.addEventListener("focus", () => {
      for (const one of this.items) one.element.setAttribute("tabindex", one === item ? 0 : -1);
      this.cursor = item;
      if (!element.matches(":focus-visible")) return;
      this.bring(item);
      if (unit) this.hover(unit, element);
    });
    element.addEventListener("blur", () => { this.popup.hidden = true; });
    this.items.push(item);
  }

  /** What Tab stops at: what had the focus, or what came in its place when it was opened or folded; else the unit that is shown; else the first. */
  stopAt(unit) {
    const named = (key) => this.items.find((item) => item.key === key);
    const of = (one) => this.items.find((item) => one && item.unit === one);
    const { key = "", unit: before } = this.cursor ?? {};
    const [group, first] = [key.slice(2), before?.group?.nodes[0].index];
    return named(key) ?? named(`f ${group}`) ?? named(`g ${group}`) ?? of(this.what.unitOf.get(first)) ?? of(unit) ?? this.items[0];
  }

  /** Go from what has the focus to another: left and right in the order of reading, up and down along an edge. */
  onArrow(event) {
    const at = this.items.findIndex((item) => item.element === event.target);
    if (at < 0 || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    const along = (from, to) => {
      const near = this.what.edges.filter((edge) => edge[from] === this.items[at].unit).map((edge) => this.items.find((item) => item.unit === edge[to]));
      return near.sort((a, b) => Math.abs(a.x - this.items[at].x) - Math.abs(b.x - this.items[at].x))[0];
    };
    const last = this.items.length - 1;
    const find = {
      ArrowLeft: () => this.items[Math.max(0, at - 1)], ArrowRight: () => this.items[Math.min(last, at + 1)],
      ArrowDown: () => along(0, 1) ?? this.items.find((item) => item.y > this.items[at].y), ArrowUp: () => along(1, 0) ?? this.items.findLast((item) => item.y < this.items[at].y),
      Home: () => this.items[0], End: () => this.items[last],
    }[event.key];
    if (!find) return;
    event.preventDefault();
    event.stopPropagation();
    find()?.element.focus();
  }

  /** A unit in words, for who cannot see the drawing: its labels, its state, and where its edges lead. */
  wordsOf(unit, labels, box) {
    const to = this.what.edges.filter((edge) => edge[0] === unit).map((edge) => this.labelOf(edge[1], this.state)[0].replace("▸ ", ""));
    const leads = to.length ? `; sends gradients to ${to.slice(0, 4).join(", ")}${to.length > 4 ? ` and ${to.length - 4} more` : ""}` : "";
    return `${labels.join(" ").replace("▸ ", "group ")}, ${WORDS[box.state] ?? box.state}${leads}`;
  }

  nodeBox(node, { run, step }) {
    const state = run.state(node, step);
    return { state, marks: [...new Set(node.saved.map((saved) => MARKS[run.savedState(node, saved, step)]))].join("") };
  }

  groupBox(group, { run, step }) {
    const found = new Set(group.nodes.map((node) => run.state(node, step)));
    const state = ["modified", "pinned", "live", "recomputed", "packed", "freed"].find((one) => found.has(one)) ?? "none";
    return { state, marks: STATES.filter((one) => found.has(one)).map((one) => MARKS[one]).join("") };
  }

  onKey(event, action) {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  open(group) {
    this.asked.delete(group.key);
    this.asked.add(group.key);
    this.closed.delete(group.key);
    for (let one = group.parent; one; one = one.parent) {
      this.asked.add(one.key);
      this.closed.delete(one.key);
    }
    while (this.asked.size > 12) this.asked.delete(this.asked.values().next().value);
    this.refit = true;
    this.app.refresh();
  }

  /** Open the groups around a node, so that it is drawn. */
  reveal(index) {
    const unit = this.what?.unitOf.get(index);
    if (unit?.group) this.open(unit.group);
    return unit && !unit.group;
  }

  hover(unit, element) {
    const { run, step } = this.state;
    const lines = unit.group
      ? [unit.group.label, plural(unit.group.nodes.length, "node") + this.savedWords(run, unit.group.nodes, step), "click to open"]
      : this.linesOf(unit.node);
    this.popup.replaceChildren(...lines.slice(0, 14).map((line, index) => el(index ? "div" : "strong", {}, show(line, 160))));
    const [box, around] = [element.getBoundingClientRect(), this.popup.parentElement.getBoundingClientRect()];
    this.popup.hidden = false;
    const left = Math.min(Math.max(0, box.left - around.left), Math.max(0, around.width - this.popup.offsetWidth - 4));
    const below = box.bottom - around.top + 6;
    this.popup.style.left = `${left}px`;
    this.popup.style.top = `${below + this.popup.offsetHeight > around.height ? Math.max(0, box.top - around.top - this.popup.offsetHeight - 6) : below}px`;
  }

  linesOf(node) {
    const { run, step } = this.state;
    const names = run.namesOf(step).get(node.index) ?? [];
    return [`${node.name} ${shape(node.shape)}`, names.length ? `makes ${names.join(", ")}` : "", node.module ? `module ${node.module}` : "",
      node.line == null ? "" : run.line(node.line, node.source),
      ...node.saved.map((saved) => `${MARKS[run.savedState(node, saved, step)]} ${saved.name} ${shape(saved.shape)} ${bytes(saved.bytes)}: ${this.stateWords(node, saved)}`),
      node.saved.length || node.leaf ? "" : "saves nothing"].filter(Boolean);
  }

  stateWords(node, saved) {
    const { run, step } = this.state;
    const state = run.savedState(node, saved, step);
    if (state === "freed") return node.freed_line == null ? "freed" : `freed by ${run.line(node.freed_line, run.sourceOf(node.freed_line_of))}`;
    if (state === "modified") return saved.modified_line == null ? "modified" : `modified by ${run.line(saved.modified_line, run.sourceOf(saved.modified_line_of))}`;
    const held = run.holders(step).get(saved.storage) ?? [];
    return held.length ? `${state}, also held by ${held.slice(0, 3).join(", ")}` : state;
  }

  /** Everything about the node that is selected. */
  tell(state) {
    const { run, step } = state;
    const node = state.node == null ? null : run.nodes[state.node];
    this.details.hidden = node == null;
    if (node == null) return;
    const link = (index) => el("button", { type: "button", class: "link", onclick: () => this.app.selectNode(index) }, show(run.nodeName(run.nodes[index], step), 40));
    const step_ = (at, words) => el("button", { type: "button", class: "link", onclick: () => this.app.go({ step: at }) }, `${words} (step ${at + 1})`);
    const scopes = run.scopesOf(node).map((one) => run.scopes[one].label).join(" › ");
    const alive = run.isAlive(node, step);
    this.details.replaceChildren(
      el("h3", {}, `${show(node.name)} ${shape(node.shape)} `, el("button", { type: "button", "aria-label": "close the details", onclick: () => this.app.selectNode(null) }, "×")),
      el("p", {}, [(run.namesOf(step).get(node.index) ?? []).map((name) => el("code", {}, show(name, 60), " ")),
        node.line == null ? "" : el("button", { type: "button", class: "link", onclick: () => this.app.showLine(node.line, node.source ?? 0) }, run.line(node.line, node.source)), " ",
        show([node.module ? `module ${node.module}` : "", scopes].filter(Boolean).join(" · "), 200)]),
      el("p", {}, step_(node.born, "made"), " ", node.freed == null ? "" : step_(node.freed, `freed by ${run.line(node.freed_line, run.sourceOf(node.freed_line_of))}`), " ", node.died == null ? "" : step_(node.died, "gone"), alive ? "" : " — it is not there at this moment"),
      node.saved.length ? el("table", {}, el("thead", {}, el("tr", {}, ["saved", "shape", "dtype", "bytes", "state", "version"].map((one) => el("th", { scope: "col" }, one)))),
        el("tbody", {}, node.saved.slice(0, 60).map((saved) => el("tr", {}, [saved.name, shape(saved.shape), saved.dtype, bytes(saved.bytes),
          `${MARKS[run.savedState(node, saved, step)]} ${this.stateWords(node, saved)}`, saved.version ?? ""].map((one) => el("td", {}, show(one, 120))))))) : el("p", {}, node.leaf ? "a leaf: gradients arrive here" : "saves nothing"),
      el("p", {}, "sends gradients to ", node.edges.length ? node.edges.slice(0, 12).flatMap(([to]) => [link(to), " "]) : "nothing"),
      el("p", {}, "receives from ", node.users.length ? node.users.slice(0, 12).flatMap((from) => [link(from), " "]) : "nothing: a root"),
    );
  }

  /** Mark what the search finds, and say how much that is. */
  lookFor({ run, step }) {
    const words = this.search.value.trim().toLowerCase();
    const hits = words ? run.alive(step).filter((node) => this.matches(run, node, step, words)) : [];
    this.hits = hits;
    const units = new Set(hits.map((node) => this.what.unitOf.get(node.index)));
    for (const [unit, element] of this.elements) element.classList.toggle("hit", units.has(unit));
    this.picture.classList.toggle("searching", Boolean(words));
    this.found.textContent = words ? `${hits.length} found` : "";
  }

  matches(run, node, step, words) {
    const names = run.namesOf(step).get(node.index) ?? [];
    return [node.name, node.module ?? "", run.line(node.line, node.source), ...names, ...run.scopesOf(node).map((one) => run.scopes[one].label)].some((one) => one.toLowerCase().includes(words));
  }

  next(by) {
    if (!this.hits?.length) return;
    const at = this.hits.findIndex((node) => node.index === this.state.node);
    this.app.selectNode(this.hits[(at + by + this.hits.length) % this.hits.length].index);
  }
}

/** What a unit is known by when the graph is drawn anew. */
function keyOf(unit) {
  return unit.group ? `g ${unit.group.key}` : `n ${unit.node.index}`;
}

/** A plain layout, row by row, for a graph that dagre cannot lay out. */
function rows(what, labels) {
  const places = new Map();
  let [x, y, width] = [8, 8, 0];
  what.units.forEach((unit, index) => {
    const wide = Math.max(64, Math.max(...labels[index].map((line) => line.length)) * 6.7 + 26);
    if (x + wide > 900) [x, y] = [8, y + 64];
    places.set(unit.id, { x: x + wide / 2, y: y + 22, width: wide, height: 44 });
    x += wide + 14;
    width = Math.max(width, x);
  });
  const at = (id) => places.get(id) ?? { x: 0, y: 0, width: 0, height: 0 };
  return { width, height: y + 60, at, path: (from, to) => [at(from), at(to)] };
}
