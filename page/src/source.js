// The program's text: what each line saved, holds, freed and wrote; where the program stands; a failure's places and the arrows between them.

import { bytes, el, plural, show, svg } from "./text.js";

const ORDER = { modified: 1, saved: 0, freed: 1, needed: 2 };

export class SourceView {
  constructor(app) {
    this.app = app;
    this.body = el("tbody");
    this.arrows = svg("svg", { class: "arrows", "aria-hidden": "true" });
    this.choice = el("select", { "aria-label": "file", onchange: () => app.go({ source: Number(this.choice.value) }) });
    this.holder = el("div", { class: "code", tabindex: 0, role: "region", "aria-label": "source: up and down go from line to line, Enter selects the nodes of a line", onkeydown: (event) => this.onKey(event) },
      el("table", { class: "source" },
        el("thead", {}, el("tr", {}, ["line", "held", "freed", "source"].map((name, index) => el("th", { scope: "col", title: [
          "", "bytes that this line's operations hold saved for backward now", "bytes that a backward on this line has freed", "",
        ][index] }, name)))),
        this.body),
      this.arrows);
    this.failure = el("section", { class: "failure", "aria-label": "failure" });
    this.element = el("section", { class: "panel source-panel", "aria-label": "source" },
      el("h2", {}, "Source ", this.choice), this.failure, this.holder);
    new ResizeObserver(() => this.drawArrows()).observe(this.holder);
  }

  /** Make the rows of a source anew. */
  load(run, source) {
    this.choice.replaceChildren(...run.sources.map((one, index) => el("option", { value: index }, show(one.name, 60))));
    this.choice.value = source;
    this.choice.hidden = run.sources.length < 2;
    const { text, first_line: first } = run.sources[source];
    this.rows = new Map();
    const lines = text.split("\n");
    if (lines.length > 1 && !lines[lines.length - 1]) lines.pop();
    this.body.replaceChildren(...lines.map((line, index) => this.row(line, first + index)));
  }

  row(text, line) {
    const number = el("button", { type: "button", class: "number", tabindex: -1, title: `select the nodes of line ${line}`, onclick: () => this.app.selectLine(line) }, String(line));
    const held = el("td", { class: "held" });
    const freed = el("td", { class: "freed" });
    const code = el("td", { class: "text", onclick: () => this.app.selectLine(line) });
    const row = el("tr", { id: `line-${line}` }, el("th", { scope: "row" }, number), held, freed, code);
    this.rows.set(line, { row, held, freed, code, text });
    return row;
  }

  update(state) {
    const { run, step, source, node } = state;
    const failure = run.failures.find((one) => one === state.failure);
    if (this.shown?.run !== run || this.shown.source !== source) this.load(run, source);
    const place = run.place(step);
    const sums = run.lines(source, step);
    const most = Math.max(1, ...[...sums.values()].map((one) => one.held));
    const marks = this.marksOf(run, state, failure);
    const current = run.steps[step]?.kind === "node" ? run.nodes[run.steps[step].node] : null;
    for (const [line, { row, held, freed, code, text }] of this.rows) {
      const sum = sums.get(line);
      held.textContent = sum?.held ? bytes(sum.held) : "";
      held.style.setProperty("--heat-of", sum ? String(Math.sqrt(sum.held / most)) : "0");
      held.title = sum ? `holds ${bytes(sum.held)} of the ${bytes(sum.saved)} that it saved, in ${plural(sum.nodes, "node")}` : "";
      freed.textContent = [sum?.freed ? bytes(sum.freed) : "", sum?.wrote ? "✎" : "", sum?.modified ? "▲" : ""].join(" ").trim();
      freed.title = sum ? [sum.freed ? `freed ${bytes(sum.freed)}` : "", sum.wrote ? `wrote ${plural(sum.wrote, "gradient")}` : "",
        sum.modified ? `modified ${plural(sum.modified, "saved tensor")}` : ""].filter(Boolean).join("; ") : "";
      row.classList.toggle("current", place?.source === source && line >= place.line && line <= place.end);
      row.classList.toggle("selected", state.line === line || (node != null && run.nodes[node]?.line === line && (run.nodes[node].source ?? 0) === source));
      this.code(code, text, line, marks.get(line) ?? [], current && (current.source ?? 0) === source ? current : null);
    }
    this.tell(run, state, failure);
    this.shown = { run, source, step };
    this.marks = marks;
    requestAnimationFrame(() => this.drawArrows());
  }

