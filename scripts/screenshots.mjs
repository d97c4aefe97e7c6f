// npm run screenshots [-- terminal page report]: writes the pictures in docs/, all or some of them. `terminal` is
// drawn by its test; `page` is the sandbox's page after a real rehearsal, and `report` the report of a real import,
// in Chromium.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { printedJson } from './printed-json.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const PROFILES = at('../bin/profiles.js');

const list = (words) => words.split(',');
const NAMES = list('Northwind,Contoso,Fabrikam,Globex,Initech,Wonka,Acme,Vandelay,Tyrell,Hooli');
const CITIES = list('Berlin,Zürich,Lisbon,Kraków,Tokyo,São Paulo,Toronto,Nairobi');
const PEOPLE = list(
  'Ada Nowak,Grace Okafor,Edsger Silva,Barbara Meyer,Tony Tanaka,Radia Costa,Zoë Lindqvist',
);
const PLANS = ['free', 'pro', 'enterprise'];
const pick = (words, i) => words[(i * 7919) % words.length];
const idOf = (i) => `${pick(NAMES, i).toLowerCase()}-${String(i + 1).padStart(4, '0')}`;
const csv = (columns, n, cells) =>
  `${columns}\n${Array.from({ length: n }, (_, i) => `${cells(i).join(',')}\n`).join('')}`;

