// Bytes over time, by owner: stacked areas that uPlot draws; a click goes to the moment. Below, what held the most at the peak.

import uPlot from "uplot";
import { OWNERS } from "./model.js";
import { bytes, el, show } from "./text.js";

export class ChartView {
  constructor(app) {
    this.app = app;
    this.holder = el("div", { class: "chart", role: "img" });
    this.peak = el("p", { class: "peak" });
    this.largest = el("div", { class: "largest" });
    this.element = el("section", { class: "panel chart-panel", "aria-label": "memory over time" },
      el("h2", {}, "Memory over time"), this.peak, this.holder, this.largest);
    new ResizeObserver(() => this.plot?.setSize(this.size())).observe(this.holder);
  }

  size() {
    return { width: Math.max(200, this.holder.clientWidth), height: 190 };
  }

  update(state) {
    const { run } = state;
    this.state = state;
    const theme = document.documentElement.dataset.theme;
    if (this.run !== run || this.theme !== theme) this.make(run);
    [this.run, this.theme] = [run, theme];
    this.plot?.redraw(false, false);
    this.plot?.setLegend({ idx: state.step });
    const parts = run.bytes[state.step] ?? [];
    this.holder.setAttribute("aria-label", `${bytes(run.totals[state.step] ?? 0)} now: ${OWNERS.map((owner, index) => `${owner} ${bytes(parts[index] ?? 0)}`).join(", ")}; the table Bytes has all`);
    this.tellPeak(run);
  }

  resize() {
    this.make(this.run);
    this.update(this.state);
  }

  make(run) {
    this.plot?.destroy();
    if (!run.bytes.length) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const sums = run.bytes.map(() => 0);
    const stacked = OWNERS.map((_, owner) => run.bytes.map((parts, step) => (sums[step] += parts[owner])));
    const axis = { stroke: colour("--ink"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), width: 1 } };
    const total = (values, owner, step) => values[step] - (owner ? stacked[owner - 1][step] : 0);
    this.plot = new uPlot({
      ...this.size(),
      scales: { x: { time: false, range: [1, Math.max(2, run.bytes.length)] }, y: { range: (_, low, high) => [0, Math.max(1, high * 1.2)] } },
      legend: { live: true },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      axes: [{ ...axis, label: "step", incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000], labelSize: 18, size: 30, font: "11px system-ui" }, { ...axis, size: 74, font: "11px system-ui", values: (_, ticks) => ticks.map((one) => bytes(one)) }],
      series: [
        { label: "step" },
        ...OWNERS.map((owner, index) => ({
          label: owner, stroke: colour(`--${owner}`), width: 1, paths: uPlot.paths.stepped({ align: 1 }), points: { show: run.bytes.length === 1 },
          fill: index ? undefined : colour(`--${owner}`), value: (_, value, __, step) => (step == null ? "" : bytes(total(stacked[index], index, step))),
        })),
      ],
      bands: OWNERS.slice(1).map((owner, index) => ({ series: [index + 2, index + 1], fill: colour(`--${owner}`) })),
      hooks: { setCursor: [(plot) => { if (plot.cursor.idx == null) plot.setLegend({ idx: this.state.step }); }], draw: [(plot) => this.mark(plot, run, colour)] },
    }, [run.bytes.map((_, step) => step + 1), ...stacked], this.holder);
    this.plot.over.addEventListener("click", () => { if (this.plot.cursor.idx != null) this.app.go({ step: this.plot.cursor.idx }); });
  }

  /** Mark the peak and the moment. */
  mark(plot, run, colour) {
    const { ctx } = plot;
    const line = (step, stroke, dash, words) => {
      const x = plot.valToPos(step + 1, "x", true);
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = stroke;
      ctx.setLineDash(dash);
      ctx.lineWidth = 2 * devicePixelRatio;
      ctx.beginPath();
      ctx.moveTo(x, plot.bbox.top);
      ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
      ctx.stroke();
      ctx.font = `${11 * devicePixelRatio}px system-ui`;
      ctx.textAlign = x > plot.bbox.left + plot.bbox.width / 2 ? "right" : "left";
      if (words) ctx.fillText(` ${words} `, x, plot.bbox.top + 11 * devicePixelRatio);
      ctx.restore();
    };
    if (run.peak != null) line(run.peak, colour("--peak"), [5, 4], "peak");
    line(this.state.step, colour("--ink"), [], "");
  }

  tellPeak(run) {
    if (this.told === run || run.peak == null) return;
    this.told = run;
    const at = run.peak;
    const most = run.totals[at];
    const rows = run.largest(at).slice(0, 5);
    const place = run.place(at);
    const words = ({ names, saved }) => [...names, ...saved.slice(0, 2).map(({ node, saved: one }) => `${node.name}.${one.name}${node.line == null ? "" : ` (${run.line(node.line, node.source)})`}`),
      saved.length > 2 ? `${saved.length - 2} more` : ""].filter(Boolean).join(", ");
    const lines = run.sources.flatMap((source, index) => [...run.lines(index, at)].map(([line, { held }]) => [held, line, index]))
      .filter(([held]) => held).sort((a, b) => b[0] - a[0]).slice(0, 3);
    const link = (words_, onclick) => el("button", { type: "button", class: "link", onclick }, words_);
    const lineLink = (line, source) => link(run.line(line, source), () => { this.app.go({ step: at }); this.app.showLine(line, source); });
    this.peak.replaceChildren(
      "Peak: ", el("strong", {}, bytes(most)), " at ", link(`step ${at + 1}${place?.line == null ? "" : `, ${run.line(place.line, place.source)}`}`, () => this.app.go({ step: at })),
      rows.length ? `; the largest tensor: ${show(words(rows[0]), 120)}, ${bytes(rows[0].bytes)}` : "", `; ${OWNERS.map((owner, index) => [run.bytes[at][index], owner]).filter(([count]) => count).sort((a, b) => b[0] - a[0]).map(([count, owner]) => `${owner} ${bytes(count)}`).join(", ")}. `,
      ...(lines.length ? ["Saved for backward by ", ...lines.flatMap(([held, line, source], index) => [index ? ", " : "", lineLink(line, source), `: ${bytes(held)}`]), "."] : []));
    this.largest.replaceChildren(el("h3", {}, "The largest tensors at the peak"),
      el("ol", { class: "bars" }, rows.map((row) => el("li", {}, el("span", { class: "bar", style: { width: `${Math.max(1, (100 * row.bytes) / Math.max(1, rows[0].bytes))}px` } }), el("strong", {}, bytes(row.bytes)), ` ${show(words(row), 200)}`))));
  }
}
