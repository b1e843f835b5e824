// The page: one state (run, step, node, line, source) that every view follows; keys; the fragment of the address.

import { ChartView } from "./chart.js";
import { GraphView } from "./graph.js";
import { Run } from "./model.js";
import { SourceView } from "./source.js";
import { TablesView } from "./tables.js";
import { Timeline } from "./timeline.js";
import { el, show } from "./text.js";

const KEYS = [["space", "play and pause"], ["← →", "a step back, a step on"], ["shift ← →", "a statement back, a statement on"], ["Home End", "first and last step"],
  ["↑ ↓", "in the source: a line up, a line down"], ["← → ↑ ↓", "in the graph: from node to node, along an edge"], ["f", "the failure"], ["p", "the peak of memory"], ["/", "find a node"], ["Enter", "open a group, select a node"], ["Escape", "drop the selection"], ["t", "light or dark"], ["?", "this help"]];

class App {
  constructor(report) {
    this.report = report;
    this.runs = report.runs.map((run) => new Run(run));
    this.state = { run: this.runs[0], step: 0, node: null, line: null, source: 0, failure: null };
    this.timeline = new Timeline(this);
    this.views = [this.timeline, new SourceView(this), new GraphView(this), new ChartView(this), new TablesView(this)];
    [, this.source, this.graph] = this.views;
    this.help = el("dialog", { "aria-label": "keys" }, el("h2", {}, "Keys"), el("dl", {}, KEYS.flatMap(([key, words]) => [el("dt", {}, key), el("dd", {}, words)])),
      el("form", { method: "dialog" }, el("button", {}, "Close")));
    this.choose = el("select", { "aria-label": "script", onchange: () => this.go({ run: Number(this.choose.value) }) }, this.runs.map((run, index) => el("option", { value: index }, show(run.name, 80))));
    this.choose.hidden = this.runs.length < 2;
    this.note = el("p", { class: "note" });
    document.body.append(
      el("header", {}, el("h1", {}, "gradsh report"), el("span", { class: "name" }, this.runs.length === 1 ? show(this.runs[0].name, 120) : ""), this.choose,
        el("span", { class: "space" }),
        el("button", { type: "button", title: "light or dark (t)", onclick: () => this.theme() }, "◐ theme"), el("button", { type: "button", title: "keys (?)", onclick: () => this.help.showModal() }, "? keys")),
      this.timeline.element, this.note,
      el("main", {}, this.source.element, el("div", { class: "column" }, this.graph.element, this.views[3].element), this.views[4].element), this.help);
    document.addEventListener("keydown", (event) => this.onKey(event));
    addEventListener("hashchange", () => this.read());
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refresh());
  }

  start() {
    const { run } = this.state;
    const failure = run.failures[run.failures.length - 1];
    this.state.step = this.first(run, failure);
    this.state.failure = failure ?? null;
    if (location.hash.length > 1) this.read();
    else this.refresh();
    this.reveal();
  }

  /** The step that is shown first: the failure, or else the peak. */
  first(run, failure) {
    return Math.max(0, Math.min(failure ? failure.step : run.peak ?? 0, run.steps.length - 1));
  }

  /** Change the state and follow it. */
  go(change) {
    const { state } = this;
    if ("run" in change) {
      Object.assign(state, { run: this.runs[change.run], node: null, line: null, source: 0 });
      state.failure = state.run.failures[state.run.failures.length - 1] ?? null;
      state.step = this.first(state.run, state.failure);
      delete change.run;
    }
    Object.assign(state, change);
    state.step = Math.max(0, Math.min(state.step, state.run.steps.length - 1));
    this.write();
    this.refresh();
    if ("step" in change) this.reveal();
  }

  refresh() {
    this.note.textContent = show(this.state.run.note ?? "", 400);
    this.note.hidden = !this.state.run.note;
    this.choose.value = this.runs.indexOf(this.state.run);
    for (const view of this.views) view.update(this.state);
  }

  /** Bring the line where the program stands into view. */
  reveal() {
    const place = this.state.run.place(this.state.step);
    if (place?.line != null && this.state.source === place.source) this.source.show(place.line);
  }

  goFailure(failure) {
    if (!failure) return;
    this.timeline.stop();
    const needed = failure.spans.find((span) => span.role === "needed");
    this.go({ failure, step: failure.step, source: needed?.source ?? failure.source ?? 0 });
    this.source.show(needed?.line ?? failure.line);
  }

  selectNode(index) {
    const node = index == null ? null : this.state.run.nodes[index];
    this.go({ node: index, line: null, ...(node?.line == null ? {} : { source: node.source ?? 0 }) });
    if (node == null) return;
    this.graph.reveal(index);
    if (node.line != null) this.source.show(node.line);
  }

  selectLine(line) {
    this.go({ line: this.state.line === line ? null : line, node: null });
  }

  showLine(line, source) {
    this.go({ line, source, node: null });
    this.source.show(line);
  }

  theme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    this.refresh();
  }

  /** Lay the page out for paper, in light colours and with everything open; or as it was. */
  print(printing) {
    if (printing === Boolean(this.printing)) return;
    const root = document.documentElement;
    if (printing) {
      this.printing = { theme: root.dataset.theme, closed: [...document.querySelectorAll("details:not([open])")] };
      root.dataset.theme = "light";
    } else if (this.printing.theme) root.dataset.theme = this.printing.theme;
    else delete root.dataset.theme;
    for (const one of this.printing.closed) one.open = printing;
    if (!printing) this.printing = null;
    root.classList.toggle("printing", printing);
    this.refresh();
    for (const view of this.views) view.resize?.(printing);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    const { target } = event;
    const typing = target.closest("input:not([type=range]), select, textarea");
    if (typing) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (event.key === " " && target.closest("button, summary, g.unit, a")) return;
    const { timeline } = this;
    const action = {
      " ": () => timeline.toggle(), ArrowRight: () => (event.shiftKey ? timeline.statement(1) : timeline.by(1)), ArrowLeft: () => (event.shiftKey ? timeline.statement(-1) : timeline.by(-1)),
      Home: () => timeline.to(0), End: () => timeline.to(Infinity), f: () => this.goFailure(this.state.run.failures[0]), p: () => timeline.to(this.state.run.peak ?? 0),
      "/": () => this.graph.search.focus(), t: () => this.theme(), "?": () => this.help.showModal(), Escape: () => this.go({ node: null, line: null }),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Follow the fragment: #run=2&step=12&node=PowBackward0, a node by its operation, its name or its number. */
  read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const number = (name) => (given.has(name) && Number.isFinite(Number(given.get(name))) ? Math.max(1, Math.floor(Number(given.get(name)))) - 1 : null);
    const run = this.runs[number("run") ?? this.runs.indexOf(this.state.run)] ?? this.state.run;
    if (run !== this.state.run) this.go({ run: this.runs.indexOf(run) });
    const step = Math.min(number("step") ?? this.state.step, run.steps.length - 1);
    const wanted = given.get("node");
    const [word, index] = (wanted ?? "").split(":");
    const node = wanted ? (run.nodes[Number(index)] ?? run.alive(step).find((one) => one.name === word || (run.namesOf(step).get(one.index) ?? []).includes(word))) : null;
    const line = number("line");
    Object.assign(this.state, { step, node: node?.index ?? null, line: line == null ? null : line + 1 });
    this.refresh();
    if (node) this.graph.reveal(node.index);
    this.reveal();
  }

  write() {
    const { run, step, node, line } = this.state;
    const parts = [...(this.runs.length > 1 ? [`run=${this.runs.indexOf(run) + 1}`] : []), `step=${step + 1}`];
    if (node != null) parts.push(`node=${run.nodes[node].name}:${node}`);
    if (line != null) parts.push(`line=${line}`);
    try {
      history.replaceState(null, "", `#${parts.join("&")}`);
    } catch { /* an address that may not change */ }
  }
}

const report = JSON.parse(document.getElementById("report")?.textContent ?? "null");
if (report?.runs.length) {
  const app = new App(report);
  window.gradsh = app;
  app.start();
} else {
  document.body.append(el("p", {}, "This report holds no run: every script passed, or none could be read."));
}
