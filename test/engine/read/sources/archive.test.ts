import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { isArchive, unpackMember } from '../../../../src/engine/read/index.js';
import { scratch } from '../../../support/cli.js';
import { type Member, zip } from '../../../support/zip.js';
import { file } from '../reading.js';

const CSV = `company_id,name\n${Array.from({ length: 20_000 }, (_, row) => `c${row},name ${row}\n`).join('')}`;

const asInput = (member: string): string => `a.zip:${member}`;

async function unpacked(
  bytes: Uint8Array,
  wanted: string | null = null,
  signal?: AbortSignal,
): Promise<string> {
  const location = file('a.zip', bytes);
  const to = join(scratch(), 'member');
  try {
    await unpackMember(location, to, { path: 'a.zip', member: wanted, join: asInput }, signal);
  } catch (error) {
    expect(existsSync(to)).toBe(false);
    throw error;
  }
  expect(statSync(to).mode & 0o777).toBe(0o600);
  return readFileSync(to, 'latin1');
}

const archive = (...members: Member[]): Buffer => zip(members);

describe('a member', () => {
  it('is the only one: folders, hidden files and what macOS adds do not count', async () => {
    const bytes = archive(
      { name: 'exports/' },
      { name: 'exports/companies.csv', content: CSV },
      { name: '__MACOSX/exports/._companies.csv', content: 'x' },
      { name: 'exports/.DS_Store', content: 'x' },
    );
    expect(await unpacked(bytes)).toBe(CSV);
  });

  it('is the one that was named, hidden or not', async () => {
    const bytes = archive(
      { name: 'a.csv', content: 'a' },
      { name: '.b.csv', content: 'b' },
      { name: 'ü/c.csv', content: 'c' },
    );
    expect(await unpacked(bytes, 'a.csv')).toBe('a');
    expect(await unpacked(bytes, '.b.csv')).toBe('b');
    expect(await unpacked(bytes, 'ü/c.csv')).toBe('c');
  });

  it('may be stored without being packed, or be packed itself', async () => {
    const raw = Buffer.from(CSV);
    expect(await unpacked(archive({ name: 'a.csv', content: CSV, packed: raw, claims: { method: 0 } }))).toBe(
      CSV,
    );
    const packed = gzipSync(CSV);
    expect(await unpacked(archive({ name: 'a.csv.gz', content: packed }))).toBe(packed.toString('latin1'));
  });
});

