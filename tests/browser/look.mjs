// Tests the pages in a browser. Fails at the first difference from the expected state.
import { strict as assert } from "node:assert";
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { chromium } from "playwright-core";

const browser = await chromium.launch({ executablePath: process.argv[2], args: ["--no-sandbox"] });

/** Opens a page; returns it and a list of its requests and errors. */
async function open(file, options) {
  const page = await browser.newPage({ viewport: { width: 1100, height: 900 }, ...options });
  const trouble = [];
  page.on("console", (message) => trouble.push(message.text()));
  page.on("pageerror", (error) => trouble.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().endsWith(file)) trouble.push(`requests ${request.url()}`);
  });
  await page.goto(`file://${resolve(file)}`);
  return { page, trouble };
}

/** Returns a figure as the page shows it: times in milliseconds. */
function shown(pointer, value) {
  return pointer.includes("_ns") ? (value / 1e6).toFixed(3) : String(value);
}

const report = "runs/server/report.html";
assert(statSync(report).size < 1_000_000, "the page is smaller than 1 MB");
const result = JSON.parse(readFileSync("runs/server/result.json", "utf8"));
const { page, trouble } = await open(report, { colorScheme: "light" });
const figures = await page.$$eval("[data-pointer]", (all) => all.map((e) => [e.dataset.pointer, e.textContent]));
assert(figures.length > 40, `${figures.length} figures`);
for (const [pointer, text] of figures) {
  const value = pointer.slice(1).split("/").reduce((at, key) => at[key], result);
  assert.equal(text, shown(pointer, value), pointer);
}
// The page names the slow node and the reason.
assert.match(await page.textContent("#nodes-0 ~ p"), /rack1-slow is slow.*engine/s);
// A picture is as wide as its column, and its lines are visible.
for (const svg of await page.$$("svg")) {
  const box = await svg.boundingBox();
  assert(box.width > 600 && box.height > 150, JSON.stringify(box));
}
const stroke = (page) => page.$eval("svg polyline[stroke^='var(--c0']", (line) => getComputedStyle(line).stroke);
assert.equal(await stroke(page), "rgb(0, 114, 178)");
await page.screenshot({ path: "light.png", fullPage: true });
await page.screenshot({ path: "top.png" });
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
assert.deepEqual(trouble, []);

// In dark mode, and as narrow as a telephone, nothing is wider than the page.
const dark = await open(report, { colorScheme: "dark", viewport: { width: 420, height: 900 } });
assert.notEqual(await stroke(dark.page), "rgb(0, 114, 178)");
assert.equal(await dark.page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(22, 24, 26)");
assert(await dark.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page does not scroll sideways");
await dark.page.screenshot({ path: "dark.png", fullPage: true });
assert.deepEqual(dark.trouble, []);

const compared = await open("runs/compared.html", { colorScheme: "light" });
assert.equal((await compared.page.$$("svg")).length, 1);
assert.match(await compared.page.textContent("main"), /server_target_qps/);
await compared.page.screenshot({ path: "compared.png", fullPage: true });
assert.deepEqual(compared.trouble, []);
await browser.close();
console.log(`${figures.length} figures match result.json; no requests, no errors; screenshots are in this folder`);
