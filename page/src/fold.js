// Folds a graph: nodes become groups by module, function and loop, or line; groups are opened as far as there is room.

const ROOM = 36;
/** Groups of fewer nodes are drawn without a frame when they are open. */
const SMALL = 6;
const MOST = 260;
const PART = 40;

/** The groups around a node, outermost first: [key, label]. */
function pathOf(run, node, by) {
  const found = [];
  if (by === "none" || node.leaf) return found;
  if (by === "line") return node.line == null ? found : [[`line ${node.source ?? 0}:${node.line}`, run.line(node.line, node.source)]];
  for (const scope of run.scopesOf(node)) {
    const { kind, label } = run.scopes[scope];
    if (by === "module" && kind === "call" && node.module) break;
    found.push([`scope ${scope}`, kind === "loop" ? `loop` : label]);
  }
  if (by === "module" && node.module) {
    const parts = node.module.split(".");
    const outer = found.length ? found[found.length - 1][0] : "";
    parts.forEach((_, count) => {
      const path = parts.slice(0, count + 1).join(".");
      found.push([`module ${outer} ${path}`, path]);
    });
  }
  return found;
}

function groupOf(key, label, parent) {
  return { key, label, parent, children: [], nodes: [], groups: new Map() };
}

/** The tree of groups over nodes; a leaf belongs to the group in which alone it is used. */
export function treeOf(run, nodes, by) {
  const root = groupOf("", "", null);
  const homes = new Map();
  const place = (node, path) => {
    let group = root;
    for (const [key, label] of path) {
      if (!group.groups.has(key)) {
        const made = groupOf(key, label, group);
        group.groups.set(key, made);
        group.children.push(made);
      }
      group = group.groups.get(key);
    }
    group.children.push(node);
    homes.set(node.index, group);
  };
  for (const node of nodes) if (!node.leaf) place(node, pathOf(run, node, by));
  for (const node of nodes) {
    if (!node.leaf) continue;
    const around = new Set(node.users.map((user) => homes.get(user)).filter(Boolean));
    const home = around.size === 1 ? [...around][0] : root;
    home.children.push(node);
    homes.set(node.index, home);
  }
  tidy(root);
  return root;
}

/** Leave out groups around one thing; divide what has very many children into parts. */
function tidy(group) {
  group.children = group.children.map((child) => {
    if (!child.groups) return child;
    tidy(child);
    return child.children.length === 1 ? adopt(child.children[0], group, child) : child;
  });
  if (group.children.length > 2 * PART) {
    const parts = [];
    const size = Math.max(PART, Math.ceil(group.children.length / PART));
    for (let from = 0; from < group.children.length; from += size) {
      const part = groupOf(`${group.key} part ${from}`, "", group);
      part.children = group.children.slice(from, from + size);
      part.nodes = part.children.flatMap((child) => (child.groups ? child.nodes : [child]));
      part.children.forEach((child) => { if (child.groups) child.parent = part; });
      parts.push(part);
    }
    group.children = parts;
  }
  group.nodes = group.children.flatMap((child) => (child.groups ? child.nodes : [child]));
  for (const child of group.children) {
    if (!child.groups || child.label) continue;
    child.label = partLabel(child);
  }
}

/** What a part of very many children is called: by its first and last group, or by its lines. */
function partLabel(part) {
  const [first, last] = [part.children[0], part.children[part.children.length - 1]];
  if (first.groups && last.groups) return `${first.label} … ${last.label}`;
  const lines = part.nodes.map((node) => node.line).filter((line) => line != null);
  if (!lines.length) return "leaves";
  const [low, high] = [Math.min(...lines), Math.max(...lines)];
  return low === high ? `line ${low}, ${part.nodes[0].name} …` : `lines ${low}–${high}`;
}

function adopt(child, group, gone) {
  if (child.groups) {
    child.parent = group;
    child.label = child.label.startsWith(gone.label) ? child.label : `${gone.label} › ${child.label}`;
  }
  return child;
}

/** Which groups are open: of all the largest as long as there is room, and those that were asked for; never those that were closed. */
export function openGroups(root, asked, closed) {
  const open = new Set([root]);
  const groupsIn = (group) => group.children.filter((child) => child.groups && !closed.has(child.key));
  let units = root.children.length;
  const openOne = (group) => {
    open.add(group);
    units += group.children.length - 1;
    return groupsIn(group);
  };
  const room = root.nodes.length <= ROOM ? Infinity : ROOM;
  const waiting = groupsIn(root);
  while (waiting.length) {
    waiting.sort((a, b) => a.children.length - b.children.length);
    if (units + waiting[0].children.length - 1 > room) break;
    waiting.push(...openOne(waiting.shift()));
  }
  for (const group of waiting) {
    if (asked.has(group.key) && units + group.children.length - 1 <= MOST) waiting.push(...openOne(group));
  }
  return open;
}

/** What is drawn: units (nodes and closed groups), frames (open groups), and edges between units as [from, to, count]. */
export function drawn(root, open) {
  const units = [];
  const frames = [];
  const unitOf = new Map();
  const pairs = [];
  const visit = (group, parent) => {
    for (const child of group.children) {
      if (child.groups && open.has(child)) {
        if (child.nodes.length < SMALL) {
          visit(child, parent);
          continue;
        }
        const frame = { id: `f${frames.length}`, group: child, parent };
        frames.push(frame);
        visit(child, frame);
        continue;
      }
      const unit = { id: `u${units.length}`, group: child.groups ? child : null, node: child.groups ? null : child, parent };
      units.push(unit);
      (child.groups ? child.nodes : [child]).forEach((node) => {
        unitOf.set(node.index, unit);
        pairs.push([node, unit]);
      });
    }
  };
  visit(root, null);
  const edges = new Map();
  for (const [node, unit] of pairs) {
    for (const [to] of node.edges) {
      const other = unitOf.get(to);
      if (!other || other === unit) continue;
      const key = `${unit.id} ${other.id}`;
      const edge = edges.get(key) ?? [unit, other, 0];
      edge[2] += 1;
      edges.set(key, edge);
    }
  }
  return { units, frames, unitOf, edges: [...edges.values()] };
}
