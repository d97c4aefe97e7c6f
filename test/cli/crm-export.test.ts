/**
 * Two exports of a CRM, from the files to completed profiles as their owner wants them: one command, and one mapping
 * file that `inspect` wrote but for three lines. With the pair of the guide, and with the larger one beside the
 * repository, where that is there.
 */
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect } from 'vitest';
import { cli, scratch } from '../support/cli.js';
import { record } from '../support/recorder.js';
import { environmentOf, test } from '../support/sandbox.js';
import { hurried } from './place.js';

const ROOT = resolve(import.meta.dirname, '../..');
const SHARED = resolve(ROOT, '../shared/data');

/** What the owner knows better than `inspect`. */
const EDITS: [from: string, to: string][] = [
  ['HH:mm@<zone>"', 'HH:mm@America/New_York"'],
  ['"datetime:iso@<zone>"', '"datetime:iso@UTC"'],
  ['"type": {\n      "Company name"', '"exclude": ["Notes"],\n    "type": {\n      "Company name"'],
];

interface Pair {
  where: string;
  folder: string;
  rows: Record<string, number>;
  causes: [file: string, column: string, reason: string, rows: number][];
  companies: object[];
  users: object[];
}

const PAIRS: Pair[] = [
  {
    where: 'of the guide',
    folder: join(ROOT, 'fixtures/guide'),
    rows: { read: 34, rejected: 3, merged: 0, completed: 31 },
    causes: [
      ['crm-companies.csv', 'Create Date', 'there is no such day or time', 1],
      ['crm-contacts.csv', 'Email', 'is empty', 1],
      ['crm-contacts.csv', 'Email', 'holds a null marker', 1],
    ],
    companies: [
      {
        company_id: '9000000001',
        metadata: {
          company_name: 'Acme Logistics',
          annual_revenue: 18299000,
          number_of_employees: 17871,
          create_date: '2015-01-01T00:00:00-05:00',
          is_public: true,
          win_rate: 10.4,
          postal_code: '02139',
        },
      },
    ],
    users: [
      {
        user_id: 'olu.garcia@example.com',
        company_id: '9000000001',
        metadata: {
          record_id: 51001,
          first_name: 'Olu',
          last_name: 'García',
          phone_number: '0170 1234567',
          last_activity_date: '2024-01-03T00:00:00Z',
          marketing_contact: true,
          lead_score: 35,
        },
      },
    ],
  },
  {
    where: 'beside the repository',
    folder: SHARED,
    rows: { read: 840, rejected: 23, merged: 1, completed: 816 },
    causes: [
      ['crm-contacts.csv', 'Email', 'is empty', 8],
      ['crm-contacts.csv', 'Email', 'is only white space', 7],
      ['crm-contacts.csv', 'Email', 'holds a null marker', 7],
      ['crm-companies.csv', 'Create Date', 'there is no such day or time', 1],
    ],
    companies: [
      {
        company_id: '9000000037',
        metadata: {
          company_name: 'Łódź Metal Foods',
          company_domain_name: 'd1.example.com',
          annual_revenue: 58888000.5,
          number_of_employees: 213,
          create_date: '2021-03-23T04:13:00-04:00',
          is_public: true,
          win_rate: 10.4,
          segment: 'Enterprise',
          postal_code: '02139',
        },
      },
    ],
    users: [
      {
        user_id: 'olu.garcía0@example.com',
        company_id: '9000004366',
        metadata: {
          record_id: 51000,
          first_name: 'Olu',
          last_name: 'García',
          phone_number: '0170 1234567',
          lifecycle_stage: 'customer',
          last_activity_date: '2023-08-18T03:11:00Z',
          marketing_contact: true,
          lead_score: 35,
        },
      },
    ],
  },
];

interface Item {
  company_id?: string;
  user_id?: string;
  metadata: Record<string, unknown>;
}

