// Tests the pages in a browser. Fails at the first difference from the expected state.
import { strict as assert } from "node:assert";
import { existsSync, readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { chromium } from "playwright-core";

const browser = await chromium.launch({ executablePath: process.argv[2], args: ["--no-sandbox"] });
const canvas = await browser.newPage();
let shot = 0;

/** Opens a page; returns it and a list of its requests and errors. */
async function open(file, options) {
  const page = await browser.newPage({ deviceScaleFactor: 2, ...options });
  const trouble = [];
  page.on("console", (message) => trouble.push(message.text()));
  page.on("pageerror", (error) => trouble.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().endsWith(file)) trouble.push(`requests ${request.url()}`);
  });
  await page.goto(`file://${resolve(file)}`);
  return { page, trouble };
}

/** Returns how many pixels of an element have each of the colours, such as "rgb(0, 114, 178)". */
async function pixels(element, colours) {
  const png = (await element.screenshot()).toString("base64");
  const wanted = colours.map((colour) => colour.match(/\d+/g).slice(0, 3).map(Number));
  return canvas.evaluate(async ([png, wanted]) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    const counts = wanted.map(() => 0);
    for (let at = 0; at < data.length; at += 4) {
      wanted.forEach((colour, number) => {
        if (colour.every((part, place) => Math.abs(part - data[at + place]) < 12)) counts[number] += 1;
      });
    }
    return counts;
  }, [png, wanted]);
}

/** Tests the form of a plot: its texts, its colours and its values on hover. */
async function lookAtPlot(page, svg, name) {
  const plot = await svg.evaluate((svg) => {
    const style = (selector, property) => [...svg.querySelectorAll(selector)].map((one) => getComputedStyle(one)[property]);
    const rect = (one) => (({ left, right, top, bottom }) => ({ left, right, top, bottom }))(one.getBoundingClientRect());
    const keys = svg.closest("figure").querySelectorAll(".key");
    return {
      role: svg.getAttribute("role"),
      parts: [...svg.children].slice(0, 2).map((child) => [child.tagName, child.textContent.trim()]),
      texts: [...svg.querySelectorAll("text")].map((text) => ({
        text: text.textContent,
        size: parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a,
        ...rect(text),
      })),
      rect: rect(svg),
      lines: style(".line", "stroke"),
      bounds: [...style("line.bound", "stroke"), ...style("polygon.bound", "fill")],
      labels: svg.querySelectorAll("text.bound").length,
      keys: [...keys].map((key) => [getComputedStyle(key).backgroundColor, key.parentElement.textContent]),
      hovers: [...svg.querySelectorAll(".strip > title, .mark > title")].map((title) => title.textContent),
    };
  });
  name = `${name}: ${plot.parts[0]?.[1]}`;
  assert.equal(plot.role, "img", name);
  assert.deepEqual(plot.parts.map(([tag, text]) => [tag, text.length > 3]), [["title", true], ["desc", true]], name);
  assert(plot.texts.length > 4, `${name} has labels`);
  for (const text of plot.texts) {
    assert(text.size >= 11, `${name}: "${text.text}" has ${text.size} px`);
    assert(text.left > plot.rect.left - 1 && text.right < plot.rect.right + 1, `${name}: "${text.text}" is inside`);
    const touched = plot.texts.find((other) => other !== text && other.left < text.right && text.left < other.right &&
      other.top < text.bottom - 2 && text.top < other.bottom - 2);
    assert(!touched, `${name}: "${text.text}" is clear of "${touched?.text}"`);
  }
  // Every line, and the bound with its label, is visible in its colour; the bound's is no line's.
  assert(plot.lines.length > 0, `${name} has lines`);
  assert.equal(plot.labels, plot.bounds.length, `${name} labels its bound`);
  assert(plot.bounds.every((colour) => !plot.lines.includes(colour)), `${name}: the bound has its own colour`);
  const colours = [...plot.lines, ...plot.bounds];
  const counts = await pixels(svg, colours);
  counts.forEach((count, number) => assert(count > 40, `${name}: ${count} pixels of ${colours[number]}`));
  // The legend has the colour of each line, in order.
  if (plot.lines.length > 1) assert.deepEqual(plot.keys.map(([colour]) => colour), plot.lines, name);
  const keys = await svg.$$("xpath=ancestor::figure[1]//*[@class='key']");
  for (const [number, key] of keys.entries()) {
    assert((await pixels(key, [plot.keys[number][0]]))[0] > 100, `${name}: the key of ${plot.keys[number][1]}`);
  }
  // Values are shown on hover, each with a number.
  assert(plot.hovers.length > 0 && plot.hovers.every((text) => /\d/.test(text)), `${name}: ${plot.hovers}`);
  const strip = await svg.$(".strip");
  if (strip) {
    assert(plot.hovers[0].split("\n").length > 1, plot.hovers[0]);
    await strip.hover();
    assert.notEqual(await strip.$eval("line", (line) => getComputedStyle(line).stroke), "none", name);
    await page.mouse.move(0, 0);
  }
}

