// Takes pictures of pages, from their top to the end of their first plots.
import { resolve } from "node:path";
import { chromium } from "playwright-core";

const [executablePath, ...pictures] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
for (const [file, path] of pictures.map((picture) => picture.split("="))) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: "light" });
  await page.goto(`file://${resolve(file)}`);
  const height = await page.$eval(".multiples", (plots) => plots.getBoundingClientRect().bottom + 12);
  await page.screenshot({ path, fullPage: true, clip: { x: 0, y: 0, width: 1280, height } });
}
await browser.close();
