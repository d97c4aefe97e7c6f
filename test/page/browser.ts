/** A real Chromium before a sandbox of the test's own. Needs the built page: `npm run build`. */
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { test as base, expect } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.js';

/** Debian's, or the one that is named. */
const PROGRAM = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path !== undefined && existsSync(path),
);

/** Why the tests of this suite are skipped, where they are. */
export const MISSING =
  PROGRAM === undefined ? 'no Chromium here: apt-get install chromium, or CHROMIUM=<path>' : null;
export const title = (name: string): string => (MISSING === null ? name : `${name} (skipped: ${MISSING})`);

/** Names that resolve to this machine, as those of an attacker's page would. */
export const EVIL = 'evil.example';

interface Fixtures {
  sandboxOptions: SandboxOptions;
  sandbox: Sandbox;
  /** Starts another one, which stops with the test. */
  start: (options: SandboxOptions) => Promise<Sandbox>;
  /** Opens a window at a path below the page's address. What goes wrong in it fails the test. */
  open: (path?: string, options?: BrowserContextOptions) => Promise<Page>;
  /** Kept by the windows that were opened: errors of the console, of scripts, of the security policy. */
  complaints: string[];
}

export const test = base.extend<Fixtures & { browser: Browser }>({
  browser: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from the pattern
    async ({}, use) => {
      const browser = await chromium.launch({
        executablePath: PROGRAM!,
        args: ['--no-sandbox', `--host-resolver-rules=MAP ${EVIL} 127.0.0.1`],
      });
      await use(browser);
      await browser.close();
    },
    { scope: 'worker' },
  ],
  sandboxOptions: {},
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from the pattern
  start: async ({}, use) => {
    const started: Sandbox[] = [];
    await use(async (options) => {
      const sandbox = await startSandbox({ expectToken: null, ...options });
      started.push(sandbox);
      return sandbox;
    });
    await Promise.all(started.map((sandbox) => sandbox.stop()));
  },
  sandbox: async ({ start, sandboxOptions }, use) => {
    await use(await start({ ...sandboxOptions, ports: { page: 0, ...sandboxOptions.ports } }));
  },
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from the pattern
  complaints: async ({}, use) => {
    await use([]);
  },
  open: async ({ browser, sandbox, complaints }, use) => {
    const contexts: { close(): Promise<void> }[] = [];
    await use(async (path = '', options = {}) => {
      const context = await browser.newContext(options);
      contexts.push(context);
      const page = await context.newPage();
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('dialog', (dialog) => {
        complaints.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      await page.goto(sandbox.pageUrl! + path);
      await page.getByText('live', { exact: true }).waitFor();
      return page;
    });
    await Promise.all(contexts.map((context) => context.close()));
    expect(complaints).toEqual([]);
  },
});

/** What axe-core finds that is serious. It comes in by the debugger, past the page's policy. */
export async function seriousFindings(page: Page): Promise<string[]> {
  const debug = await page.context().newCDPSession(page);
  await debug.send('Runtime.evaluate', { expression: axe.source });
  const { result } = await debug.send('Runtime.evaluate', {
    expression: `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await debug.detach();
  return result.value as string[];
}

/** Moves the focus there as a person without a mouse does. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let i = 0; i < 120; i++) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`the tabulator does not reach ${target}`);
}

/** The same, then presses a key there. */
export async function press(page: Page, target: Locator, key = 'Enter'): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press(key);
}

/** Nothing reaches over the window's edge. */
export async function fits(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);
}