/** Tests the form of a heat map, which does not shrink: its texts, its scale, and what it colours as slow. */
async function lookAtHeatMap(svg, name) {
  const map = await svg.evaluate((svg) => ({
    parts: [...svg.children].slice(0, 2).map((child) => [child.tagName, child.textContent.length > 3]),
    shrinks: svg.getBoundingClientRect().width < svg.viewBox.baseVal.width - 1,
    sizes: [...svg.querySelectorAll("text")].map((text) => parseFloat(getComputedStyle(text).fontSize)),
    slow: [...svg.querySelectorAll("g > rect[fill='var(--bad)']")].map((rect) => rect.parentNode.querySelector("title").textContent),
    named: [...svg.querySelectorAll("g > title")].filter((title) => title.textContent.endsWith(", SLOW")).length,
    pairs: svg.querySelectorAll("g").length,
    keys: [...svg.querySelectorAll("svg > text")].map((text) => text.textContent),
  }));
  assert.deepEqual(map.parts, [["title", true], ["desc", true]], name);
  assert(!map.shrinks && map.sizes.every((size) => size >= 11), `${name}: ${map.sizes}`);
  assert(map.pairs >= 6 && map.slow.length === map.named && map.slow.every((title) => title.endsWith(", SLOW")), `${name}: ${map.slow}`);
  assert(map.keys.some((key) => /GB\/s$/.test(key)), `${name} has a scale: ${map.keys}`);
  assert.equal(map.keys.includes("SLOW"), map.slow.length > 0, name);
  // Each square and each step of the scale is visible, in its shade.
  for (const rect of await svg.$$("rect")) {
    const { colour, area } = await rect.evaluate((rect) => {
      const parts = (colour) => colour.match(/\d+/g).slice(0, 3).map(Number);
      const { fill, fillOpacity } = getComputedStyle(rect);
      const paper = parts(getComputedStyle(document.body).backgroundColor);
      const mixed = parts(fill).map((part, place) => Math.round(part * fillOpacity + paper[place] * (1 - fillOpacity)));
      return { colour: `rgb(${mixed})`, area: rect.width.baseVal.value * rect.height.baseVal.value };
    });
    const [count] = await pixels(rect, [colour]);
    assert(count > area, `${name}: ${count} pixels of ${colour}`);
  }
}

/** Tests the form of a page on a wide light screen and on a narrow dark one. `test` gets the wide page. */
async function look(file, { plots, test = async () => {} }) {
  assert(statSync(file).size < 1_000_000, `${file} is smaller than 1 MB`);
  const name = (shot += 1) + "-" + file.replace(/\.html$/, "").replaceAll("/", "-");
  for (const [width, colorScheme, columns] of [[1280, "light", 2], [400, "dark", 1]]) {
    const { page, trouble } = await open(file, { viewport: { width, height: 900 }, colorScheme });
    const where = `${file} at ${width} px`;
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert(over <= 0, `${where} scrolls sideways by ${over} px`);
    const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(paper, width > 400 ? "rgb(255, 255, 255)" : "rgb(22, 24, 26)");
    const all = await page.$$("svg:not(.fixed)");
    assert.equal(all.length, plots, `pictures of ${where}`);
    for (const svg of all) await lookAtPlot(page, svg, where);
    for (const svg of await page.$$("svg.fixed")) await lookAtHeatMap(svg, where);
    const grids = await page.$$eval(".multiples", (grids) => grids.map((grid) => [...grid.children].map((one) => one.offsetLeft)));
    for (const grid of grids.filter((grid) => grid.length > 1)) assert.equal(new Set(grid).size, columns, `columns of ${where}`);
    await page.screenshot({ path: `${name}-${width}.png`, fullPage: true });
    if (width > 400) await test(page);
    assert.deepEqual(trouble, []);
    await page.close();
  }
}

