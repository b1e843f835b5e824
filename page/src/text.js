// Text of a program as the page shows it: signs that cannot be seen or that turn text around are shown as escapes; bytes; elements.

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb]/g;

/** Text with its hidden signs as escapes, cut where it is longer than `most`. */
export function show(text, most = 300) {
  const whole = String(text);
  const cut = whole.length > most ? `${whole.slice(0, most)}…${whole.length > 1000 ? ` (${whole.length} characters)` : ""}` : whole;
  return cut.replace(HIDDEN, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Bytes in words: `8 B`, `1.5 KiB`. */
export function bytes(count) {
  if (count == null) return "";
  let value = count;
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (Math.abs(value) < 1024 || unit === "TiB") return unit === "B" ? `${value} B` : `${value.toFixed(value < 10 ? 2 : 1)} ${unit}`;
    value /= 1024;
  }
  return "";
}

/** A shape as Python writes it. */
export function shape(sizes) {
  return sizes == null ? "" : `(${sizes.join(", ")}${sizes.length === 1 ? "," : ""})`;
}

export function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** An element with attributes (`on…` are listeners) and children; text is text, never markup. */
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") Object.entries(value).forEach(([name, one]) => element.style.setProperty(name, one));
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((one) => one != null && one !== false));
  return element;
}
