// Tables behind the pictures: saved tensors, variables, parameters, nodes, bytes; they sort, filter and copy as CSV. And the output.

import { MARKS, OWNERS } from "./model.js";
import { bytes, el, plural, shape, show } from "./text.js";

const MOST = 400;
/** Rows of each table on paper. */
const PRINTED = 60;

const held = (names) => names.slice(0, 3).join(", ") + (names.length > 3 ? `, ${names.length - 3} more` : "");

/** The line of a node: the number alone where it is of the first source. */
const place = (run, node) => (node.line == null ? "" : node.source ? [node.line, run.line(node.line, node.source).slice("line ".length)] : node.line);

/** name -> columns and rows of a table; a cell is a value or [value to sort by, words]. */
const TABLES = {
  "Saved tensors": (run, step) => ({
    columns: ["node", "saved", "shape", "dtype", "bytes", "state", "also held by", "version", "line"],
    rows: run.savedAt(step).map(({ node, saved, state, held: names }) => ({
      node: node.index,
      cells: [run.nodeName(node, step), saved.name, shape(saved.shape), saved.dtype, [saved.bytes, bytes(saved.bytes)],
        `${MARKS[state]} ${state === "freed" && node.freed_line != null ? `freed by ${run.line(node.freed_line, run.sourceOf(node.freed_line_of))}` : state}`, held(names), saved.version ?? "", place(run, node)],
    })),
  }),
  Variables: (run, step) => variables(run, step, () => true),
  Parameters: (run, step) => variables(run, step, (one) => one.leaf && one.requires_grad),
  Nodes: (run, step) => ({
    columns: ["node", "makes", "shape", "state", "saves", "module", "line", "made at", "sends to"],
    rows: run.alive(step).map((node) => ({
      node: node.index,
      cells: [node.name, held(run.namesOf(step).get(node.index) ?? []), shape(node.shape), run.state(node, step),
        [node.saved.reduce((sum, saved) => sum + saved.bytes, 0), bytes(node.saved.reduce((sum, saved) => sum + saved.bytes, 0))],
        node.module ?? "", place(run, node), node.born + 1, held(node.edges.map(([to]) => run.nodeName(run.nodes[to], step)))],
    })),
  }),
  "Bytes by line": (run, step) => by(run, step, "line", ({ node }) => (node.line == null ? "no line" : run.line(node.line, node.source))),
  "Bytes by module": (run, step) => by(run, step, "module", ({ node }) => node.module ?? "no module"),
  "Bytes by name": (run, step) => ({
    columns: ["name", "bytes", "saved by"],
    rows: run.largest(step).map(({ bytes: count, names, saved }) => ({ cells: [held(names) || "the graph alone", [count, bytes(count)], held(saved.map(({ node, saved: one }) => `${node.name}.${one.name}`))] })),
  }),
  "Bytes by step": (run) => ({
    columns: ["step", ...OWNERS, "all", "what happens"],
    rows: run.bytes.map((parts, at) => ({ step: at, cells: [at + 1, ...parts.map((one) => [one, bytes(one)]), [run.totals[at], bytes(run.totals[at])], run.words(at, bytes)] })),
  }),
};

function variables(run, step, wanted) {
  return {
    columns: ["name", "shape", "dtype", "bytes", "version", "grad_fn", "requires grad", "value", "grad"],
    rows: run.variablesAt(step).filter(([, one]) => wanted(one)).map(([name, one]) => ({
      node: one.node,
      cells: [name, shape(one.shape), one.dtype ?? "", one.bytes == null ? "" : [one.bytes, bytes(one.bytes)], one.version ?? "",
        one.leaf === false && one.node != null ? run.nodes[one.node].name : one.leaf ? "leaf" : "", one.requires_grad == null ? "" : one.requires_grad ? "yes" : "no",
        one.value ?? "", one.grad ? `${shape(one.grad.shape)} ${one.grad.value ?? ""}` : one.leaf && one.requires_grad ? "None" : ""],
    })),
  };
}

function by(run, step, title, keyOf) {
  const groups = new Map();
  for (const row of run.savedAt(step)) {
    const key = keyOf(row);
    const group = groups.get(key) ?? { live: 0, freed: 0, storages: new Set() };
    if (row.state === "freed") group.freed += 1;
    else group.live += 1;
    if (row.state !== "freed" && row.saved.storage != null) group.storages.add(row.saved.storage);
    groups.set(key, group);
  }
  const rows = [...groups].map(([key, one]) => [key, one, [...one.storages].reduce((sum, storage) => sum + run.storages[storage], 0)]).sort((a, b) => b[2] - a[2]);
  return { columns: [title, "live", "freed", "bytes held"], rows: rows.map(([key, one, count]) => ({ cells: [key, one.live, one.freed, [count, bytes(count)]] })) };
}

const worth = (cell) => (Array.isArray(cell) ? cell[0] : cell);
const words = (cell) => String(Array.isArray(cell) ? cell[1] : cell);

export class TablesView {
  constructor(app) {
    this.app = app;
    this.chosen = "Saved tensors";
    this.sorted = {};
    this.tabs = el("div", { role: "tablist", class: "tabs", "aria-label": "tables", onkeydown: (event) => this.onKey(event) });
    this.filter = el("input", { type: "search", placeholder: "filter", "aria-label": "filter the rows", oninput: () => app.refresh() });
    this.copyButton = el("button", { type: "button", onclick: () => this.copy() }, "Copy CSV");
    this.count = el("span", { role: "status" });
    this.body = el("div", { class: "table", role: "tabpanel", id: "table", tabindex: 0 });
    this.element = el("section", { class: "panel tables-panel", "aria-label": "tables" }, this.tabs, el("div", { class: "tools" }, this.filter, this.copyButton, this.count), this.body);
  }

