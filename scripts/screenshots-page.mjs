// npm run screenshots:page: writes docs/page-*.png, pictures of the sandbox's page after a real rehearsal,
// with Chromium.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { printedJson } from './printed-json.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const PROFILES = at('../bin/profiles.js');

const WORDS = {
  names: [
    'Northwind',
    'Contoso',
    'Fabrikam',
    'Globex',
    'Initech',
    'Wonka',
    'Acme',
    'Vandelay',
    'Tyrell',
    'Hooli',
  ],
  cities: ['Berlin', 'Zürich', 'Lisbon', 'Kraków', 'Tokyo', 'São Paulo', 'Toronto', 'Nairobi'],
  people: [
    'Ada Nowak',
    'Grace Okafor',
    'Edsger Silva',
    'Barbara Meyer',
    'Tony Tanaka',
    'Radia Costa',
    'Zoë Lindqvist',
  ],
  industries: ['software', 'retail', 'health', 'logistics'],
  plans: ['free', 'pro', 'enterprise'],
};
const pick = (list, i) => list[(i * 7919) % list.length];

function companies(n, plan = (i) => pick(WORDS.plans, i)) {
  const rows = Array.from({ length: n }, (_, i) => {
    const name = pick(WORDS.names, i + 3);
    const id = `${name.toLowerCase()}-${String(i + 1).padStart(4, '0')}`;
    return [
      id,
      name,
      pick(WORDS.industries, i),
      plan(i),
      ((i * 37) % 900) + 12,
      pick(WORDS.cities, i),
      (((i * 13) % 5000) + 120) / 10,
    ].join(',');
  });
  return `company_id,name,industry,plan,employees,city,annual_revenue\n${rows.join('\n')}\n`;
}

function users(n) {
  const rows = Array.from({ length: n }, (_, i) => {
    const name = pick(WORDS.names, (i % 1200) + 3).toLowerCase();
    return [
      `u-${10_000 + i}`,
      `${name}-${String((i % 1200) + 1).padStart(4, '0')}`,
      pick(WORDS.people, i),
      pick(['admin', 'editor', 'viewer'], i),
      pick(WORDS.plans, i),
    ].join(',');
  });
  return `user_id,company_id,name,role,plan_tier\n${rows.join('\n')}\n`;
}

const folder = await mkdtemp(join(tmpdir(), 'profiles-pictures-'));
const env = {
  ...process.env,
  HOME: folder,
  XDG_CONFIG_HOME: folder,
  PROFILES_STATE_DIR: join(folder, 'state'),
};
const server = spawn(
  process.execPath,
  [
    PROFILES,
    'sandbox',
    '--json',
    '--memory',
    '--port',
    '4100',
    '--lookup-port',
    '4101',
    '--eu-port',
    '4102',
    '--page-port',
    '0',
    '--rows-per-second',
    '4000',
  ],
  { env, stdio: ['ignore', 'pipe', 'inherit'] },
);
let browser;
try {
  const addresses = await printedJson(server.stdout);
  const client = {
    ...env,
    PROFILES_BASE_URL: addresses.base_url,
    PROFILES_LOOKUP_BASE_URL: addresses.lookup_base_url,
    PROFILES_TOKEN: 'rehearsal',
  };
  const importFile = async (text, name, ...flags) => {
    await writeFile(join(folder, name), text);
    const child = spawn(
      process.execPath,
      [PROFILES, 'import', name, '--quiet', '-o', 'retry_delay=200ms', ...flags],
      { cwd: folder, env: client, stdio: 'inherit' },
    );
    await once(child, 'exit');
  };
  const api = (path, method, body) =>
    fetch(`${addresses.page_url}api/${path}`, { method, ...(body && { body: JSON.stringify(body) }) });

  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  const shoot = async (name, path, { width = 1120, height = 640, scheme = 'light', act } = {}) => {
    const page = await browser.newPage({
      viewport: { width, height },
      colorScheme: scheme,
      deviceScaleFactor: 1,
    });
    await page.goto(addresses.page_url + path);
    await page.getByText('live', { exact: true }).waitFor();
    await page.waitForTimeout(800); // the page has settled by then
    if (act) await act(page);
    await page.screenshot({ path: at(`../docs/page-${name}.png`) });
    await page.close();
  };

  await shoot('empty', 'companies', { height: 500 });
  await importFile(companies(1_200), 'companies.csv', '--chunk-size', '400');
  await importFile(users(3_000), 'users.csv', '--chunk-size', '1000');
  await api('faults', 'POST', { spec: 'fail-job:nth=2' });
  await importFile(
    companies(1_200, (i) => (i % 3 ? 'pro' : 'enterprise')),
    'companies.csv',
    '--chunk-size',
    '400',
  );
  await api('faults', 'DELETE');
  await api('faults', 'POST', { spec: '503:first=2,retry-after=1' });
  await importFile(
    companies(400, () => 'enterprise'),
    'renewed.csv',
    '--kind',
    'companies',
  );
  await shoot('companies', 'companies', {
    act: async (page) => {
      await page.getByRole('searchbox').fill('zürich');
      await page.getByText(/^(?!1,200)[\d,]+ of 1,200 companies$/).waitFor();
      await page.locator('.profiles.stale').waitFor({ state: 'detached' });
    },
  });
  await shoot(
    'profile',
    `profile?kind=companies&id=${encodeURIComponent(companies(1).split('\n')[1].split(',')[0])}`,
    { height: 620 },
  );
  await shoot('jobs', 'jobs', { height: 620, scheme: 'dark' });
  await shoot('requests', 'requests?only=writes', { height: 600 });
  await shoot('switches', 'settings', { height: 800, scheme: 'dark' });
  await shoot('narrow', 'jobs', { width: 360, height: 720 });
} finally {
  await browser?.close();
  server.kill('SIGINT');
  await rm(folder, { recursive: true, force: true });
}