/** Returns a figure as the page shows it: times in milliseconds. */
function shown(pointer, value) {
  return pointer.includes("_ns") ? (value / 1e6).toFixed(3) : String(value);
}

/** Tests the tiles of a run: labels, and a bar for each percentile with a bound. */
async function lookAtTiles(page, labels, gauges) {
  const tiles = await page.$$eval(".tile", (all) => all.map((tile) => tile.querySelector(".label").textContent));
  assert.deepEqual(tiles, labels);
  const bars = await page.$$(".tile .gauge");
  assert.equal(bars.length, gauges);
  for (const bar of bars) {
    const colours = await bar.evaluate((bar) => [...bar.children].map((part) => getComputedStyle(part).backgroundColor));
    (await pixels(bar, colours)).forEach((count, number) => assert(count > 10, `${count} pixels of ${colours[number]}`));
  }
}

/** Returns the rows of a table that the page offers for downloading. */
async function downloaded(page, name) {
  const address = await page.getAttribute(`a[download="${name}"]`, "href");
  return Buffer.from(address.split("base64,")[1], "base64").toString().trim().split("\n");
}

/** Tests the page of a sweep: its tiles, a point for each step, and the table. */
async function lookAtSweep(folder) {
  const sweep = JSON.parse(readFileSync(`${folder}/sweep.json`, "utf8"));
  const measures = sweep.steps.some((step) => step.first_token_ns) ? ["TTFT", "TPOT"] : ["Latency"];
  const plots = measures.length * (sweep.steps.some((step) => step.tokens_per_second) ? 2 : 1) + 2;
  await look(`${folder}/report.html`, { plots, test: async (page) => {
    const [rate, source] = sweep.load === "rate" ? ["highest VALID rate", ""] : ["highest rate", " from sending"];
    const labels = sweep.node_sets.flatMap((nodes) => {
      const of = nodes === 1 ? "1 node" : `${nodes} nodes`;
      const isFound = sweep.load !== "rate" || sweep.best.some((best) => best.nodes === nodes);
      return [rate, ...(isFound ? measures.map((measure) => `${measure} p99${source}`) : [])].map((label) => `${of}: ${label}`);
    });
    const tiles = await page.$$eval(".tile .label", (all) => all.map((label) => label.textContent));
    const scaling = tiles.includes("scaling of the highest rate") ? ["scaling of the highest rate"] : [];
    assert.deepEqual(tiles, [...labels, ...scaling, "lost samples"]);
    for (const svg of await page.$$("svg")) {
      const marks = await svg.$$eval(".mark", (all) => all.map((mark) => [mark.getAttribute("rx"), mark.getAttribute("fill")]));
      assert.equal(marks.length, sweep.steps.length, "a point for each step");
      assert.equal(marks.filter(([corner]) => corner === "0").length, sweep.steps.filter((step) => step.client_limit).length);
      const isHollow = ([, fill]) => fill === "var(--paper)";
      assert.equal(marks.filter(isHollow).length, sweep.steps.filter((step) => step.verdict !== "VALID").length);
    }
    const links = await page.$$eval("table a", (all) => all.map((link) => link.getAttribute("href")));
    const pages = sweep.steps.map((step) => `${step.folder}/report.html`);
    assert.deepEqual(links, pages.map((file, step) => `./${existsSync(`${folder}/${file}`) ? file : `${sweep.steps[step].folder}/result.json`}`));
    assert.equal((await downloaded(page, "sweep.csv")).length, sweep.steps.length + 1);
    const own = (await page.textContent("main")).split("latencies are netdiv's own, measured from sending").length - 1;
    assert(sweep.load === "rate" ? own === 0 : own >= plots + 2, `${own} notes on latencies`);
  } });
}

