// Bundles the page into gradsh/report/page.html: one file, its script and style allowed by their hashes and nothing else.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const HERE = new URL(".", import.meta.url);
const OUT = new URL("../gradsh/report/", HERE);
const PACKAGES = ["@dagrejs/dagre", "@dagrejs/graphlib", "d3-color", "d3-dispatch", "d3-drag", "d3-ease", "d3-interpolate", "d3-selection", "d3-timer", "d3-transition", "d3-zoom", "uplot"];
const read = (path) => readFileSync(new URL(path, HERE), "utf8");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const bundled = await build({
  entryPoints: [new URL("src/main.js", HERE).pathname], bundle: true, minify: true, write: false, format: "iife", target: "es2022", charset: "ascii", legalComments: "none", metafile: true,
});
const script = bundled.outputFiles[0].text.replaceAll("</script", "<\\/script").trim();
const { outputFiles: [css] } = await build({
  stdin: { contents: `@import "uplot/dist/uPlot.min.css";\n@import "./src/style.css";`, resolveDir: HERE.pathname, loader: "css" }, bundle: true, minify: true, write: false, charset: "ascii",
});
const style = css.text.trim();
const used = new Set(Object.keys(bundled.metafile.inputs).filter((path) => path.includes("node_modules/"))
  .map((path) => path.split("node_modules/").pop().split("/").slice(0, path.includes("node_modules/@") ? 2 : 1).join("/")));
const unknown = [...used].filter((name) => !PACKAGES.includes(name));
if (unknown.length) throw new Error(`name the licences of ${unknown.join(", ")} in build.mjs`);
const licences = [...used].sort().map((name) => {
  const { version, license } = JSON.parse(read(`node_modules/${name}/package.json`));
  return `${name} ${version} (${license})\n\n${read(`node_modules/${name}/LICENSE`).trim()}\n`;
});
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`;
writeFileSync(new URL("page.html", OUT), `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gradsh report</title>
<style>${style}</style>
</head>
<body>
<noscript>This page needs JavaScript; the same data as JSON: gradsh run --report FILE.json</noscript>
<!--report-->
<script>${script}</script>
</body>
</html>
`);
writeFileSync(new URL("page.LICENSES.txt", OUT), `The page of a report holds these packages:\n\n${licences.join("\n---\n\n")}`);
console.log(`page.html: ${Math.round((script.length + style.length) / 1024)} KiB, with ${[...used].sort().join(", ")}`);
