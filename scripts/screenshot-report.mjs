// npm run screenshot:report: writes docs/report.png, a picture of the report of a real import, with Chromium.
// With a folder as argument, it writes pictures of the same report there: light, dark, narrow, wide, and on
// paper.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { printedJson } from './printed-json.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const PROFILES = at('../bin/profiles.js');
const [, , pictures] = process.argv;

const NAMES = [
  'Northwind',
  'Contoso',
  'Fabrikam',
  'Globex',
  'Initech',
  'Wonka',
  'Vandelay',
  'Tyrell',
  'Hooli',
];
const CITIES = ['Berlin', 'Zürich', 'Lisbon', 'Kraków', 'Tokyo', 'São Paulo', 'Toronto', 'Nairobi'];
const pick = (list, i) => list[(i * 7919) % list.length];

const companies = Array.from({ length: 4_200 }, (_, i) => {
  const id = i % 700 === 699 ? '' : `${pick(NAMES, i).toLowerCase()}-${String(i + 1).padStart(4, '0')}`;
  const revenue = i % 53 === 7 ? `"$${(i * 37) % 900},000"` : (i * 1_300) % 98_000;
  const renewed = i % 4 === 0 ? '' : `2026-0${(i % 8) + 1}-1${i % 9}`;
  return [id, pick(NAMES, i), pick(CITIES, i), ((i * 37) % 900) + 12, revenue, renewed, `0${1_000 + i}`].join(
    ',',
  );
});
const users = Array.from({ length: 6_000 }, (_, i) =>
  [
    `u-${10_000 + (i % 5_970)}`,
    `${pick(NAMES, i).toLowerCase()}-0001`,
    i % 3 ? 'viewer' : 'admin',
    `2026-0${(i % 9) + 1}-03`,
  ].join(','),
);

const folder = await mkdtemp(join(tmpdir(), 'profiles-report-'));
const { XDG_CONFIG_HOME, XDG_STATE_HOME, PROFILES_CONFIG, PROFILES_STATE_DIR, ...others } = process.env;
const env = { ...others, HOME: folder, PROFILES_TOKEN: 'rehearsal' };
const faults = ['--fault', '503:nth=2,retry-after=1', '--fault', 'fail-job:nth=4'];
const server = spawn(
  process.execPath,
  [
    PROFILES,
    'sandbox',
    '--json',
    '--memory',
    '--no-page',
    '--port',
    '4100',
    '--lookup-port',
    '4101',
    '--eu-port',
    '4102',
    '--rows-per-second',
    '2500',
    ...faults,
  ],
  { env, stdio: ['ignore', 'pipe', 'inherit'] },
);
let browser;
try {
  const { base_url, lookup_base_url } = await printedJson(server.stdout);
  const settings = {
    account: 'production',
    region: 'eu',
    regions: { eu: { base_url, lookup_base_url } },
    accounts: { production: {} },
  };
  await mkdir(join(folder, '.config', 'profiles'), { recursive: true });
  await writeFile(join(folder, '.config', 'profiles', 'config.json'), JSON.stringify(settings), {
    mode: 0o600,
  });
  await writeFile(
    join(folder, 'companies.csv'),
    `company_id,name,city,employees,annual_revenue,renewed_at,postal_code\n${companies.join('\n')}\n`,
  );
  await writeFile(join(folder, 'users.csv'), `user_id,company_id,role,seen_at\n${users.join('\n')}\n`);
  const child = spawn(
    process.execPath,
    [
      PROFILES,
      'import',
      'companies.csv',
      'users.csv',
      '--skip-invalid',
      '--type',
      'annual_revenue=number',
      '--type',
      'renewed_at=date',
      '--chunk-size',
      '1500',
      '--concurrency',
      '2',
      '--report',
      'report.html',
      '--quiet',
    ],
    {
      cwd: folder,
      env,
      stdio: 'inherit',
    },
  );
  await once(child, 'exit');

  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  const address = pathToFileURL(join(folder, 'report.html')).href;
  const open = async (width, height, colorScheme) => {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme, deviceScaleFactor: 1 });
    await page.goto(address);
    return page;
  };
  if (pictures === undefined) {
    await (await open(1_120, 1_180, 'light')).screenshot({ path: at('../docs/report.png') });
  } else {
    for (const [name, width, scheme] of [
      ['light', 1_120, 'light'],
      ['dark', 1_120, 'dark'],
      ['narrow', 360, 'light'],
      ['wide', 1_600, 'light'],
    ]) {
      await (await open(width, 900, scheme)).screenshot({
        path: join(pictures, `${name}.png`),
        fullPage: true,
      });
    }
    const paper = await open(688, 900, 'dark'); // A4 without margins
    await paper.emulateMedia({ media: 'print', colorScheme: null });
    await paper.screenshot({ path: join(pictures, 'print.png'), fullPage: true });
    await (await open(1_120, 900, 'dark')).pdf({
      path: join(pictures, 'print.pdf'),
      format: 'A4',
      printBackground: false,
    });
  }
} finally {
  await browser?.close();
  server.kill('SIGINT');
  await rm(folder, { recursive: true, force: true });
}