describe('the exports of a CRM', () => {
  for (const pair of PAIRS) {
    const run = existsSync(join(pair.folder, 'crm-contacts.csv')) ? test : test.skip;
    run(`${pair.where} go in with one command and one mapping file`, async ({ sandbox }) => {
      const cwd = scratch();
      const files = ['crm-companies.csv', 'crm-contacts.csv'];
      for (const name of files) copyFileSync(join(pair.folder, name), join(cwd, name));
      const recorder = await record(sandbox);
      const env = { ...environmentOf(sandbox), PROFILES_BASE_URL: recorder.url };
      const profiles = (...words: string[]) => cli(words, { cwd, env, clock: hurried });
      try {
        const written = await profiles(
          'inspect',
          ...files,
          '--keys',
          'snake_case',
          '--write-mapping',
          'crm.json',
        );
        expect([written.code, written.stderr]).toEqual([0, expect.stringContaining('wrote crm.json')]);
        let mapping = readFileSync(join(cwd, 'crm.json'), 'utf8');
        for (const [from, to] of EDITS) {
          expect(mapping.split(from)).toHaveLength(2);
          mapping = mapping.replace(from, to);
        }
        writeFileSync(join(cwd, 'crm.json'), mapping);

        const sent = await profiles('import', ...files, '--mapping', 'crm.json', '--skip-invalid', '--json');
        const { rows, causes } = JSON.parse(sent.stdout) as {
          rows: object;
          causes: { file: string; column: string; reason: string; rows: number }[];
        };
        expect([sent.code, rows]).toEqual([5, expect.objectContaining(pair.rows)]);
        expect(causes.map((one) => [one.file, one.column, one.reason, one.rows])).toEqual(
          pair.causes.map(([file, column, reason, count]) => [
            file,
            column,
            expect.stringContaining(reason),
            count,
          ]),
        );

        const fixed = new Map([
          ['crm-companies.rejects.csv', (text: string) => text.replace('31/12/2023', '12/31/2023')],
          ['crm-contacts.rejects.csv', withEmails],
        ]);
        for (const [name, fix] of fixed) {
          writeFileSync(join(cwd, name), fix(readFileSync(join(cwd, name), 'utf8')));
        }
        const again = await profiles('import', ...fixed.keys(), '--json');
        expect([again.code, JSON.parse(again.stdout).rows], again.stderr).toEqual([
          0,
          expect.objectContaining({ read: pair.rows.rejected, completed: pair.rows.rejected }),
        ]);

        const items = (kind: 'companies' | 'users'): Item[] =>
          recorder.bodies.flatMap((body) => (JSON.parse(body) as Record<string, Item[]>)[kind] ?? []);
        expect(items('companies')).toEqual(expect.arrayContaining(pair.companies));
        expect(items('users')).toEqual(expect.arrayContaining(pair.users));
        expect(items('companies').length + items('users').length).toBe(
          pair.rows.completed! + pair.rows.rejected!,
        );
        for (const { company_id, metadata } of items('companies')) {
          expect(company_id).toMatch(/^9\d{9}$/);
          expect(metadata).toEqual(wanted(metadata, COMPANY));
        }
        for (const { user_id, company_id = '9000000000', metadata } of items('users')) {
          expect(user_id).toMatch(/^[^A-Z]+@example\.com$/);
          expect(company_id).toMatch(/^9\d{9}$/);
          expect(metadata).toEqual(wanted(metadata, CONTACT));
        }
      } finally {
        await recorder.stop();
      }
    });
  }
});

/** What may stand under each key; text under all others. */
const COMPANY: Record<string, unknown> = {
  annual_revenue: expect.any(Number),
  number_of_employees: expect.any(Number),
  create_date: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00-0[45]:00$/),
  is_public: expect.any(Boolean),
  win_rate: expect.any(Number),
};
const CONTACT: Record<string, unknown> = {
  record_id: expect.any(Number),
  lead_score: expect.any(Number),
  last_activity_date: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00Z$/),
  marketing_contact: expect.any(Boolean),
};
const NEVER = ['notes', 'Notes', '', 'associated_company_id', 'email'];

function wanted(metadata: Record<string, unknown>, types: Record<string, unknown>): Record<string, unknown> {
  const keys = Object.keys(metadata).filter((key) => !NEVER.includes(key));
  return Object.fromEntries(keys.map((key) => [key, types[key] ?? expect.any(String)]));
}

/** A person writes an address where there is none. */
const withEmails = (text: string): string =>
  text.replace(
    /^(\d+)(,[^,]*,[^,]*),(?:NULL|"?\s*"?),/gm,
    (_, id: string, name: string) => `${id}${name},Fixed${id}@Example.com,`,
  );