const result = JSON.parse(readFileSync("runs/server/result.json", "utf8"));
let figures;
await look("runs/server/report.html", { plots: 4, test: async (page) => {
  figures = await page.$$eval("[data-pointer]", (all) => all.map((e) => [e.dataset.pointer, e.textContent]));
  assert(figures.length > 40, `${figures.length} figures`);
  for (const [pointer, text] of figures) {
    const value = pointer.slice(1).split("/").reduce((at, key) => at[key], result);
    assert.equal(text, shown(pointer, value), pointer);
  }
  await lookAtTiles(page, ["rate", "p99 latency", "lost samples", "nodes"], 1);
  // The page names the slow node and the reason. Legends have the order of the nodes.
  assert.match(await page.textContent("#nodes-0 ~ p"), /rack1-slow is slow.*compute/s);
  assert.match(await page.textContent(".legend"), /rack1-a.*rack1-b.*rack1-slow.*all nodes/s);
  assert.match(await page.textContent("svg text.bound"), /^bound for p99: 25 ms$/);
  assert.match(await page.textContent("main"), /\d{1,2} [A-Z][a-z]+ 20\d\d, \d\d:\d\d UTC/);
  const nodes = await downloaded(page, "nodes.csv");
  assert(nodes.length === 5 && nodes[0].startsWith("run,benchmark,"), nodes[0]);
  const series = readFileSync("runs/server/series.csv", "utf8").trim().split("\n");
  assert.deepEqual(await downloaded(page, "series.csv"), series);
  // The keyboard reaches the contents, the wide tables, and folded sections, which Enter opens.
  const reached = new Set();
  for (let press = 0; press < 60; press += 1) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => document.activeElement.tagName));
    const folded = await page.evaluate(() => document.activeElement.matches("details:not([open]) > summary"));
    if (folded) {
      await page.keyboard.press("Enter");
      assert(await page.evaluate(() => document.activeElement.parentElement.open), "the section opens");
    }
  }
  assert.deepEqual([...reached].sort().filter((tag) => ["A", "DIV", "SUMMARY"].includes(tag)), ["A", "DIV", "SUMMARY"]);
  await page.pdf({ path: "report.pdf" });
} });
await look("runs/chat/report.html", { plots: 8, test: async (page) => {
  await lookAtTiles(page, ["rate", "rate", "p99 TTFT", "p99 TPOT", "lost samples", "nodes"], 2);
  // A bound far outside the data is an arrow at the edge: that of the first token, and the same over time.
  assert((await page.$$("svg polygon.bound")).length >= 2);
  assert.equal((await page.$$("svg text.bound")).length, 3);
} });
await look("runs/overview.html", { plots: 9, test: async (page) => {
  assert.match(await page.textContent("table"), /server.*VALID.*samples\/s.*p99 latency.*bound 25 ms.*server-2/s);
  assert.equal((await downloaded(page, "runs.csv")).length, 9);
} });
await look("runs/report.html", { plots: 3, test: async (page) => {
  const links = await page.$$eval("table a", (all) => all.map((link) => link.getAttribute("href")));
  assert.deepEqual(links, ["./chat/report.html", "./server/report.html", "./server-2"]);
} });
await look("runs/compared.html", { plots: 1, test: async (page) => {
  assert.match(await page.textContent("main"), /server_target_qps/);
  const titles = await page.$$eval(".wide", (all) => [...all.at(-1).querySelectorAll("thead th")].map((th) => th.textContent));
  assert.deepEqual(titles, ["figure", "A", "→ B", "change"]);
} });
await look("runs/fabric/fabric.html", { plots: 2, test: async (page) => {
  await lookAtTiles(page, ["best rate to nodes", "best rate from nodes", "round trip, p50", "limited by"], 0);
  const measured = JSON.parse(readFileSync("runs/fabric/fabric.json", "utf8"));
  assert.equal((await page.$$("svg .mark")).length, measured.bandwidth.length + 4 * 2, "a mark for each rate and percentile");
  // The axis has few, short labels.
  const labels = await page.$$eval("svg text[text-anchor=end]", (all) => all.map((text) => text.textContent));
  assert(labels.every((label) => label.length < 26) && !labels.some((label) => label.includes("0000000")), labels);
  assert.equal((await page.$$("details:not([open]) table")).length, 5, "folded tables");
} });
await look("runs/matrix/fabric.html", { plots: 0, test: async (page) => {
  const verdicts = await page.$$eval(".verdict", (all) => all.map((verdict) => verdict.textContent));
  assert(verdicts.some((text) => /nothing is slow|SLOW/.test(text)), `${verdicts}`);
  assert.equal((await page.$$("svg.fixed")).length, 1);
} });
for (const folder of process.argv.slice(3)) await lookAtSweep(folder);
await browser.close();

console.log(`${figures.length} figures match result.json; no requests, no errors; screenshots are in this folder`);
