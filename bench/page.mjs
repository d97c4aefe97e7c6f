// The sandbox's page before 100,000 profiles and 5,000 requests: first paint, search, how soon it tells, and memory.
import { mkdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { milliseconds, table, times } from './report.mjs';
import { FAST, input, PROFILES, profiles, startServer, stateFolder } from './workbench.mjs';

export const title = "Sandbox's page";

const ROWS = 100_000;
const REQUESTS = 5_000;
const LAUNCH = {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
};

export async function measure({ runs }) {
  const file = await input('csv', ROWS);
  const state = await stateFolder();
  const args = [
    'sandbox',
    '--json',
    '--port',
    '0',
    '--lookup-port',
    '0',
    '--eu-port',
    '0',
    '--page-port',
    '0',
  ];
  const fast = ['--rows-per-second', '999999999', '--data', state, '--state', state];
  const service = await startServer(PROFILES, [...args, ...fast], { ready: /\n\}\s*$/, cwd: state });
  const { base_url, page_url } = JSON.parse(service.text());
  const plain = await staticPage();
  mkdirSync(join(state, 'client'));
  const browser = await chromium.launch(LAUNCH);
  const found = { plain: [], paint: [], shown: [], search: [], told: [] };
  try {
    await profiles(['import', file, ...FAST, '--quiet'], { state: join(state, 'client'), url: base_url });
    const empty = memoryOf(service.pid);
    await polls(base_url, REQUESTS);
    const cold = await look(browser, page_url, found);
    for (let round = 0; round < Math.max(runs, 9); round++) {
      found.plain.push(await paintOf(browser, plain.url));
      await look(browser, page_url, found);
      found.told.push(await told(browser, base_url, page_url, round));
    }
    for (const seen of [found.paint, found.shown, found.search]) seen.shift(); // the cold one stands by itself
    const ratio = (seen) => times(seen.map((ms, i) => ms / found.plain[i]));
    const peak = memoryOf(service.pid);
    return [
      table(
        ['', 'time', 'of a plain static page'],
        [
          ['plain static page, first paint', milliseconds(found.plain), '1.00x'],
          ['first paint', milliseconds(found.paint), ratio(found.paint)],
          ['first 50 of 100,000 companies shown', milliseconds(found.shown), ratio(found.shown)],
          ['search for one of them, from key to row', milliseconds(found.search), ratio(found.search)],
          ['a request in the log, from its reply', milliseconds(found.told), '–'],
          ['the first look after an import: list shown', milliseconds([cold.shown]), '–'],
        ],
      ),
      `Memory of the server: ${empty} MB after the import, ${peak} MB after ${REQUESTS.toLocaleString('en')} requests and ${found.shown.length + 1} windows. Times are the page's own clock; the last two rows but one are from outside.`,
    ].join('\n\n');
  } finally {
    await browser.close();
    await plain.stop();
    await service.stop('SIGINT');
    await rm(state, { recursive: true });
  }
}

/** A page that says as much as the first view, and does nothing. */
async function staticPage() {
  const rows = Array.from(
    { length: 50 },
    (_, i) => `<tr><th>c-${i}</th><td>name: Company ${i} · plan: pro</td></tr>`,
  );
  const html = `<!doctype html><title>plain</title><h1>Companies</h1><table>${rows.join('')}</table>`;
  const server = createServer((_, reply) => reply.writeHead(200, { 'content-type': 'text/html' }).end(html));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

async function paintOf(browser, url) {
  const page = await browser.newPage();
  await page.goto(url);
  const paint = await page.evaluate(async () => {
    const seen = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
    while (seen() === undefined) await new Promise((resolve) => requestAnimationFrame(resolve));
    return seen();
  });
  await page.close();
  return paint;
}

/** Opens the first view, searches, and notes when each was shown. */
async function look(browser, url, found) {
  const page = await browser.newPage();
  await page.goto(url);
  await page.getByText('100,000 companies').waitFor({ timeout: 180_000 });
  const [paint, shown] = await page.evaluate(() => [
    performance.getEntriesByName('first-contentful-paint')[0].startTime,
    performance.getEntriesByName('profiles-shown')[0].startTime,
  ]);
  const search = await page.evaluate(async () => {
    const box = document.querySelector('input[type=search]');
    const begin = performance.now();
    box.value = 'c-00077777';
    box.dispatchEvent(new InputEvent('input', { bubbles: true }));
    for (;;) {
      const marks = performance.getEntriesByName('profiles-shown');
      const mark = marks.find(({ detail }) => detail.search === 'c-00077777');
      if (mark) return mark.startTime - begin;
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  });
  await page.close();
  found.paint.push(paint);
  found.shown.push(shown);
  found.search.push(search);
  return { paint, shown };
}

/** From a reply to the moment at which the open log shows the request. */
async function told(browser, base, url, round) {
  const page = await browser.newPage();
  await page.goto(`${url}requests`);
  await page.getByText('live', { exact: true }).waitFor();
  const path = `/v1/background_jobs/told-${round}`;
  await fetch(base + path, { headers: { authorization: 'Token x' } });
  const replied = performance.now();
  await page.getByText(path).waitFor();
  const time = performance.now() - replied;
  await page.close();
  return time;
}

async function polls(base, n) {
  const headers = { authorization: 'Token x' };
  const worker = async (from) => {
    for (let i = from; i < n; i += 8)
      await (await fetch(`${base}/v1/background_jobs/none-${i}`, { headers })).text();
  };
  await Promise.all(Array.from({ length: 8 }, (_, i) => worker(i)));
}

/** Resident, MiB. */
function memoryOf(pid) {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Math.round(Number(kilobytes) / 1024);
}