  names(run) {
    return [...Object.keys(TABLES).filter((name) => name !== "Bytes by module" || run.nodes.some((node) => node.module)), "Output", ...(run.differences ? ["Differences"] : [])];
  }

  onKey(event) {
    const names = this.names(this.app.state.run);
    const by_ = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by_) return;
    event.preventDefault();
    event.stopPropagation();
    this.chosen = names[(names.indexOf(this.chosen) + by_ + names.length) % names.length];
    this.app.refresh();
    this.tabs.querySelector("[aria-selected=true]").focus();
  }

  update(state) {
    const names = this.names(state.run);
    if (!names.includes(this.chosen)) [this.chosen] = names;
    this.tabs.replaceChildren(...names.map((name) => el("button", {
      type: "button", role: "tab", "aria-selected": String(name === this.chosen), "aria-controls": "table", tabindex: name === this.chosen ? 0 : -1,
      onclick: () => { this.chosen = name; this.app.refresh(); },
    }, name)));
    this.body.setAttribute("aria-label", this.chosen);
    if (this.app.printing) {
      this.printAll(state, names);
      return;
    }
    const plain = this.chosen === "Output" || this.chosen === "Differences";
    this.filter.hidden = this.copyButton.hidden = plain;
    if (plain) this.count.textContent = "";
    this.body.replaceChildren(this.content(state));
  }

  /** On paper all tables stand one below the other. */
  printAll(state, names) {
    const { chosen } = this;
    this.body.replaceChildren(...names.map((name) => {
      this.chosen = name;
      return el("section", {}, el("h3", {}, name), this.content(state));
    }));
    this.chosen = chosen;
  }

  content(state) {
    if (this.chosen === "Output") return this.output(state);
    if (this.chosen === "Differences") return el("pre", { class: "diff" }, (state.run.differences ?? []).map((line) => el("span", { class: { "+": "plus", "-": "minus" }[line[0]] ?? "" }, `${show(line, 1000)}\n`)));
    this.table = this.rowsOf(state);
    return this.draw(state);
  }

  rowsOf({ run, step }) {
    const { columns, rows } = TABLES[this.chosen](run, step);
    const filter = this.filter.value.trim().toLowerCase();
    const kept = filter ? rows.filter(({ cells }) => cells.some((cell) => words(cell).toLowerCase().includes(filter))) : rows;
    const [column, down] = this.sorted[this.chosen] ?? [-1, false];
    if (column >= 0) {
      kept.sort(({ cells: a }, { cells: b }) => {
        const [one, other] = [worth(a[column]), worth(b[column])];
        const order = typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true });
        return down ? -order : order;
      });
    }
    this.count.textContent = plural(kept.length, "row") + (filter ? ` of ${rows.length}` : "");
    return { columns, rows: kept };
  }

  draw(state) {
    const { columns, rows } = this.table;
    const [sortedBy, down] = this.sorted[this.chosen] ?? [-1, false];
    const heads = columns.map((name, index) => el("th", { scope: "col", "aria-sort": index === sortedBy ? (down ? "descending" : "ascending") : null },
      el("button", { type: "button", onclick: () => { this.sorted[this.chosen] = [index, index === sortedBy ? !down : false]; this.app.refresh(); } }, name, index === sortedBy ? (down ? " ▼" : " ▲") : "")));
    const most = this.app.printing ? PRINTED : MOST;
    const body = rows.slice(0, most).map((row) => el("tr", { class: row.node != null && row.node === state.node ? "selected" : row.step === state.step ? "current" : "" },
      row.cells.map((cell, index) => {
        const text = show(words(cell), 200);
        const go = row.node != null ? () => this.app.selectNode(row.node) : row.step != null ? () => this.app.go({ step: row.step }) : null;
        const inside = go && index === 0 ? el("button", { type: "button", class: "link", onclick: go }, text || "…") : text;
        return el("td", { class: typeof worth(cell) === "number" ? "number" : "" }, inside);
      })));
    return el("div", {}, el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, body)),
      rows.length > most ? el("p", {}, `… ${rows.length - most} more rows: filter, or copy all as CSV`) : "", rows.length ? "" : el("p", { class: "empty" }, "nothing at this moment"));
  }

  csv() {
    const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    return [this.table.columns, ...this.table.rows.map(({ cells }) => cells.map((one) => String(worth(one))))].map((row) => row.map(cell).join(",")).join("\n");
  }

  async copy() {
    const text = this.csv();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = el("textarea", { "aria-hidden": "true" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    this.count.textContent = `${plural(this.table.rows.length, "row")} copied`;
  }

  output({ run, step }) {
    const parts = [];
    run.steps.forEach((one, at) => {
      for (const [stream, text] of at <= step ? one.output ?? [] : []) {
        parts.push(el("div", { class: `printed ${stream} ${at === step ? "now" : ""}` }, el("button", { type: "button", class: "link", onclick: () => this.app.go({ step: at }) }, `${one.line}`), el("pre", {}, show(text, 10000))));
      }
    });
    return parts.length ? el("div", { class: "output" }, parts) : el("p", { class: "empty" }, "nothing was printed so far");
  }
}
