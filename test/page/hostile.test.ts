/** What an import could carry is shown as text, whatever it is. */
import { describe, expect } from 'vitest';
import { COMPANIES, post } from '../sandbox/http.js';
import { fits, MISSING, test, title } from './browser.js';

const SCRIPT = '<script>globalThis.hacked = 1</script><img src=x onerror="globalThis.hacked = 1">';

/** As text of JSON: an object literal would lose `__proto__`. */
const BODY = `{"companies":[
  {"company_id":${JSON.stringify(SCRIPT)},"metadata":{"name":${JSON.stringify(SCRIPT)}}},
  {"company_id":"javascript:globalThis.hacked=1","metadata":{"website":"javascript:globalThis.hacked=1","url":"data:text/html,${'<script>'}alert(1)"}},
  {"company_id":"large","metadata":{"cell":"${'x'.repeat(1_000_000)}","after":"end"}},
  {"company_id":"right-to-left","metadata":{"name":"\\u202egpj.exe\\u202c \\u05d0\\u05d1\\u05d2","control":"a\\u0000b\\u001b[31mc\\u0007","zero":"x\\u200by"}},
  {"company_id":"prototype","metadata":{"__proto__":"own","constructor":"own","toString":"own","hasOwnProperty":"own"}},
  {"company_id":"..","metadata":{"name":"dots"}},
  {"company_id":"a/b?c=d#e&f","metadata":{"name":"address"}},
  {"company_id":${JSON.stringify(`long-${'ä'.repeat(5_000)}`)},"metadata":{}}
]}`;

describe.skipIf(MISSING)(title('a hostile import'), () => {
  test('is text, in the table and in its own view, at any width', async ({ sandbox, open }) => {
    const page = await open('?sort=id', { viewport: { width: 360, height: 800 } });
    expect((await post(sandbox, COMPANIES, BODY)).status).toBe(202);
    await page.getByText('8 companies').waitFor();
    expect(await fits(page)).toBe(true);
    expect(await page.locator('img, iframe, object, embed').count()).toBe(0);
    expect(await page.locator('script').count()).toBe(1); // its own
    await page.getByRole('link', { name: SCRIPT.slice(0, 40) }).waitFor();
    // No address is made of data but as an identifier in a query.
    const bases = await page
      .locator('a')
      .evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).href));
    for (const href of bases) expect(href.startsWith(sandbox.pageUrl!)).toBe(true);

    const opened = async (id: string): Promise<void> => {
      await page.goto(`${sandbox.pageUrl}profile?kind=companies&id=${encodeURIComponent(id)}`);
      await page.getByRole('heading', { name: 'Story' }).waitFor();
      expect(await fits(page)).toBe(true);
    };
    await opened(SCRIPT);
    await page.getByRole('heading', { level: 1 }).getByText(SCRIPT).waitFor();
    await opened('javascript:globalThis.hacked=1');
    expect(await page.getByRole('cell', { name: 'javascript:' }).count()).toBe(2); // now, and in the story
    await opened('large');
    await page.getByText('(1,000,000 characters)').first().waitFor();
    expect((await page.locator('main').innerText()).length).toBeLessThan(20_000);
    await opened('right-to-left');
    const text = await page.locator('main').innerText();
    expect(text).toContain('⟨U+202E⟩gpj.exe⟨U+202C⟩ אבג');
    expect(text).toContain('a␀b␛[31mc␇');
    expect(text).toContain('x⟨U+200B⟩y');
    await opened('prototype');
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
      await page.getByRole('row', { name: `${key} own string` }).waitFor();
    await opened('..');
    await opened('a/b?c=d#e&f');
    await page.getByRole('cell', { name: 'address' }).first().waitFor();
    expect(await page.evaluate(() => 'hacked' in globalThis)).toBe(false);
  });

  test('a fault and a path that a client made up are text in the log', async ({ sandbox, open }) => {
    sandbox.faults.add('redirect:every=1,location=javascript:alert(1)');
    await post(sandbox, COMPANIES, BODY);
    await post(sandbox, `/v1/${encodeURIComponent(SCRIPT)}`, {});
    const page = await open('requests');
    await page.getByText('redirect:every=1,location=javascript:alert(1)').waitFor();
    await page.getByText('%3Cscript%3E').first().waitFor();
    expect(await page.locator('script').count()).toBe(1);
  });
});
