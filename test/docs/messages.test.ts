/** The messages that the page about failures quotes are those that the commands print. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { cli, scratch } from '../support/cli.js';
import { zip } from '../support/zip.js';
import { read } from './documents.js';

/** From the rows `| *message* | what to do |`, without formatting. `…` stands for what differs from run to run. */
const quoted = [...read('docs/troubleshooting.md').matchAll(/^\| \*(.+?)\* \|/gm)].map(([, text]) => text!);

let cwd: string;
const put = (name: string, content: string | Buffer): void => writeFileSync(join(cwd, name), content);
beforeEach(() => {
  cwd = scratch();
});

/** What ends with exit code 2, in the order of the page. */
const FAILURES: [string, () => Promise<string[]>][] = [
  [
    'no identifier',
    async () => {
      put('plain.csv', 'id,name\n1,Acme\n');
      return ['import', 'plain.csv', '--region', 'sandbox'];
    },
  ],
  [
    'another encoding',
    async () => {
      put('firms.csv', Buffer.from('company_id,name\nc1,M\xfcller\n', 'latin1'));
      return ['inspect', 'firms.csv'];
    },
  ],
  [
    'an archive of two files',
    async () => {
      const content = 'company_id\nc1\n';
      put(
        'export.zip',
        zip([
          { name: 'a.csv', content },
          { name: 'b.csv', content },
        ]),
      );
      return ['import', 'export.zip', '--region', 'sandbox'];
    },
  ],
  [
    'an input that changed before it was resumed',
    async () => {
      put('firms.csv', 'company_id\nc1\n');
      const argv = ['import', 'firms.csv', '--region', 'sandbox', '--wait', '1ms'];
      expect(await cli(argv, { cwd })).toMatchObject({ code: 3 });
      put('firms.csv', 'company_id\nc2\n');
      return ['resume', '--region', 'sandbox'];
    },
  ],
  [
    'a region without a host',
    async () => {
      put('firms.csv', 'company_id\nc1\n');
      return ['import', 'firms.csv'];
    },
  ],
];

test('each message has a failure here', () => {
  expect(quoted).toHaveLength(FAILURES.length);
});

test.each(FAILURES)('%s', async (name, prepare) => {
  const argv = await prepare();
  const { code, stderr } = await cli(argv, { cwd });
  expect(code).toBe(2);
  const pattern = quoted[FAILURES.findIndex(([other]) => other === name)]!.split('…')
    .map((part) => part.replace(/[^\w ]/g, '\\$&'))
    .join('\\S+');
  expect(stderr).toMatch(new RegExp(pattern));
});
