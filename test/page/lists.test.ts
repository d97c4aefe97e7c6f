/** Lists that are longer than a page of them, or wider than a window. */
import { describe, expect } from 'vitest';
import { COMPANIES, companies, post, USERS } from '../sandbox/http.js';
import { fits, MISSING, press, test, title } from './browser.js';

describe.skipIf(MISSING)(title('a long list'), () => {
  test('is left for its last page and its first one by keyboard; no page beyond them claims rows', async ({
    sandbox,
    open,
  }) => {
    await post(sandbox, COMPANIES, companies(160));
    const page = await open('?sort=id');
    const pages = page.getByRole('navigation', { name: 'Pages' });
    const first = page.getByRole('rowheader').first();
    await expect.poll(() => pages.innerText()).toMatch(/^1–50 of 160\s+Next\s+Last$/);
    await press(page, pages.getByRole('link', { name: 'Last' }));
    await expect.poll(() => pages.innerText()).toMatch(/^First\s+Previous\s+151–160 of 160$/);
    await press(page, pages.getByRole('link', { name: 'First' }));
    await expect.poll(() => first.innerText()).toBe('c-0');
    await page.goto(`${sandbox.pageUrl}?page=9`);
    await expect.poll(() => pages.innerText()).toMatch(/^First\s+Previous\s+none of 160$/);
    await press(page, pages.getByRole('link', { name: 'Previous' }));
    await expect.poll(() => pages.innerText()).toContain('151–160 of 160');
  });

  test('says that it is being read until it has been', async ({ open }) => {
    const page = await open('jobs');
    await page.route('**/api/profiles?*', () => {}); // never answered
    await page.getByRole('link', { name: 'Companies' }).click();
    await page.getByText('reading…').waitFor();
  });
});

test.skipIf(MISSING)(title('users of another day fit a window of 360 px'), async ({ open, sandbox }) => {
  const users = Array.from({ length: 3 }, (_, i) => ({ user_id: `person-${i}`, company_id: `c-0000${i}` }));
  await post(sandbox, USERS, { users });
  const page = await open('users', { viewport: { width: 360, height: 740 } });
  await page.clock.setFixedTime(Date.now() + 48 * 3_600_000);
  await page.reload();
  await page.getByRole('link', { name: 'person-2' }).waitFor();
  expect(await fits(page)).toBe(true);
});
