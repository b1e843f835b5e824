// What a report tells, asked for a moment: which nodes there are, in which state, who holds which storage, what a line holds.

import { show } from "./text.js";

export const OWNERS = ["leaves", "gradients", "variables", "saved"];
export const STATES = ["live", "freed", "pinned", "modified", "recomputed", "packed"];
export const MARKS = { live: "●", freed: "○", pinned: "◆", modified: "▲", recomputed: "◐", packed: "▣", none: "" };

/** The last element of sorted `changes` whose step is at most `step`. */
function latest(changes, step) {
  let low = 0;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (changes[middle][0] <= step) low = middle + 1;
    else high = middle;
  }
  return low ? changes[low - 1][1] : null;
}

export class Run {
  constructor(data) {
    Object.assign(this, data);
    this.nodes.forEach((node, index) => {
      node.index = index;
      node.saved ??= [];
      node.users = [];
    });
    for (const node of this.nodes) for (const [to] of node.edges) this.nodes[to].users.push(node.index);
    this.totals = this.bytes.map((parts) => parts.reduce((sum, part) => sum + part, 0));
    this.statementOf = [];
    let next = -1;
    for (let step = this.steps.length - 1; step >= 0; step -= 1) {
      if (this.steps[step].kind === "statement") next = step;
      this.statementOf[step] = next;
    }
    this.passOf = [];
    let pass = -1;
    this.steps.forEach((step, index) => {
      if (step.kind === "pass") pass = index;
      if (step.kind === "statement") pass = -1;
      this.passOf[index] = pass;
    });
    this.known = new Map();
  }

  /** What a function of a step returned for it last time, else what it returns now. */
  once(name, step, compute) {
    const held = this.known.get(name);
    if (held && held.step === step) return held.value;
    const value = compute();
    this.known.set(name, { step, value });
    return value;
  }

  isAlive(node, step) {
    return node.born <= step && (node.died == null || step < node.died);
  }

  alive(step) {
    return this.once("alive", step, () => this.nodes.filter((node) => this.isAlive(node, step)));
  }

  savedState(node, saved, step) {
    if (node.freed != null && node.freed <= step) return "freed";
    if (saved.packed) return saved.packed === "recomputed" ? "recomputed" : "packed";
    if (saved.modified != null && saved.modified <= step) return "modified";
    return (node.pinned ?? []).filter((one) => one <= step).length % 2 ? "pinned" : "live";
  }

  /** The state of a node: that of its saved tensors which tells most. */
  state(node, step) {
    if (!node.saved.length) return "none";
    const found = new Set(node.saved.map((saved) => this.savedState(node, saved, step)));
    return ["modified", "freed", "pinned", "recomputed", "packed", "live"].find((state) => found.has(state));
  }

  /** [name, record] of each variable that the program has. */
  variablesAt(step) {
    return this.once("variables", step, () => Object.entries(this.variables)
      .map(([name, changes]) => [name, latest(changes, step)]).filter(([, record]) => record));
  }

  /** storage -> the names that hold it */
  holders(step) {
    return this.once("holders", step, () => {
      const found = new Map();
      const add = (storage, name) => {
        if (storage == null) return;
        if (!found.has(storage)) found.set(storage, []);
        found.get(storage).push(name);
      };
      for (const [name, record] of this.variablesAt(step)) {
        add(record.storage, name);
        if (record.grad) add(record.grad.storage, `${name}.grad`);
      }
      return found;
    });
  }

  /** node -> the names of what it made */
  namesOf(step) {
    return this.once("names", step, () => {
      const found = new Map();
      for (const [name, record] of this.variablesAt(step)) {
        if (record.node == null) continue;
        if (!found.has(record.node)) found.set(record.node, []);
        found.get(record.node).push(name);
      }
      return found;
    });
  }

  /** Rows of saved tensors: {node, saved, state, held}. */
  savedAt(step) {
    return this.once("saved", step, () => {
      const held = this.holders(step);
      return this.alive(step).flatMap((node) => node.saved.map((saved) => {
        const state = this.savedState(node, saved, step);
        return { node, saved, state, held: state === "freed" ? [] : held.get(saved.storage) ?? [] };
      }));
    });
  }