/** Runs the sandbox, a browser, and `work`, in an empty folder. */
async function rehearse(flags, work) {
  const folder = await mkdtemp(join(tmpdir(), 'profiles-pictures-'));
  const { XDG_CONFIG_HOME, XDG_STATE_HOME, PROFILES_CONFIG, PROFILES_STATE_DIR, ...others } = process.env;
  const env = { ...others, HOME: folder, PROFILES_TOKEN: 'rehearsal' };
  const ports = ['--port', '4100', '--lookup-port', '4101', '--eu-port', '4102'];
  const server = spawn(process.execPath, [PROFILES, 'sandbox', '--json', '--memory', ...ports, ...flags], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  try {
    const addresses = await printedJson(server.stdout);
    const importFiles = async (files, words = [], variables = {}) => {
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
      const command = [PROFILES, 'import', ...Object.keys(files), '--quiet', ...words];
      const options = { cwd: folder, env: { ...env, ...variables }, stdio: 'inherit' };
      await once(spawn(process.execPath, command, options), 'exit');
    };
    const open = async (url, width, height, colorScheme = 'light') => {
      const page = await browser.newPage({ viewport: { width, height }, colorScheme, deviceScaleFactor: 1 });
      await page.goto(url);
      return page;
    };
    await work({ folder, addresses, importFiles, open });
  } finally {
    await browser.close();
    server.kill('SIGINT');
    await rm(folder, { recursive: true, force: true });
  }
}

const page = () => {
  const faults = ['fail-job:nth=8', '503:nth=10,retry-after=1', '503:nth=11,retry-after=1'];
  const flags = [...list('--page-port,0,--rows-per-second,4000'), ...faults.map((one) => `--fault=${one}`)];
  return rehearse(flags, async ({ addresses, importFiles, open }) => {
    const { base_url, lookup_base_url, page_url } = addresses;
    const variables = { PROFILES_BASE_URL: base_url, PROFILES_LOOKUP_BASE_URL: lookup_base_url };
    const importCsv = (kind, text, chunk) =>
      importFiles({ [`${kind}.csv`]: text }, ['-o', 'retry_delay=200ms', '--chunk-size', chunk], variables);
    const companies = (n, plan) =>
      csv('company_id,name,plan,employees,city,annual_revenue', n, (i) => [
        ...[idOf(i), pick(NAMES, i), plan(i), ((i * 37) % 900) + 12],
        ...[pick(CITIES, i), (((i * 13) % 5000) + 120) / 10],
      ]);
    const users = csv('user_id,company_id,name,role,plan_tier', 3_000, (i) => [
      ...[`u-${10_000 + i}`, idOf(i % 1_200), pick(PEOPLE, i)],
      ...[pick(['admin', 'editor', 'viewer'], i), pick(PLANS, i)],
    ]);
    const shoot = async (name, path, height, { width = 1120, scheme } = {}) => {
      const shown = await open(page_url + path, width, height, scheme);
      await shown.getByText('live', { exact: true }).waitFor();
      await shown.waitForTimeout(800); // the page has settled by then
      await shown.screenshot({ path: at(`../docs/page-${name}.png`) });
      await shown.close();
    };

    await shoot('empty', 'companies', 500);
    const started = companies(1_200, (i) => pick(PLANS, i));
    const changed = companies(1_200, (i) => (i % 3 ? 'pro' : 'enterprise'));
    const renewed = companies(400, () => 'enterprise');
    await importCsv('companies', started, '400');
    await importCsv('users', users, '1000');
    await importCsv('companies', changed, '400');
    await importCsv('companies', renewed, '400');
    await shoot('companies', 'companies?search=zürich', 640);
    await shoot('profile', `profile?kind=companies&id=${idOf(0)}`, 620);
    await shoot('jobs', 'jobs', 620, { scheme: 'dark' });
    await shoot('requests', 'requests?only=writes', 600);
    await shoot('switches', 'settings', 800, { scheme: 'dark' });
    await shoot('narrow', 'jobs', 720, { width: 360 });
  });
};

const report = () => {
  const faults = ['--fault', '503:nth=2,retry-after=1', '--fault', 'fail-job:nth=4'];
  return rehearse(['--no-page', '--rows-per-second', '2500', ...faults], async (rehearsal) => {
    const { folder, addresses, importFiles, open } = rehearsal;
    const { base_url, lookup_base_url } = addresses;
    const settings = {
      account: 'production',
      region: 'eu',
      regions: { eu: { base_url, lookup_base_url } },
      accounts: { production: {} },
    };
    await mkdir(join(folder, '.config', 'profiles'), { recursive: true });
    const config = join(folder, '.config', 'profiles', 'config.json');
    await writeFile(config, JSON.stringify(settings), { mode: 0o600 });
    const columns = 'company_id,name,city,employees,annual_revenue,renewed_at,postal_code';
    const files = {
      'companies.csv': csv(columns, 4_200, (i) => [
        ...[i % 700 === 699 ? '' : idOf(i), pick(NAMES, i), pick(CITIES, i), ((i * 37) % 900) + 12],
        i % 53 === 7 ? `"$${(i * 37) % 900},000"` : (i * 1_300) % 98_000,
        ...[i % 4 === 0 ? '' : `2026-0${(i % 8) + 1}-1${i % 9}`, `0${1_000 + i}`],
      ]),
      'users.csv': csv('user_id,company_id,role,seen_at', 6_000, (i) => [
        ...[`u-${10_000 + (i % 5_970)}`, `${pick(NAMES, i).toLowerCase()}-0001`],
        ...[i % 3 ? 'viewer' : 'admin', `2026-0${(i % 9) + 1}-03`],
      ]),
    };
    const types = ['--type', 'annual_revenue=number', '--type', 'renewed_at=date'];
    const sending = ['--chunk-size', '1500', '--concurrency', '2'];
    await importFiles(files, ['--skip-invalid', ...types, ...sending, '--report', 'report.html']);

    const address = pathToFileURL(join(folder, 'report.html')).href;
    await (await open(address, 1_120, 1_180)).screenshot({ path: at('../docs/report.png') });
  });
};

const terminal = () => {
  const words = ['node_modules/vitest/vitest.mjs', 'run', 'test/pty/screenshot.test.ts', '--update'];
  process.exitCode = spawnSync(process.execPath, words, { stdio: 'inherit' }).status;
};

const PICTURES = { terminal, page, report };
const named = process.argv.slice(2);
for (const name of named.length > 0 ? named : Object.keys(PICTURES)) await PICTURES[name]();