describe('refused', () => {
  const many = Array.from({ length: 23 }, (_, n) => ({ name: `part-${n + 1}.csv` }));
  const whole = archive({ name: 'a.csv', content: CSV });
  const inMiddle = Buffer.from(whole);
  inMiddle.fill(0x55, 1_000, 1_100);
  it.each<
    [what: string, bytes: Uint8Array, wanted: string | null, message: string | RegExp, hint: string | RegExp]
  >([
    [
      'several members',
      archive({ name: 'companies.csv' }, { name: 'users.csv' }),
      null,
      'a.zip: the zip archive contains 2 files: name the one to read',
      'a.zip:companies.csv\na.zip:users.csv',
    ],
    ['many members', archive(...many), null, /contains 23 files/, /a\.zip:part-20\.csv\nand 3 more$/],
    ['no member', archive(), null, 'a.zip: the zip archive contains no files', ''],
    ['folders alone', archive({ name: 'a/' }), null, 'a.zip: the zip archive contains no files', ''],
    [
      'a member that is not there',
      archive({ name: 'users.csv' }),
      'user.csv',
      'a.zip:user.csv: no such file in the zip archive',
      'did you mean a.zip:users.csv?',
    ],
    [
      'a folder as a member',
      archive({ name: 'exports/' }, { name: 'exports/a.csv' }),
      'exports/',
      'a.zip:exports/: no such file in the zip archive',
      /a\.zip:exports\/a\.csv/,
    ],
    [
      'two members of one name',
      archive({ name: 'a.csv', content: 'x' }, { name: 'a.csv', content: 'y' }),
      'a.csv',
      'a.zip:a.csv: the zip archive contains two files of this name',
      /unpack the archive/,
    ],
    [
      'a name that climbs',
      archive({ name: '../../etc/x.csv' }),
      null,
      /a file whose name leads out of it: \.\.\/\.\.\/etc/,
      /do not trust/,
    ],
    [
      'a name that climbs, beside a good one',
      archive({ name: 'a.csv' }, { name: 'b/../../c' }),
      'a.csv',
      /leads out of it/,
      /do not trust/,
    ],
    ['a name from the root', archive({ name: '/etc/x.csv' }), null, /leads out of it: \/etc/, /do not trust/],
    ['a name with a drive', archive({ name: 'C:\\x.csv' }), null, /leads out of it: C:/, /do not trust/],
    [
      'an encrypted member',
      archive({ name: 'a.csv', claims: { flags: 0x801 } }),
      null,
      'a.zip:a.csv: is encrypted',
      /with its password/,
    ],
    [
      'another method',
      archive({ name: 'a.csv', claims: { method: 9 } }),
      null,
      /compressed with a method \(9\)/,
      /unpack/,
    ],
    [
      'a bomb',
      archive({ name: 'a.csv', claims: { size: 4e9 } }),
      null,
      /would unpack from 2 B to 3\.7 GiB, which looks like a zip bomb/,
      /if you trust it/,
    ],
    [
      'more bytes than it says',
      archive({ name: 'a.csv', content: CSV, claims: { size: 9 } }),
      null,
      /damaged or cut off: too many bytes/,
      /unzip -t/,
    ],
    [
      'fewer bytes than it says',
      archive({ name: 'a.csv', content: 'x', claims: { size: 9 } }),
      null,
      /damaged or cut off: not enough bytes/,
      /unzip -t/,
    ],
    [
      'another checksum',
      archive({ name: 'a.csv', content: CSV, claims: { crc: 7 } }),
      null,
      /damaged or cut off: its checksum does not match/,
      /unzip -t/,
    ],
    ['damaged in the middle', inMiddle, null, /a\.csv: the zip data is damaged or cut off/, /unzip -t/],
    ['cut off', whole.subarray(0, -60), null, /a\.zip: the zip data is damaged or cut off/, /unzip -t/],
    [
      'a few bytes',
      Buffer.from('PK\x03\x04'),
      null,
      /a\.zip: the zip data is damaged or cut off/,
      /unzip -t/,
    ],
  ])('%s', async (_, bytes, wanted, message, hint) => {
    const error = await unpacked(bytes, wanted).then(
      () => undefined,
      (reason: { message: string; hint?: string; exit: number }) => reason,
    );
    if (typeof message === 'string') expect(error?.message).toBe(message);
    else expect(error?.message).toMatch(message);
    if (typeof hint === 'string') expect(error?.hint ?? '').toBe(hint);
    else expect(error?.hint).toMatch(hint);
    expect(error?.exit).toBe(2);
  });

  it('an archive of too many members, before it reads their names', async () => {
    const bytes = archive({ name: 'a.csv' });
    for (const at of [8, 10]) bytes.writeUInt16LE(10_001, bytes.length - 22 + at);
    await expect(unpacked(bytes)).rejects.toMatchObject({
      message: 'a.zip: the zip archive contains 10001 files, more than 10000',
      hint: 'unpack the archive, and import the file in it',
    });
  });
});

it('unpacking stops with the signal, and leaves nothing behind', async () => {
  const stop = new AbortController();
  stop.abort('SIGINT');
  await expect(unpacked(archive({ name: 'a.csv', content: CSV }), null, stop.signal)).rejects.toBe('SIGINT');
});

it('what cannot be written says so', async () => {
  const location = file('a.zip', archive({ name: 'a.csv', content: CSV }));
  const to = join(scratch(), 'member');
  writeFileSync(to, 'somebody’s');
  const unpacking = unpackMember(location, to, { path: 'a.zip', member: null, join: asInput });
  await expect(unpacking).rejects.toMatchObject({
    code: 'state',
    message: expect.stringContaining('cannot keep a.zip:a.csv in'),
  });
});

it.each<[name: string, content: string | Uint8Array, isZip: boolean]>([
  ['a.zip', archive({ name: 'a.csv' }), true],
  ['export', archive({ name: 'a.csv' }), true],
  ['a.zip', archive(), true],
  ['a.zip', 'company_id\n1\n', false],
  ['a.zip', '', false],
  ['a.csv', 'PK,company_id\n', false],
  ['a.xlsx', archive({ name: 'a.csv' }), false],
  ['a.zip', archive({ name: '[Content_Types].xml' }, { name: 'xl/workbook.xml' }), false],
  ['a.zip', archive({ name: 'mimetype' }, { name: 'content.xml' }), false],
])('%s with %# is an archive: %s', async (name, content, isZip) => {
  const location = file(name, content);
  expect(await isArchive(location, name)).toBe(isZip);
});
