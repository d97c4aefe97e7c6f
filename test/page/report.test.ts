/** The report of an import, opened as a file: nothing runs, nothing is fetched, nothing reaches over an edge. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { cli, scratch } from '../support/cli.js';
import { type About, hostileAbout, pageOf } from '../support/reports.js';
import { aPlan, aStep, withRejections } from '../support/runs.js';
import { test as base, fits, MISSING, press, seriousFindings, tabTo, title } from './browser.js';

const WIDTHS = [360, 800, 1_600];

const test = base.extend<{ show: (page: string, options?: BrowserContextOptions) => Promise<Page> }>({
  show: async ({ browser }, use) => {
    const complaints: string[] = [];
    const contexts: { close(): Promise<void> }[] = [];
    await use(async (html, options = {}) => {
      const file = join(scratch(), 'report.html');
      writeFileSync(file, html);
      const context = await browser.newContext(options);
      contexts.push(context);
      const page = await context.newPage();
      const address = pathToFileURL(file).href;
      page.on('console', (message) => complaints.push(message.text()));
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('dialog', (dialog) => {
        complaints.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('request', (request) => {
        if (![address, 'data:,'].includes(request.url().split('#')[0]!)) complaints.push(request.url());
      });
      await page.goto(address);
      return page;
    });
    await Promise.all(contexts.map((context) => context.close()));
    expect(complaints).toEqual([]);
  },
});

const CASES: [string, About][] = [
  [
    'a run with rejected rows',
    {
      summary: withRejections(40),
      plan: aPlan(),
      next: [aStep('profiles resume x')],
    },
  ],
  ['what the state has of a run', { summary: withRejections(3), stored: true }],
  ['hostile texts', hostileAbout(3)],
];

describe.skipIf(MISSING).each(CASES)(title('the report of %s'), (_name, about) => {
  const html = pageOf(about);

  test.for(WIDTHS)('fits %i pixels', async (width, { show }) => {
    const page = await show(html, { viewport: { width, height: 800 } });
    expect(await fits(page)).toBe(true);
    // Nor is anything cut off inside.
    const wide = await page
      .locator('section')
      .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map(({ id }) => id));
    expect(wide).toEqual([]);
    expect(await page.evaluate(() => 'hacked' in globalThis)).toBe(false);
    expect(await page.locator('script, img, iframe, object, embed').count()).toBe(0);
  });

  test.for(['light', 'dark'] as const)(
    'has nothing serious for axe-core, in %s',
    async (colorScheme, { show }) => {
      for (const width of [360, 1_600]) {
        const page = await show(html, { colorScheme, viewport: { width, height: 800 } });
        expect(await seriousFindings(page)).toEqual([]);
      }
    },
  );

  test('prints in dark on light, without being cut', async ({ show }) => {
    const page = await show(html, { colorScheme: 'dark', viewport: { width: 688, height: 900 } });
    await page.emulateMedia({ media: 'print' });
    expect(await fits(page)).toBe(true);
    expect(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).toBe(
      'rgb(255, 255, 255)',
    );
    expect(await page.evaluate(() => getComputedStyle(document.body).color)).toBe('rgb(26, 28, 34)');
    expect(await page.locator('nav').isVisible()).toBe(false);
    expect((await page.pdf({ format: 'A4' })).length).toBeGreaterThan(1_000);
  });
});

describe.skipIf(MISSING)(title('a report'), () => {
  test('is read with a keyboard: past the links, or along them', async ({ show }) => {
    const page = await show(pageOf({ plan: aPlan() }));
    await press(page, page.getByRole('link', { name: 'Skip to the report' }));
    expect(page.url()).toMatch(/#content$/);
    await tabTo(page, page.getByRole('link', { name: 'Columns' }));
    await press(page, page.getByRole('link', { name: 'Columns' }));
    await expect
      .poll(() =>
        page
          .getByRole('region', { name: 'Columns' })
          .evaluate((e) => e.getBoundingClientRect().top < innerHeight),
      )
      .toBe(true);
    for (const name of ['banner', 'navigation', 'main', 'contentinfo'] as const) {
      expect(await page.getByRole(name).count()).toBe(1);
    }
    // On a narrow screen, too, rows and headers of a table are known as such.
    await page.setViewportSize({ width: 360, height: 800 });
    await page
      .getByRole('table', { name: 'Requests, their jobs, and when they ran' })
      .getByRole('rowheader', { name: '1' })
      .waitFor();
  });

  test('of a hostile file, as the command writes it', async ({ show }) => {
    const cwd = scratch();
    const name = `<img src=x onerror='hacked=1'>.csv`;
    const header = `company_id,"<script>hacked=1</script>","</style><b>","\u202eabc",${'w'.repeat(2_000)}`;
    writeFileSync(join(cwd, name), `${header}\n1,"<script>hacked=1</script>",2,3,4\n,"</title>",5,6,7\n`);
    const words = [
      'import',
      name,
      '--region',
      'sandbox',
      '--skip-invalid',
      '-o',
      'interval=5ms',
      '-o',
      'report_values=true',
      '--report',
      'r.html',
    ];
    expect((await cli(words, { cwd })).code).toBe(5);
    const page = await show(readFileSync(join(cwd, 'r.html'), 'utf8'), {
      viewport: { width: 360, height: 800 },
    });
    expect(await fits(page)).toBe(true);
    expect(await page.evaluate(() => 'hacked' in globalThis)).toBe(false);
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.getByRole('rowheader', { name: '<script>hacked=1</script>' }).first().waitFor();
    expect(await page.locator('b, script, img').count()).toBe(0);
  });
});
