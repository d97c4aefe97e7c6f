/** A rehearsal before open windows: what a person sees of an import, without the mouse. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { type Child, profiles } from '../support/child.js';
import { scratch } from '../support/cli.js';
import { environmentOf } from '../support/sandbox.js';
import { fits, MISSING, press, seriousFindings, tabTo, test, title } from './browser.js';

const SETTINGS = ['retry_delay=400ms', 'retries=20', 'interval=200ms'].flatMap((one) => ['-o', one]);

/** Starts `profiles import` of so many companies, against the sandbox. */
function importing(sandbox: Sandbox, rows: number, ...flags: string[]): Child {
  const cwd = scratch();
  const lines = Array.from({ length: rows }, (_, i) => `c-${i},Company ${i},${i % 2 ? 'pro' : 'free'}\n`);
  writeFileSync(join(cwd, 'companies.csv'), `company_id,name,plan\n${lines.join('')}`);
  return profiles(['import', 'companies.csv', ...SETTINGS, ...flags], { cwd, env: environmentOf(sandbox) });
}

const LOOKS = [
  { width: 360, height: 740, colorScheme: 'light' },
  { width: 800, height: 900, colorScheme: 'dark' },
  { width: 1600, height: 1000, colorScheme: 'light' },
] as const;

describe.skipIf(MISSING)(title('a rehearsal, by keyboard alone'), () => {
  test.for(LOOKS)('at $width px, $colorScheme', async ({ width, height, colorScheme }, { sandbox, open }) => {
    const page = await open('', { viewport: { width, height }, colorScheme });
    const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });
    const tab = (name: RegExp) => page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name });
    const look = async (): Promise<void> => {
      expect(await seriousFindings(page)).toEqual([]);
      expect(await fits(page)).toBe(true);
    };

    // Nothing yet: the page says what to type.
    await expect
      .poll(() => page.locator('.command').innerText())
      .toContain(`PROFILES_BASE_URL=${sandbox.url}`);
    await look();

    // Rows arrive while the window is open.
    const first = await importing(sandbox, 120, '--chunk-size', '60').ended;
    expect(first.stderr + first.stdout).toContain('120 read');
    await page
      .getByRole('link', { name: 'c-119', exact: true })
      .or(page.getByText('120 companies'))
      .first()
      .waitFor();
    await look();

    // One is searched for and opened.
    await page.keyboard.press('/');
    await page.keyboard.type('company 77');
    await page.getByTestId('sum').getByText('1 of 120 companies').waitFor();
    await press(page, page.getByRole('link', { name: 'c-77', exact: true }));
    await heading(/c-77/).waitFor();
    await page.getByRole('table', { name: 'Created' }).waitFor();
    await page.getByRole('row', { name: 'plan pro string' }).waitFor();
    await look();
    const permalink = page.url();

    // A job fails.
    await press(page, tab(/Switches/));
    await heading('Switches').waitFor();
    await press(page, page.getByRole('switch', { name: 'Jobs fail' }), 'Space');
    await expect
      .poll(() => page.getByRole('switch', { name: 'Jobs fail' }).getAttribute('aria-checked'))
      .toBe('true');
    await look();
    sandbox.limits.rowsPerSecond = 20;
    const failing = importing(sandbox, 121);
    await press(page, tab(/Jobs/));
    await heading('Jobs').waitFor();
    // It is seen on its way, then at its end.
    await page
      .getByRole('table')
      .getByText(/queued|validating|processing/)
      .first()
      .waitFor();
    await page.getByRole('table').getByText('failed').waitFor();
    expect((await failing.ended).code).toBe(7);
    await look();
    await press(page, page.getByRole('link', { name: 'job 3', exact: true }));
    await page.getByText('A failed job changes no profile.').waitFor();
    await page.getByRole('heading', { name: 'Request', exact: true }).waitFor();
    await look();

    // The service is down, and comes back: the retry is in the log.
    await press(page, tab(/Switches/));
    await press(page, page.getByRole('switch', { name: 'Jobs fail' }), 'Space');
    await press(page, page.getByRole('switch', { name: 'The service is down' }), 'Space');
    await expect.poll(() => sandbox.faults.list()).toEqual(['503:every=1']);
    sandbox.limits.rowsPerSecond = 100_000;
    const retrying = importing(sandbox, 5);
    await press(page, tab(/Requests/));
    await page.getByRole('cell', { name: '503' }).first().waitFor();
    sandbox.faults.clear();
    expect((await retrying.ended).code).toBe(0);
    await press(
      page,
      page.getByRole('navigation', { name: 'Which requests' }).getByRole('link', { name: 'Writes' }),
    );
    await page.getByText('503:every=1').first().waitFor();
    await page.getByRole('row').nth(1).getByRole('cell', { name: '202' }).waitFor();
    await look();
    await press(page, page.getByRole('row').nth(2).getByRole('link').first());
    await page.getByText('refused: nothing was written').waitFor();
    await look();
    await press(page, tab(/Properties/));
    await page.getByText('first_seen').waitFor();
    await look();

    // Everything is erased, after being asked.
    await press(page, tab(/Switches/));
    await press(page, page.getByRole('button', { name: 'Erase everything…' }));
    await page.getByRole('dialog').getByText('All profiles').waitFor();
    await look();
    await press(page, page.getByRole('dialog').getByRole('button', { name: 'Erase everything' }));
    await press(page, tab(/Companies/));
    await page.getByText('No companies yet').waitFor();
    await page.goto(permalink);
    await page.getByText('The sandbox has no company with this identifier').waitFor();
    await tabTo(page, tab(/Jobs/));
  });
});

describe.skipIf(MISSING)(title('while 100,000 rows arrive'), () => {
  test('the page counts along, and finds a row as soon as its job has completed', async ({
    sandbox,
    open,
  }) => {
    sandbox.limits.rowsPerSecond = 20_000;
    const page = await open();
    const sum = page.getByTestId('sum');
    await sum.evaluate((element) => {
      const seen: string[] = [];
      Object.assign(globalThis, { seen });
      new MutationObserver(() => seen.push(element.textContent)).observe(element, {
        characterData: true,
        childList: true,
        subtree: true,
      });
    });
    expect((await importing(sandbox, 100_000).ended).code).toBe(0);
    await expect.poll(() => sum.innerText(), { timeout: 60_000 }).toBe('100,000 companies');
    // It was told on the way, not at the end only.
    const seen = await page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
    expect(seen.length).toBeGreaterThan(3);
    await page.getByRole('searchbox').fill('c-99999');
    await page.getByRole('link', { name: 'c-99999', exact: true }).waitFor();
  });
});