  /** The storages that are held at a step, the largest first: {storage, bytes, names, saved}. */
  largest(step) {
    const found = new Map();
    const of = (storage) => {
      if (!found.has(storage)) found.set(storage, { storage, bytes: this.storages[storage], names: [], saved: [] });
      return found.get(storage);
    };
    for (const [storage, names] of this.holders(step)) of(storage).names = names;
    for (const { node, saved, state } of this.savedAt(step)) if (state !== "freed" && saved.storage != null) of(saved.storage).saved.push({ node, saved });
    return [...found.values()].sort((a, b) => b.bytes - a.bytes);
  }

  /** Of each line of a source: bytes saved and held now, saved at all, freed by it, gradients it wrote; {line: {held, saved, freed, wrote}}. */
  lines(source, step) {
    return this.once(`lines ${source}`, step, () => {
      const found = new Map();
      const of = (line) => {
        if (!found.has(line)) found.set(line, { held: 0, saved: 0, freed: 0, wrote: 0, nodes: 0, modified: 0, seen: new Set() });
        return found.get(line);
      };
      for (const node of this.nodes) {
        if (node.born > step || (node.source ?? 0) !== source || node.line == null) continue;
        const row = of(node.line);
        row.nodes += 1;
        for (const saved of node.saved) {
          row.saved += saved.bytes;
          const state = this.savedState(node, saved, step);
          if (this.isAlive(node, step) && state !== "freed" && saved.storage != null && !row.seen.has(saved.storage)) {
            row.seen.add(saved.storage);
            row.held += this.storages[saved.storage];
          }
        }
      }
      for (const node of this.nodes) {
        for (const saved of node.saved) {
          if (node.freed_line != null && this.sourceOf(node.freed_line_of) === source && this.savedState(node, saved, step) === "freed") of(node.freed_line).freed += saved.bytes;
          if (saved.modified <= step && saved.modified_line != null && this.sourceOf(saved.modified_line_of) === source) of(saved.modified_line).modified += 1;
        }
      }
      for (let index = 0; index <= step; index += 1) {
        const { kind, node } = this.steps[index];
        const pass = this.steps[this.passOf[index]];
        if (kind === "node" && node != null && this.nodes[node].leaf && pass?.line != null && this.sourceOf(pass.line_of) === source) of(pass.line).wrote += 1;
      }
      return found;
    });
  }

  /** The nodes below the root of scopes: [label, …] from the outermost. */
  scopesOf(node) {
    const found = [];
    for (let scope = node.scope; scope != null; scope = this.scopes[scope].parent) found.unshift(scope);
    return found;
  }

  /** The number of the source of a name; the first, without one. */
  sourceOf(name) {
    return name == null ? 0 : this.sources.findIndex((source) => source.name === name);
  }

  /** A line of a source in words: `line 3`, `line 3 of model.py`. */
  line(line, source = 0) {
    const name = source > 0 ? this.sources[source].name : "";
    return `line ${line}${name && ` of ${show(name.startsWith("/") ? name.split("/").pop() : name, 40)}`}`;
  }

  /** The line and the source at which the program stands in a step, and where that ends. */
  place(step) {
    const one = this.steps[step];
    if (!one) return null;
    if (one.kind === "statement") return { line: one.line, end: one.end_line, source: 0 };
    const statement = this.steps[this.statementOf[step]];
    const pass = this.steps[this.passOf[step]];
    const line = pass?.line ?? statement?.line;
    return { line, end: line, source: pass?.line == null ? 0 : this.sourceOf(pass.line_of) };
  }

  nodeName(node, step) {
    const names = this.namesOf(step).get(node.index);
    return names ? `${names[0]} ${node.name}` : node.name;
  }

  /** A sentence about a step. */
  words(step, bytes) {
    const one = this.steps[step];
    if (!one) return "nothing was run";
    const { line, source } = this.place(step);
    const where = line == null ? "" : `${this.line(line, source)}: `;
    if (one.kind === "statement") return `${where}statement ${one.ok ? "done" : "failed"}`;
    if (one.kind === "pass") return `${where}a backward pass begins${one.keeps ? ", which keeps the graph" : ""}`;
    const node = this.nodes[one.node];
    if (!node) return `${where}a node runs`;
    const freed = node.freed === step ? node.saved.filter((saved) => saved.storage != null || !saved.packed) : [];
    const did = one.failed ? "fails" : freed.length
      ? `runs, frees ${freed.map((saved) => saved.name).slice(0, 4).join(", ")} (${bytes(freed.reduce((sum, saved) => sum + saved.bytes, 0))})`
      : node.leaf ? "receives its gradient" : "runs";
    return `${where}${this.nodeName(node, step)} ${did}`;
  }
}