  /** line -> the labels of the failure that is shown */
  marksOf(run, state, failure) {
    const found = new Map();
    for (const span of failure?.spans ?? []) {
      if ((span.source ?? 0) !== state.source) continue;
      if (!found.has(span.line)) found.set(span.line, []);
      found.get(span.line).push(span);
    }
    return found;
  }

  /** Fill a row with its text: the marked stretches, the expression of the node that runs, labels below. */
  code(cell, text, line, marks, node) {
    const key = JSON.stringify([marks, node?.index, node?.line === line]);
    if (cell.dataset.key === key) return;
    cell.dataset.key = key;
    const spans = marks.map((one) => [one.column - 1, one.end_line === line ? one.end_column - 1 : text.length, `mark ${one.role}`]);
    if (node?.span && node.span[0] === line) spans.push([node.span[1] - 1, node.span[2] === line ? node.span[3] - 1 : text.length, "mark running"]);
    const parts = [];
    const edges = [...new Set([0, text.length, ...spans.flatMap(([from, to]) => [from, to])])].filter((at) => at >= 0 && at <= text.length).sort((a, b) => a - b);
    for (let index = 0; index + 1 < edges.length; index += 1) {
      const [from, to] = [edges[index], edges[index + 1]];
      const roles = spans.filter((span) => span[0] <= from && span[1] >= to).map((span) => span[2]);
      const piece = show(text.slice(from, to), 2000);
      parts.push(roles.length ? el("span", { class: roles.join(" ") }, piece) : piece);
    }
    const labels = marks.map((one) => el("div", { class: `label ${one.role}` }, `↑ ${show(one.text || one.role)}`));
    cell.replaceChildren(el("code", { class: text.trimStart().startsWith("#") ? "comment" : null }, parts), ...labels);
  }

  /** Tell the failure: its sentence, what happened where, and the ways out. */
  tell(run, state, failure) {
    if (this.told === failure && this.toldRun === run && this.toldStep === (failure?.step <= state.step)) return;
    [this.told, this.toldRun, this.toldStep] = [failure, run, failure?.step <= state.step];
    this.failure.hidden = !run.failures.length;
    if (!run.failures.length) return;
    const choose = run.failures.length > 1 && el("select", { "aria-label": "failure", onchange: (event) => this.app.goFailure(run.failures[Number(event.target.value)]) },
      el("option", { value: -1, selected: !failure }, `${run.failures.length} failures…`),
      run.failures.map((one, index) => el("option", { value: index, selected: one === failure }, `line ${one.line}: ${one.kind}`)));
    if (!failure) {
      this.failure.replaceChildren(choose || "");
      return;
    }
    const steps = [...failure.spans].sort((a, b) => (ORDER[a.role] ?? 3) - (ORDER[b.role] ?? 3)).map((span) => el("li", { class: span.role },
      el("button", { type: "button", onclick: () => this.app.showLine(span.line, span.source ?? 0) }, run.line(span.line, span.source)), ` ${show(span.text || span.role)}`));
    this.failure.replaceChildren(
      el("h3", {}, el("span", { class: "kind" }, failure.kind), ` ${show(failure.title || failure.message, 500)}`),
      choose || "",
      el("ol", { class: "story" }, steps),
      failure.title || failure.notes ? el("details", { class: "torch" }, el("summary", {}, failure.title ? `PyTorch says: ${show(failure.message, 90)}` : show(failure.notes[0], 90)),
        el("p", {}, show(failure.message, 2000)), (failure.notes ?? []).map((note) => el("p", {}, show(note, 2000)))) : "",
      ...this.fixes(failure).slice(0, 5).map((fix, index) => el("details", { open: index === 0, class: "fix" },
        el("summary", {}, `${fix.tried ? "✓ " : ""}${show(this.wordsOf(run, fix), 400)}`, fix.effect ? el("small", {}, ` (${show(fix.effect)})`) : ""),
        fix.diff?.length ? el("pre", { class: "diff" }, fix.diff.map((line) => el("span", { class: line[0] === "+" ? "plus" : "minus" }, `${show(line, 500)}\n`))) : "")),
      el("p", {}, el("button", { type: "button", onclick: () => this.app.goFailure(failure) }, "Go to the moment")),
    );
  }

