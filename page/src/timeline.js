// The timeline: play, step, back; a slider with ticks for statements, failures and the peak; the step in words.

import { bytes, el, show } from "./text.js";

const SPEEDS = [["slow", 1200], ["normal", 450], ["fast", 120], ["fastest", 30]];

export class Timeline {
  constructor(app) {
    this.app = app;
    const button = (words, title, action, key) => el("button", { type: "button", title: `${title} (${key})`, "aria-label": title, onclick: action }, words);
    this.playButton = button("▶ play", "play", () => this.toggle(), "space");
    this.slider = el("input", { type: "range", min: 1, max: 1, value: 1, "aria-label": "step", oninput: () => app.go({ step: Number(this.slider.value) - 1 }) });
    this.speed = el("select", { "aria-label": "speed" }, SPEEDS.map(([words, wait]) => el("option", { value: wait, selected: words === "normal" }, words)));
    this.words = el("output", { class: "words", "aria-live": "polite" });
    this.ticks = el("div", { class: "ticks", "aria-hidden": "true" });
    this.element = el("nav", { class: "timeline", "aria-label": "timeline" },
      el("div", { class: "buttons" },
        button("|◀", "first step", () => this.to(0), "Home"), button("◀◀", "statement before", () => this.statement(-1), "shift ←"), button("◀", "step back", () => this.by(-1), "←"),
        this.playButton, button("▶", "step", () => this.by(1), "→"), button("▶▶", "next statement", () => this.statement(1), "shift →"), button("▶|", "last step", () => this.to(Infinity), "End"),
        this.speed,
        this.failureButton = button("failure", "go to the failure", () => app.goFailure(app.state.run.failures[0]), "f"), button("peak", "go to the peak of memory", () => this.to(app.state.run.peak ?? 0), "p")),
      el("div", { class: "slide" }, this.slider, this.ticks), this.words);
  }

  get last() {
    return this.app.state.run.steps.length - 1;
  }

  to(step) {
    this.stop();
    this.app.go({ step: Math.min(step, this.last) });
  }

  by(count) {
    this.to(Math.max(0, this.app.state.step + count));
  }

  statement(direction) {
    const { run, step } = this.app.state;
    let at = step + direction;
    while (at > 0 && at < this.last && run.steps[at].kind !== "statement") at += direction;
    this.to(Math.max(0, Math.min(at, this.last)));
  }

  toggle() {
    if (this.playing) {
      this.stop();
      return;
    }
    if (this.app.state.step >= this.last) this.app.go({ step: 0 });
    this.playing = true;
    this.playButton.textContent = "❚❚ pause";
    this.playButton.setAttribute("aria-label", "pause");
    this.words.setAttribute("aria-live", "off");
    const next = () => {
      if (!this.playing) return;
      if (this.app.state.step >= this.last) this.stop();
      else {
        this.app.go({ step: this.app.state.step + 1 });
        this.timer = setTimeout(next, Number(this.speed.value));
      }
    };
    this.timer = setTimeout(next, Number(this.speed.value));
  }

  stop() {
    clearTimeout(this.timer);
    this.playing = false;
    this.playButton.textContent = "▶ play";
    this.playButton.setAttribute("aria-label", "play");
    this.words.setAttribute("aria-live", "polite");
  }

  update({ run, step }) {
    this.slider.max = Math.max(1, run.steps.length);
    this.slider.value = step + 1;
    const text = `step ${step + 1} of ${run.steps.length} · ${run.words(step, bytes)} · ${bytes(run.totals[step] ?? 0)} held`;
    this.slider.setAttribute("aria-valuetext", text);
    this.words.textContent = show(text);
    this.failureButton.hidden = !run.failures.length;
    if (this.run !== run) this.mark(run);
    this.run = run;
  }

  /** Ticks below the slider: failures, the peak, and statements where there is room. */
  mark(run) {
    const all = run.steps.length;
    const at = (step, kind, title) => el("i", { class: kind, title, style: { left: `${(100 * step) / Math.max(1, all - 1)}%` } });
    const statements = run.steps.map((one, step) => [one, step]).filter(([one]) => one.kind === "statement");
    this.ticks.replaceChildren(
      ...(statements.length <= 200 ? statements.map(([one, step]) => at(step, "tick", `line ${one.line}`)) : []),
      ...(run.peak == null ? [] : [at(run.peak, "peak", "peak")]),
      ...run.failures.slice(0, 200).map((one) => at(Math.min(one.step, all - 1), "failed", `failure on line ${one.line}`)));
  }
}