  /** A fix in words, with the file that it edits where that is not the script. */
  wordsOf(run, { words, edits }) {
    const file = edits[0]?.file;
    return !file || file === run.sources[0].name || words.startsWith("in ") ? words : `in ${file.split("/").pop()}: ${words}`;
  }

  /** The fixes that were tried and advice in words; all, where none was tried. */
  fixes({ fixes = [] }) {
    return fixes.some((fix) => fix.tried) ? fixes.filter((fix) => fix.tried || !fix.edits.length) : fixes;
  }

  /** Go from line to line, beginning with the one where the program stands. */
  onKey(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const rows = [...this.rows.values()].map(({ row }) => row);
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const current = rows.findIndex((row) => row.classList.contains("current"));
    rows[at < 0 ? Math.max(0, current) : Math.max(0, Math.min(rows.length - 1, at + by))]?.querySelector("button").focus();
  }

  resize() {
    this.drawArrows();
  }

  /** Draw arrows beside the lines: from where a tensor was saved to where it was freed or modified, to where it is needed. */
  drawArrows() {
    this.arrows.replaceChildren();
    const spans = [...(this.marks ?? new Map()).values()].flat().filter((span) => span.role in ORDER).sort((a, b) => ORDER[a.role] - ORDER[b.role]);
    const table = this.body.parentElement;
    this.arrows.setAttribute("width", table.offsetWidth);
    this.arrows.setAttribute("height", table.offsetHeight);
    if (spans.length < 2) return;
    const roles = ["needed", "freed", "modified"];
    this.arrows.append(svg("defs", {}, roles.map((role) => svg("marker", {
      id: `head-${role}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto",
    }, svg("path", { d: "M0 0L8 4L0 8z", class: `head ${role}` })))));
    const gutter = (this.body.querySelector("td.text")?.offsetLeft ?? 0) + 40;
    const at = (span) => {
      const { row } = this.rows.get(span.line);
      return row.offsetTop + 10;
    };
    for (let index = 0; index + 1 < spans.length; index += 1) {
      const [from, to] = [spans[index], spans[index + 1]];
      const [y0, y1] = [at(from), at(to)];
      const bend = gutter - 12 - Math.min(28, 10 + Math.abs(y1 - y0) / 12);
      this.arrows.append(svg("path", {
        d: `M${gutter + 4} ${y0}C${bend} ${y0} ${bend} ${y1} ${gutter + 4} ${y1}`, class: `arrow ${to.role}`, "marker-end": `url(#head-${roles.includes(to.role) ? to.role : "needed"})`,
      }));
    }
  }

  show(line) {
    const found = this.rows?.get(line);
    if (!found) return;
    const { row } = found;
    const [top, height] = [row.offsetTop, this.holder.clientHeight];
    if (top < this.holder.scrollTop + 20 || top > this.holder.scrollTop + height - 60) this.holder.scrollTop = Math.max(0, top - height / 2);
  }
}
